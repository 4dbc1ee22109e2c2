import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mggcn.data import _table_files as columns
from mggcn.data._dataset import Dataset
from mggcn.data._tables import read_tables
from mggcn.errors import DataWarning, InputError
from mggcn.graph import EdgeSchema

NODES = """id,age,label,split,score
a7,1,cat,train,0.5
b2,2,dog,train,-1e3
c9,3,cat,val,0
d1,4,,,7
e5,5,dog,test,1
f0,6,cat,test,2
"""
EDGES = "source,target\na7,b2\nb2,c9\nd1,a7\nb2,a7\ne5,e5\n"


def _write(tmp_path: Path, nodes: str = NODES, edges: str = EDGES) -> tuple[Path, Path]:
    (tmp_path / "edges.csv").write_text(edges)
    (tmp_path / "nodes.csv").write_text(nodes)
    return tmp_path / "edges.csv", tmp_path / "nodes.csv"


def test_the_tables_become_a_data_set(tmp_path: Path):
    data = read_tables(*_write(tmp_path), direction="both")
    assert data.name == "nodes"
    assert data.node_ids.tolist() == ["a7", "b2", "c9", "d1", "e5", "f0"]
    assert data.x.tolist() == [[1, 0.5], [2, -1000], [3, 0], [4, 7], [5, 1], [6, 2]]
    assert data.feature_names == ("age", "score")
    assert data.classes == ("cat", "dog")
    assert data.y.tolist() == [0, 1, 0, -1, 1, 0]
    assert [part.tolist() for part in (data.split.train, data.split.val, data.split.test)] == [[0, 1], [2], [4, 5]]
    assert [data.graph.row(node).tolist() for node in range(6)] == [[1, 3], [0, 2], [1], [0], [], []]
    assert data.source == "nodes.csv and edges.csv"
    assert data.notes == ("1 self-loop removed",), "the two directions of an edge are no duplicates"


def test_other_columns_of_edges_are_ignored_with_a_warning(tmp_path: Path):
    edges = "target,weight,source,time\na7,1,b2,\nb2,x,c9,\na7,3,b2,\n"
    note = "edge attributes are not used: ignored weight, time of edges.csv"
    with pytest.warns(DataWarning, match=f"nodes: {note}"):
        data = read_tables(*_write(tmp_path, edges=edges), direction="both", weight_column="none")
    assert data.notes == (note, "1 duplicate edge removed")
    assert data.graph.num_edges == 2
    assert data.graph.schema.is_plain


@pytest.mark.parametrize("written", ["csv", "csv.gz", "parquet"])
@pytest.mark.filterwarnings("ignore::mggcn.errors.DataWarning")
def test_columns_without_a_name_are_listed_by_their_position(tmp_path: Path, written: str):
    table = pd.DataFrame({"source": ["a", "b"], "Unnamed: 0": [0, 1], "target": ["b", "c"], "time": [7, 8]}, [3, 5])
    path = tmp_path / f"edges.{written}"
    table.to_parquet(path) if written == "parquet" else table.to_csv(path)
    listed = "column 2, time, column 5" if written == "parquet" else "column 1, column 3, time"
    assert read_tables(path, None).notes[0] == f"edge attributes are not used: ignored {listed} of {path.name}"


RELATED = """source,target,weight,kind,time
a7,b2,1.5,pays,
b2,a7,2,pays,
a7,b2,0.25,pays,
a7,b2,4,knows,
b2,c9,0,pays,
d1,d1,3,pays,
c9,d1,7,lends,
"""


def relations(data: Dataset) -> dict[tuple[str, str, str], float]:
    """The weight of each (node, neighbour, relation), by their names."""
    ids, names = data.node_ids, data.graph.schema.relations
    return {
        (str(ids[node]), str(ids[neighbour]), names[number]): weight
        for node in range(data.num_nodes)
        for entries in [data.graph.relations_of(node)]
        for neighbour, number, weight in zip(
            entries.indices.tolist(),
            [0] * entries.indices.size if entries.number is None else entries.number.tolist(),
            entries.weights().tolist(),
            strict=True,
        )
    }


