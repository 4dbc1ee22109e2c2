"""Tables in every file format, in several files, and by pattern."""

import gzip
from pathlib import Path

import duckdb
import numpy as np
import pytest

from mggcn.data import _table_files as columns
from mggcn.data._tables import read_tables
from mggcn.errors import DataWarning, InputError

NODES = """id,age,city,joined,paid,label,split
7,1,Rome,2024-01-01,true,x,train
08,,Oslo,2024-01-02,false,y,train
c,3,Rome,2024-01-03,true,x,val
d,4,,2024-01-04,false,y,test
"""
EDGES = "source,target\n7,08\n08,c\nc,d\n"
FORMATS = ["csv", "csv.gz", "csv.zst", "tsv", "tsv.gz", "tsv.zst", "parquet", "jsonl", "ndjson.gz", "json", "json.zst"]


def write(folder: Path, name: str, text: str, ending: str) -> Path:
    """A table of text in a format, with the types that DuckDB gives its columns except for ids."""
    plain, path = folder / f"{name}-plain.csv", folder / f"{name}.{ending}"
    plain.write_text(text)
    kind = ending.split(".")[0]
    options = {
        "csv": "(FORMAT csv, HEADER",
        "tsv": "(FORMAT csv, HEADER, DELIMITER '\t'",
        "parquet": "(FORMAT parquet",
        "json": "(FORMAT json, ARRAY",
    }.get(kind, "(FORMAT json")
    compression = {"gz": ", COMPRESSION gzip", "zst": ", COMPRESSION zstd"}.get(ending.rpartition(".")[2], "")
    types = "types = {'id': 'VARCHAR'}" if name == "nodes" else "all_varchar = true"
    duckdb.connect().execute(f"COPY (FROM read_csv('{plain}', {types})) TO '{path}' {options}{compression})")
    plain.unlink()
    return path


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_data(tmp_path: Path, ending: str) -> None:
    edges, nodes = write(tmp_path, "edges", EDGES, ending), write(tmp_path, "nodes", NODES, ending)
    with pytest.warns(DataWarning, match=r"^nodes: empty cells.*'age' \(1\), 'city' \(1\)"):
        data = read_tables(edges, nodes)
    assert data.feature_names == ("age", "age is empty", "city=Oslo", "city=Rome", "city is empty", "joined", "paid")
    days = [19723, 19724, 19725, 19726]
    assert data.x.tolist() == [
        [1, 0, 0, 1, 0, days[0], 1],
        [1, 1, 1, 0, 0, days[1], 0],
        [3, 0, 0, 1, 0, days[2], 1],
        [4, 0, 0, 0, 1, days[3], 0],
    ]
    assert [column.kind for column in data.encoding] == ["number", "category", "date", "boolean"]
    assert data.node_ids.tolist() == ["7", "08", "c", "d"]
    assert data.graph.row(1).tolist() == [0, 2]
    assert (data.name, data.classes, data.split.val.tolist()) == ("nodes", ("x", "y"), [2])


def _shards(folder: Path) -> None:
    for number, (nodes, edges) in enumerate([("a,1\nb,2\n", "a,b\n"), ("c,3\nd,4\n", "b,c\nc,d\n")]):
        (folder / f"nodes-{number}.csv").write_text(f"id,f\n{nodes}")
        (folder / f"edges-{number}.csv").write_text(f"source,target\n{edges}")


def test_patterns_and_several_files(tmp_path: Path) -> None:
    _shards(tmp_path)
    data = read_tables(tmp_path / "edges-*.csv", str(tmp_path / "nodes-*.csv"))
    assert data.x[:, 0].tolist() == [1, 2, 3, 4]
    assert data.graph.num_edges == 3
    assert data.source == "nodes-0.csv and 1 more and edges-0.csv and 1 more; no labels"
    files = [tmp_path / "nodes-1.csv", tmp_path / "nodes-0.csv"]
    assert read_tables(tmp_path / "edges-*.csv", files).x[:, 0].tolist() == [3, 4, 1, 2]


