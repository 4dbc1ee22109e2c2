"""The columns of predictions."""

import json
from collections.abc import Iterator
from pathlib import Path
from weakref import ref

import numpy as np
import pytest

from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.runs._predictions import Predictions, column_names
from mggcn.runs._scored import Scored
from mggcn.runs._table import write_chunks, write_table


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        (("Phish", "ICO Wallets", "a/b"), ["p_phish", "p_ico_wallets", "p_a_b"]),
        (("4", "class 0", " x "), ["p_4", "p_class_0", "p_x"]),
        (("Phish", "phish", "PHISH", "phish 2"), ["p_phish", "p_phish_2", "p_phish_3", "p_phish_2_2"]),
        (("Börse", "交易所", "鱼"), ["p_borse", "p_", "p__2"]),
    ],
)
def test_columns_of_probabilities_are_plain_names(classes: tuple[str, ...], names: list[str]) -> None:
    assert column_names(classes) == names


def test_sql_reads_the_columns_without_quotes(tmp_path: object) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = f"{tmp_path}/p.parquet"
    probabilities = np.array([[0.75, 0.25], [0.125, 0.875]])
    parts = np.array(["train", "new"])
    ids = np.array(["0xa", "0xb"])
    Predictions(np.arange(2), ids, probabilities, ("Phish", "ICO/Wallet"), parts, "address").save(path)
    table = duckdb.read_parquet(path)
    rows = table.filter("p_phish > 0.5 AND p_ico_wallet < 0.5").project("address, part").fetchall()
    assert rows == [("0xa", "train")]


def test_kept_predictions_are_not_in_memory_and_come_back(small: Dataset) -> None:
    count = small.num_nodes
    p = np.random.default_rng(0).dirichlet(np.ones(2), count)
    parts = np.where(np.arange(count) % 2, "train", "new")
    with Scored(small, None, count) as scored:
        held = []
        for rows in (np.arange(3), np.arange(3, count)):
            chunk = Predictions(rows, small.ids_of(rows), p[rows], ("a", "b"), parts[rows])
            held += [ref(chunk.probabilities), ref(chunk.parts)]
            scored.append(chunk)
        del chunk
        assert [array() for array in held] == [None] * 4
        assert np.array_equal(scored.labels, p.argmax(axis=1))
        assert np.array_equal(scored.highest, p.max(axis=1))
        again = Predictions.joined([*scored])
    assert np.array_equal(again.probabilities, p)
    assert np.array_equal(again.parts, parts)
    assert np.array_equal(again.ids, small.ids_of(np.arange(count)))


def test_details_follow_the_probabilities_in_every_format(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    details = {
        "label": np.array(["Phish", None], object),
        "rank": np.array([1, 2]),
        "reason_3": np.array([None, None], object),
    }
    predictions = Predictions(
        np.arange(2),
        np.array(["0xa", "0xb"]),
        np.array([[0.75, 0.25], [0.625, 0.375]]),
        ("Phish", "Börse"),
        np.array(["train", "new"]),
        "address",
        details,
    )
    for name in ("p.csv", "p.jsonl", "p.parquet"):
        predictions.save(tmp_path / name)
    rows = [
        {"address": "0xa", "class": "Phish", "part": "train", "p_phish": 0.75, "p_borse": 0.25, "label": "Phish"},
        {"address": "0xb", "class": "Phish", "part": "new", "p_phish": 0.625, "p_borse": 0.375, "label": None},
    ]
    expected = [row | {"rank": rank, "reason_3": None} for rank, row in enumerate(rows, 1)]
    assert [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()] == expected
    table = parquet.read_table(tmp_path / "p.parquet")
    assert table.to_pylist() == expected
    assert str(table.schema.field("reason_3").type) == "string"
    assert (tmp_path / "p.csv").read_text() == (
        "address,class,part,p_phish,p_borse,label,rank,reason_3\n"
        "0xa,Phish,train,0.75,0.25,Phish,1,\n"
        "0xb,Phish,new,0.625,0.375,,2,\n"
    )


def test_cells_that_a_spreadsheet_takes_for_formulas_are_written_as_they_are(tmp_path: Path) -> None:
    write_table(tmp_path / "p.csv", {"id": np.array(["=1+1", "@x", "-2"]), "class": np.array(["+a", "b,c", "d"])})
    assert (tmp_path / "p.csv").read_text() == 'id,class\n=1+1,+a\n@x,"b,c"\n-2,d\n'


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_table_in_chunks_is_the_table(tmp_path: Path, suffix: str) -> None:
    columns = {
        "id": np.array(["a", "bcd", "é"]),
        "number": np.array([1.5, 2.5, 3.5]),
        "label": np.array([None, None, "x"], object),
        "rank": np.array([3, 1, 2]),
    }
    chunks = ({name: column[rows] for name, column in columns.items()} for rows in ([0], [1, 2]))
    write_chunks(tmp_path / f"chunks{suffix}", chunks)
    write_table(tmp_path / f"whole{suffix}", columns)
    if suffix != ".parquet":
        assert (tmp_path / f"chunks{suffix}").read_bytes() == (tmp_path / f"whole{suffix}").read_bytes()
        return
    parquet = pytest.importorskip("pyarrow.parquet")
    found, expected = (parquet.read_table(tmp_path / f"{name}.parquet") for name in ("chunks", "whole"))
    assert found.equals(expected)
    assert parquet.ParquetFile(tmp_path / "chunks.parquet").num_row_groups == 2


def test_a_table_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def chunks() -> Iterator[dict[str, np.ndarray]]:
        yield {"id": np.arange(3)}
        raise InputError("out of luck")

    with pytest.raises(InputError, match="out of luck"):
        write_chunks(tmp_path / "p.csv", chunks())
    assert not list(tmp_path.iterdir())