@pytest.mark.filterwarnings("ignore::mggcn.errors.DataWarning")
def test_directions_weights_and_types_of_edges(tmp_path: Path):
    data = read_tables(*_write(tmp_path, edges=RELATED), direction="directed", type_column="kind")
    assert data.graph.schema == EdgeSchema(directed=True, weighted=True, types=("knows", "lends", "pays"))
    assert relations(data) == {
        ("a7", "b2", "pays out"): 1.75,
        ("b2", "a7", "pays in"): 1.75,
        ("b2", "a7", "pays out"): 2,
        ("a7", "b2", "pays in"): 2,
        ("a7", "b2", "knows out"): 4,
        ("b2", "a7", "knows in"): 4,
        ("c9", "d1", "lends out"): 7,
        ("d1", "c9", "lends in"): 7,
    }
    assert data.graph.num_edges == 4
    assert data.notes == (
        "edge attributes are not used: ignored time of edges.csv",
        "weights of edges: column 'weight' of edges.csv; weight_column='none' leaves them out",
        "1 self-loop and 1 edge of weight 0 removed",
        "1 parallel edge joined, weights added",
    )


@pytest.mark.filterwarnings("ignore::mggcn.errors.DataWarning")
def test_weights_without_directions(tmp_path: Path):
    edges = RELATED.replace("weight", "amount")
    tables = _write(tmp_path, edges=edges)
    data = read_tables(*tables, weight_column="amount")
    assert relations(data) == {
        ("a7", "b2", ""): 7.75,
        ("b2", "a7", ""): 7.75,
        ("c9", "d1", ""): 7,
        ("d1", "c9", ""): 7,
    }
    assert data.notes == (
        "edge attributes are not used: ignored kind, time of edges.csv",
        "weights of edges: column 'amount' of edges.csv; weight_column='none' leaves them out",
        "1 edge has no reverse: taken as undirected; direction 'directed' keeps directions",
        "1 edge given in both directions: weights added; direction 'directed' keeps them apart",
        "1 self-loop and 1 edge of weight 0 removed",
        "2 parallel edges joined, weights added",
    )
    plain = read_tables(*tables)
    assert plain.graph.schema.is_plain
    assert "ignored amount, kind, time of edges.csv" in plain.notes[0]


def test_types_that_are_numbers_are_sorted_as_numbers(tmp_path: Path):
    edges = "source,target,kind\na7,b2,10\nb2,c9,9\nc9,a7,9\n"
    assert read_tables(*_write(tmp_path, edges=edges), type_column="kind").graph.types == ("9", "10")
    mixed = edges.replace(",10", ",ten")
    assert read_tables(*_write(tmp_path, edges=mixed), type_column="kind").graph.types == ("9", "ten")


BAD_CELLS = [
    ("a7,b2,,pays", "line 2: column 'weight' is empty"),
    ("a7,b2,-0.5,pays", "line 2: column 'weight': '-0.5' is less than 0"),
    ("a7,b2,inf,pays", "line 2: column 'weight': 'inf' is not a finite 32-bit number"),
    ("a7,b2,1e39,pays", "line 2: column 'weight': '1e39' is not a finite 32-bit number"),
    ("a7,b2,1e-50,pays", "line 2: column 'weight': '1e-50' is not a positive 32-bit number"),
    ("a7,b2,nan,pays", "line 2: column 'weight': 'nan' is not a number"),
    ("a7,b2,much,pays", "line 2: column 'weight': 'much' is not a number"),
    ("a7,b2,true,pays", "line 2: column 'weight': 'true' is not a number"),
    ("a7,b2,2024-05-01,pays", "line 2: column 'weight': '2024-05-01' is not a number"),
    ("a7,b2,1.5,", "line 2: column 'kind' is empty"),
    ("a7,b2,1.5, ", "line 2: column 'kind' is empty"),
]