def test_files_may_differ_in_the_order_of_columns_only(tmp_path: Path) -> None:
    _shards(tmp_path)
    (tmp_path / "nodes-1.csv").write_text("f,id\n3,c\n4,d\n")
    assert read_tables(tmp_path / "edges-*.csv", tmp_path / "nodes-*.csv").x[:, 0].tolist() == [1, 2, 3, 4]
    (tmp_path / "nodes-1.csv").write_text("g,id\n3,c\n4,d\n")
    with pytest.raises(InputError, match=r"nodes-1.csv: its columns differ from those of .*nodes-0.csv$"):
        read_tables(tmp_path / "edges-*.csv", tmp_path / "nodes-*.csv")


def test_positions_are_those_in_each_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "CHUNK", 2)
    _shards(tmp_path)
    (tmp_path / "nodes-1.csv").write_text("id,f\nc,3\nd,4\ne,five\n")
    with pytest.raises(InputError, match=r"nodes-1.csv: line 4: column 'f': 'five' is not a number$"):
        read_tables(tmp_path / "edges-*.csv", tmp_path / "nodes-*.csv")
    path = write(tmp_path, "edges", "source,target\na,b\nb,c\nc,a\na,z\n", "parquet")
    (tmp_path / "nodes-1.csv").write_text("id,f\nc,3\n")
    with pytest.raises(InputError, match=r"edges.parquet: row 4: target 'z' is not an id of the node table; "):
        read_tables(path, tmp_path / "nodes-*.csv")


