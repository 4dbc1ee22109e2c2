"""The columns of predictions."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.runs._predictions import Predictions, column_names, write_table


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


@pytest.fixture
def predictions(small: Dataset) -> Predictions:
    """Of two nodes, by a run with the classes Phish and Börse."""
    y = np.where(small.y == 2, 0, small.y)
    accounts = replace(small, y=y, classes=("Phish", "Börse"), id_name="address", node_ids=None)
    run = mggcn.fit(accounts, "mlp", settings={"epochs": 1}, device="cpu")
    accounts = replace(accounts, y=np.r_[0, -1, y[2:]], node_ids=np.array([f"0x{n}" for n in range(60)]), split=None)
    p, parts = np.array([[0.75, 0.25], [0.625, 0.375]]), np.array([0, 3], np.int8)
    reasons = {1: ["a", "b"]}
    return Predictions(accounts, np.arange(2), p, parts, (run,), None, reasons, datetime(2026, 1, 2, 3, 4, 5))


def test_sql_reads_the_columns_without_quotes(predictions: Predictions, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = str(tmp_path / "p.parquet")
    predictions.save(path)
    table = duckdb.read_parquet(path)
    assert table.filter("p_phish > 0.7 AND p_borse < 0.5").project("address, part").fetchall() == [("0x0", "train")]


def test_the_columns_are_the_same_in_every_format(predictions: Predictions, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for name in ("p.csv", "p.jsonl", "p.parquet"):
        predictions.save(tmp_path / name)
    data = f"small {predictions.dataset.digest[:12]}"
    rows = [
        {"address": "0x0", "class": "Phish", "part": "train", "p_phish": 0.75, "p_borse": 0.25, "label": "Phish"},
        {"address": "0x1", "class": "Phish", "part": "new", "p_phish": 0.625, "p_borse": 0.375, "label": None},
    ]
    reasons = [(None, None), ("a", "b")]
    expected = [
        row
        | {"position_in_class": rank, "reason_1": one, "reason_2": two, "reason_3": None}
        | {"model": "mlp-seed0", "data": data, "scored_at": "2026-01-02T03:04:05Z"}
        for rank, (row, (one, two)) in enumerate(zip(rows, reasons, strict=True), 1)
    ]
    assert [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()] == expected
    table = parquet.read_table(tmp_path / "p.parquet")
    assert table.to_pylist() == expected
    assert str(table.schema.field("reason_3").type) == "string"
    end = f"mlp-seed0,{data},2026-01-02T03:04:05Z\n"
    assert (tmp_path / "p.csv").read_text() == (
        "address,class,part,p_phish,p_borse,label,position_in_class,reason_1,reason_2,reason_3,model,data,scored_at\n"
        f"0x0,Phish,train,0.75,0.25,Phish,1,,,,{end}"
        f"0x1,Phish,new,0.625,0.375,,2,a,b,,{end}"
    )
    predictions.save(tmp_path / "last.csv", slice(1, 2))
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert (tmp_path / "last.csv").read_text().splitlines() == [lines[0], lines[2]]


def test_runs_and_predictions_are_shown_in_a_line(small: Dataset, predictions: Predictions) -> None:
    run = mggcn.fit(small, "mlp", settings={"epochs": 1}, device="cpu")
    assert repr(run) == f"Run(mlp on small, seed 0: test accuracy {run.test_accuracy:.2%})"
    assert run.val_accuracy == run.record.val_accuracy
    assert repr(predictions) == "Predictions(2 nodes of 'small', classes Phish, Börse)"
    assert len(repr(small)) < 300
    assert repr(small).startswith("<Dataset small: 60 nodes, ")


def test_cells_that_a_spreadsheet_takes_for_formulas_are_written_as_they_are(tmp_path: Path) -> None:
    write_table(tmp_path / "p.csv", [{"id": np.array(["=1+1", "@x", "-2"]), "class": np.array(["+a", "b,c", "d"])}])
    assert (tmp_path / "p.csv").read_text() == 'id,class\n=1+1,+a\n@x,"b,c"\n-2,d\n'


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_table_in_chunks_is_the_table(tmp_path: Path, suffix: str) -> None:
    columns = {
        "id": np.array(["a", "bcd", "é"]),
        "number": np.array([1.5, 2.5, 3.5]),
        "label": np.array([None, None, "x"], object),
        "position_in_class": np.array([3, 1, 2]),
    }
    chunks = ({name: column[rows] for name, column in columns.items()} for rows in ([0], [1, 2]))
    write_table(tmp_path / f"chunks{suffix}", chunks)
    write_table(tmp_path / f"whole{suffix}", [columns])
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
        write_table(tmp_path / "p.csv", chunks())
    assert not list(tmp_path.iterdir())