@pytest.mark.parametrize(("cells", "message"), BAD_CELLS)
@pytest.mark.parametrize("streamed", [False, True])
def test_cells_that_are_no_weights_or_types_are_one_line(tmp_path: Path, cells: str, message: str, streamed: bool):
    edges = RELATED.replace("a7,b2,1.5,pays", cells)
    options = {"out": tmp_path / "d", "memory": "500MB"} if streamed else {}
    with pytest.raises(InputError) as caught:
        read_tables(*_write(tmp_path, edges=edges), type_column="kind", **options)
    advice = "; weight_column='none' reads no weights" if "'weight'" in message else ""
    assert str(caught.value) == f"{tmp_path / 'edges.csv'}: {message}{advice}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "nodes.csv"]


def test_more_types_than_can_be_are_one_line(tmp_path: Path):
    lines = "".join(f"a7,b2,kind {number}\n" for number in range(300))
    message = r"edges.csv: line 257: column 'kind': 'kind 255' is one of more than 255 types of edges$"
    with pytest.raises(InputError, match=message):
        read_tables(*_write(tmp_path, edges=f"source,target,kind\n{lines}"), type_column="kind")
    enough = "".join(lines.splitlines(keepends=True)[:255])
    data = read_tables(
        *_write(tmp_path, edges=f"source,target,kind\n{enough}"), type_column="kind", direction="directed"
    )
    assert len(data.graph.types) == 255
    assert data.graph.num_edges == 255


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight_column": "amount"}, "edges.csv: column 'amount' is missing (it has 'source', 'target', 'weight'"),
        ({"type_column": "what"}, "edges.csv: column 'what' is missing (it has 'source', 'target', 'weight'"),
        ({"weight_column": "target"}, "edges.csv: column 'target' cannot be both the target and the weight"),
        ({"type_column": "source"}, "edges.csv: column 'source' cannot be both the source and the type"),
        ({"weight_column": "kind", "type_column": "kind"}, "column 'kind' cannot be both the type and the weight"),
    ],
)
def test_columns_that_cannot_be_read_are_one_line(tmp_path: Path, options: dict, message: str):
    with pytest.raises(InputError) as caught:
        read_tables(*_write(tmp_path, edges=RELATED), **options)
    assert message in str(caught.value)


@pytest.mark.filterwarnings("ignore::mggcn.errors.DataWarning")
def test_a_weight_column_with_another_meaning_is_not_the_weight(tmp_path: Path):
    data = read_tables(*_write(tmp_path, edges=RELATED), type_column="weight", features="none")
    assert not data.graph.schema.weighted
    assert data.graph.types == ("0", "0.25", "1.5", "2", "3", "4", "7")


def test_the_direction_of_an_edge_is_kept(tmp_path: Path):
    graph = read_tables(*_write(tmp_path), direction="in", name="mine").graph
    assert graph.row(0).tolist() == [1, 3]
    assert graph.row(3).tolist() == []


def test_other_column_names(tmp_path: Path):
    nodes = NODES.replace("id,age,label,split", "address,age,kind,part")
    edges = EDGES.replace("source,target", "from,to")
    data = read_tables(
        *_write(tmp_path, nodes, edges),
        id_column="address",
        source_column="from",
        target_column="to",
        label_column="kind",
        split_column="part",
    )
    assert data.split.val.tolist() == [2]
    assert data.id_name == "address"
    assert data.num_features == 2


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (["10", "-3", "2"], "i"),
        (["007", "1", "2"], "U"),
        (["1", "x", "2"], "U"),
        (["1", "99999999999999999999", "2"], "U"),
    ],
)
def test_ids_stay_as_they_were(tmp_path: Path, ids: list[str], kind: str):
    nodes = "id,f\n" + "".join(f"{name},1\n" for name in ids)
    data = read_tables(*_write(tmp_path, nodes, f"source,target\n{ids[0]},{ids[2]}\n"))
    assert data.node_ids.dtype.kind == kind
    assert [str(name) for name in data.node_ids] == ids
    assert data.graph.row(0).tolist() == [2]


def test_without_labels_there_is_no_split(tmp_path: Path):
    for nodes in ("id,f\n1,0\n2,0\n", "id,f,label,split\n1,0,,\n2,0,,\n"):
        data = read_tables(*_write(tmp_path, nodes, "source,target\n"))
        assert (data.classes, data.split, data.y.tolist()) == ((), None, [-1, -1])