def test_an_edge_list_alone(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\nb,a\na,c\nc,b\nd,a\n")
    data = read_tables(tmp_path / "edges.csv")
    assert (data.name, data.node_ids.tolist(), data.split, data.classes) == ("edges", ["b", "a", "c", "d"], None, ())
    assert data.feature_names[:1] == ("log degree",)
    assert read_tables(tmp_path / "edges.csv", features="none").num_features == 0
    for options, message in (
        ({"features": ["f"]}, r"^features: 'f' is not one of the columns \(none\)$"),
        ({"categories": ["f"]}, "^category 'f' is not a feature column"),
        ({"label_column": "kind"}, "^label column 'kind': there is no node table$"),
    ):
        with pytest.raises(InputError, match=message):
            read_tables(tmp_path / "edges.csv", **options)
    (tmp_path / "edges.csv").write_text("source,target\nb,a\na,\n")
    with pytest.raises(InputError, match=r"edges.csv: line 3: column 'target' is empty$"):
        read_tables(tmp_path / "edges.csv")


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_of_csv(tmp_path: Path, delimiter: str) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\n".replace(",", delimiter))
    (tmp_path / "nodes.txt").write_text('id,f\na,1\n"b",2\n'.replace(",", delimiter))
    assert read_tables(tmp_path / "edges.csv", tmp_path / "nodes.txt").x[:, 0].tolist() == [1, 2]


def test_json_keeps_text_as_it_is_written(tmp_path: Path) -> None:
    ids = ["2020-01-01T00:00:00", "007", "1e5"]
    (tmp_path / "nodes.jsonl").write_text("".join(f'{{"id": "{name}", "f": {n}}}\n' for n, name in enumerate(ids)))
    (tmp_path / "edges.jsonl").write_text(f'{{"source": "{ids[0]}", "target": "{ids[1]}"}}\n')
    assert read_tables(tmp_path / "edges.jsonl", tmp_path / "nodes.jsonl").node_ids.tolist() == ids


def test_json_with_values_of_several_types(tmp_path: Path) -> None:
    (tmp_path / "nodes.jsonl").write_text('{"id": 1, "f": "1", "g": null}\n{"id": "x", "f": 2}\n{"id": "2"}\n')
    (tmp_path / "edges.csv").write_text("source,target\n1,x\nx,2\n")
    with pytest.warns(DataWarning, match=r"'f' \(1\), 'g' \(3\)"):
        data = read_tables(tmp_path / "edges.csv", tmp_path / "nodes.jsonl")
    assert data.node_ids.tolist() == ["1", "x", "2"]
    assert data.x.tolist() == [[1, 0, 0, 1], [2, 0, 0, 1], [1.5, 1, 0, 1]]
    assert data.graph.row(1).tolist() == [0, 2]


def test_parquet_types(tmp_path: Path) -> None:
    path = tmp_path / "nodes.parquet"
    query = (
        "COPY (SELECT range AS id, 1.5::DECIMAL(8, 2) AS money, DATE '1970-01-03' AS day, "
        "TIMESTAMP '1970-01-01 12:00:00' AS time, TIMESTAMPTZ '1970-01-01 12:00:00+12' AS zone, "
        "range = 1 AS flag, 'x'::ENUM ('x', 'y') AS kind, 2::HUGEINT AS huge, "
        "IF(range = 1, NULL, range::FLOAT) AS part FROM range(3)) TO '{}'"
    )
    duckdb.connect().execute(query.format(path))
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    with pytest.warns(DataWarning, match=r"of the column: 'part' \(1\)"):
        data = read_tables(tmp_path / "edges.csv", path)
    assert data.node_ids.tolist() == [0, 1, 2]
    assert dict(zip(data.feature_names, data.x.T.tolist(), strict=True)) == {
        "money": [1.5] * 3,
        "day": [2] * 3,
        "time": [0.5] * 3,
        "zone": [0] * 3,
        "flag": [0, 1, 0],
        "kind=x": [1] * 3,
        "huge": [2] * 3,
        "part": [0, 1, 2],
        "part is empty": [0, 1, 0],
    }


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nodes.xlsx", b"PK", "nodes.xlsx: not a table: its name must end in .csv, .tsv"),
        ("nodes", b"id,f\n", "nodes: not a table: its name must end in"),
        ("nodes.csv.gz", b"id,f\n", "nodes.csv.gz: not readable (Not a gzipped file"),
        ("nodes.csv.gz", gzip.compress(b"id,f\n" + bytes(np.arange(99999) % 251))[:-2000], "nodes.csv.gz: "),
        ("nodes.csv.zst", b"id,f\n", "nodes.csv.zst: not a readable CSV file ("),
        ("nodes.json", b'{"id": 1', "nodes.json: not a readable JSON file ("),
        ("nodes.parquet", b"id,f\n", "nodes.parquet: not a readable Parquet file ("),
        (
            "nodes.jsonl",
            b'{"id": 1, "f": {"a": 2}}\n',
            "nodes.jsonl: row 1: column 'f': {'a': 2} is not a number, a date",
        ),
        ("nodes-*.csv", None, "nodes-*.csv: no such file"),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n")
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_tables(tmp_path / "edges.csv", tmp_path / name)
    assert str(tmp_path / message) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_is_given_once_and_is_no_folder(tmp_path: Path) -> None:
    _shards(tmp_path)
    with pytest.raises(InputError, match=r"nodes-0.csv: given twice$"):
        read_tables(tmp_path / "edges-0.csv", [tmp_path / "nodes-*.csv", tmp_path / "nodes-0.csv"])
    with pytest.raises(InputError, match=r": a folder, not a file$"):
        read_tables(tmp_path / "edges-0.csv", tmp_path)


def test_named_columns_must_exist(tmp_path: Path) -> None:
    _shards(tmp_path)
    tables = tmp_path / "edges-0.csv", tmp_path / "nodes-0.csv"
    for option in ("label_column", "split_column"):
        with pytest.raises(InputError, match=r"nodes-0.csv: column 'kind' is missing \(it has 'id', 'f'\)"):
            read_tables(*tables, **{option: "kind"})
    with pytest.raises(InputError, match=r"features: 'kind' is not one of the columns 'f'"):
        read_tables(*tables, features=["kind"])
    assert read_tables(*tables, features=["f"], categories=["f"]).feature_names == ("f=1", "f=2")
    assert read_tables(*tables, features="structural").feature_names[0] == "log degree"