def test_without_a_split_column_the_seed_divides(tmp_path: Path):
    nodes = "id,f,label\n" + "".join(f"{node},1,{node % 2 + 9}\n" for node in range(20))
    data = read_tables(*_write(tmp_path, nodes, "source,target\n0,1\n"), seed=2)
    assert data.classes == ("9", "10")
    assert [part.size for part in (data.split.train, data.split.val, data.split.test)] == [12, 4, 4]
    assert data.source == "nodes.csv and edges.csv; 60/20/20 split of seed 2"


def test_a_missing_validation_part_is_held_out(tmp_path: Path):
    nodes = "id,f,label,split\n" + "".join(
        f"{node},1,{node % 2},{'train' if node < 10 else 'test'}\n" for node in range(20)
    )
    data = read_tables(*_write(tmp_path, nodes, "source,target\n"))
    assert (data.split.train.size, data.split.val.size, data.split.test.size) == (8, 2, 10)
    assert "held out" in data.source


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("b2,2,", "b2,two,", "nodes.csv: line 3: column 'age': 'two' is not a number"),
        ("c9,3,cat,val,0\n", "c9,3,cat,val,nan\n", "nodes.csv: line 4: column 'score': 'nan' is not a number"),
        ("c9,3,cat,val,0\n", "c9,3,cat,val,inf\n", "nodes.csv: line 4: column 'score': 'inf' is not a finite"),
        ("-1e3", "1e39", "nodes.csv: line 3: column 'score': '1e39' is not a finite 32-bit number"),
        ("b2,2,", "a7,2,", "nodes.csv: line 3: id 'a7' is listed twice"),
        ("b2,2,", ",2,", "nodes.csv: line 3: column 'id' is empty"),
        ("cat,val", "cat,valid", "nodes.csv: line 4: column 'split': 'valid' is not one of train, val, test or empty"),
        ("4,,,", "4,,train,", "nodes.csv: node 'd1' is in split train but has no label"),
        (",val,", ",train,", "nodes.csv: split: val is empty"),
        ("dog,test,1", "dog,test", "nodes.csv: line 6: 4 values for 5 columns"),
        ("id,age", "key,age", "nodes.csv: column 'id' is missing (it has 'key', 'age', 'label', 'split', 'score')"),
        ("id,age", "id,score", "nodes.csv: column 'score' is twice in the header"),
        (",test,", ",,", "nodes.csv: split: test is empty"),
        ("b2,2", '"b2,2', "nodes.csv: line 7: unexpected end of data"),
    ],
)
def test_bad_nodes_are_one_line_with_file_line_and_value(tmp_path: Path, old: str, new: str, message: str):
    assert old in NODES
    with pytest.raises(InputError) as caught:
        read_tables(*_write(tmp_path, NODES.replace(old, new)))
    assert str(caught.value).startswith(str(tmp_path / message.split(":")[0]))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("source,target\na7,b2\nzz,a7\n", "edges.csv: line 3: source 'zz' is not an id of the node table"),
        ("source,target\na7,\n", "edges.csv: line 2: column 'target' is empty"),
        ("from,to\na7,b2\n", "edges.csv: column 'source' is missing (it has 'from', 'to')"),
        ("source,target\na7\n", "edges.csv: line 2: 1 values for 2 columns"),
        ("", "edges.csv: empty; a header with column names is needed"),
    ],
)
def test_bad_edges_are_errors(tmp_path: Path, edges: str, message: str):
    with pytest.raises(InputError) as caught:
        read_tables(*_write(tmp_path, edges=edges))
    assert message in str(caught.value)


def test_tables_that_hold_too_little_are_errors(tmp_path: Path):
    with pytest.raises(InputError, match=r"nodes.csv: no nodes"):
        read_tables(*_write(tmp_path, "id,f\n", "source,target\n"))
    edges, nodes = _write(tmp_path)
    with pytest.raises(InputError, match=r"none.csv: no such file"):
        read_tables(edges, tmp_path / "none.csv")
    nodes.write_bytes(b"id,f\n\xff\xfe,1\n")
    with pytest.raises(InputError, match=r"nodes.csv: line .*can't decode byte"):
        read_tables(edges, nodes)


def test_a_byte_order_mark_quotes_and_blank_lines_are_read_over(tmp_path: Path):
    edges, nodes = _write(tmp_path, edges='source,target\r\n"a, b",c\r\n\r\n')
    nodes.write_bytes(b'\xef\xbb\xbfid,f\r\n"a, b",1\r\nc,2\r\n\r\n')
    data = read_tables(edges, nodes)
    assert data.node_ids.tolist() == ["a, b", "c"]
    assert data.graph.num_edges == 1


def test_rows_past_the_first_chunk_keep_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(columns, "CHUNK", 4)
    lines = [f"{node},{node * 2}" for node in range(11)]
    data = read_tables(*_write(tmp_path, "\n".join(["id,f", *lines]), "source,target\n9,10\n"))
    assert data.x[:, 0].tolist() == list(range(0, 22, 2))
    lines[9] = "9,oops"
    with pytest.raises(InputError, match="line 11: column 'f': 'oops'"):
        read_tables(*_write(tmp_path, "\n".join(["id,f", *lines]), "source,target\n"))


def test_lines_are_counted_over_values_that_span_lines(tmp_path: Path):
    nodes = 'id,f\n"a\nb",1\n\nd,2\nc,x\n'
    with pytest.raises(InputError, match="line 6: column 'f': 'x'"):
        read_tables(*_write(tmp_path, nodes, "source,target\n"))


def _parquet(tmp_path: Path, **changed: list[object]) -> tuple[Path, Path]:
    nodes: dict[str, list[object]] = {
        "id": [10, 20, 30],
        "f": [1.0, 2.0, 3.0],
        "g": [True, False, True],
        "label": ["x", None, "y"],
    }
    nodes |= changed
    pq.write_table(pa.table(nodes), tmp_path / "nodes.parquet")
    pq.write_table(pa.table({"source": [10, 20], "target": [30, 10]}), tmp_path / "edges.parquet")
    return tmp_path / "edges.parquet", tmp_path / "nodes.parquet"


def test_parquet_tables(tmp_path: Path):
    edges, nodes = _parquet(tmp_path, label=[None, None, None])
    data = read_tables(edges, nodes)
    assert data.node_ids.dtype == np.int64
    assert data.x.tolist() == [[1, 1], [2, 0], [3, 1]]
    assert data.feature_names == ("f", "g")
    assert data.graph.row(0).tolist() == [1, 2]
    (tmp_path / "edges.csv").write_text("source,target\n30,20\n")
    assert read_tables(tmp_path / "edges.csv", nodes).graph.row(2).tolist() == [1]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"f": [1.0, 1e300, 2.0], "label": [None, None, None]},
            "nodes.parquet: row 2: column 'f': 1e+300 is not a finite",
        ),
        ({"f": ["1", "2", "three"]}, "nodes.parquet: row 3: column 'f': 'three' is not a number"),
        ({"f": [[1], [2], [3]]}, "nodes.parquet: row 1: column 'f': [1] is not a number"),
        ({"id": [10, None, 30]}, "nodes.parquet: row 2: column 'id' is empty"),
        ({"id": [1, 2, 3]}, "edges.parquet: row 1: source '10' is not an id of the node table"),
        ({"label": ["x", "y", "y"]}, "nodes.parquet: 3 labelled nodes, no 60/20/20 split (split: test is empty)"),
    ],
)
def test_bad_parquet_rows_are_errors(tmp_path: Path, changed, message: str):
    with pytest.raises(InputError) as caught:
        read_tables(*_parquet(tmp_path, **changed))
    assert message in str(caught.value)


def test_a_broken_parquet_file_is_an_error(tmp_path: Path):
    edges, nodes = _parquet(tmp_path)
    nodes.write_bytes(nodes.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"nodes.parquet: not a readable Parquet file") as caught:
        read_tables(edges, nodes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("module", ["duckdb", "pyarrow"])
def test_parquet_without_duckdb_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str):
    tables = _parquet(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r"nodes.parquet: this format needs DuckDB .*: pip install 'mggcn\[tables\]'"):
        read_tables(*tables)
