"""Data sets from pandas data frames."""

import subprocess
import sys
from datetime import date

import numpy as np
import pandas as pd
import pytest

import mggcn
from mggcn.data._columns import ColumnEncoding
from mggcn.data._dataset import Dataset
from mggcn.errors import DataWarning, InputError
from mggcn.graph import EdgeSchema

EDGES = pd.DataFrame({"source": [10, 20, 30, 40], "target": [20, 30, 40, 10]})


def nodes(**columns: object) -> pd.DataFrame:
    frame = {"id": [10, 20, 30, 40], "label": ["a", "b", "a", None], "split": ["train", "val", "test", None]}
    return pd.DataFrame(frame | columns)


def test_a_frame_with_every_type() -> None:
    frame = nodes(
        age=[1, 2, 3, 4],
        half=np.array([0.5, 1, 2, 3], np.float32),
        small=pd.array([1, 2, 3, 4], dtype="Int8"),
        flag=[True, False, True, True],
        known=pd.array([True, False, True, True], dtype="boolean"),
        city=["Rome", "Oslo", "Rome", "Bonn"],
        text=pd.array(["x", "y", "x", "y"], dtype="string"),
        size=pd.Categorical([3, 1, 3, 1], categories=[1, 2, 3]),
        day=pd.to_datetime(["1970-01-02", "1970-01-03", "1970-01-04", "1970-01-05"]),
        zone=pd.to_datetime(["1970-01-02"] * 4).tz_localize("Etc/GMT-12"),
    )
    data = Dataset.from_pandas(EDGES, frame, "mine")
    columns = dict(zip(data.feature_names, data.x.T.tolist(), strict=True))
    assert columns == {
        "age": [1, 2, 3, 4],
        "half": [0.5, 1, 2, 3],
        "small": [1, 2, 3, 4],
        "flag": [1, 0, 1, 1],
        "known": [1, 0, 1, 1],
        "city=Bonn": [0, 0, 0, 1],
        "city=Oslo": [0, 1, 0, 0],
        "city=Rome": [1, 0, 1, 0],
        "text=x": [1, 0, 1, 0],
        "text=y": [0, 1, 0, 1],
        "size=1": [0, 1, 0, 1],
        "size=3": [1, 0, 1, 0],
        "day": [1, 2, 3, 4],
        "zone": [0.5, 0.5, 0.5, 0.5],
    }
    assert (data.name, data.classes, data.y.tolist()) == ("mine", ("a", "b"), [0, 1, 0, -1])
    assert [part.tolist() for part in data.split.parts().values()] == [[0], [1], [2]]
    assert data.node_ids.tolist() == [10, 20, 30, 40]
    assert data.graph.row(0).tolist() == [1, 3]
    assert data.source == "nodes and edges"
    assert data.notes == (
        "columns as categories: 'city' (3), 'text' (2), 'size' (2)",
        "dates as days since 1970-01-01: 'day', 'zone'",
        "4 edges have no reverse: taken as undirected; direction 'directed' keeps directions",
    )


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.0, np.nan, 3.0, np.nan], "number"),
        (pd.array([1, None, 3, None], dtype="Int64"), "number"),
        (pd.array([1, None, 3, None], dtype="Float32"), "number"),
        (pd.array([True, None, False, None], dtype="boolean"), "boolean"),
        ([True, None, False, np.nan], "boolean"),
        (pd.to_datetime(["1970-01-02", None, "1970-01-04", pd.NaT]), "date"),
        (["x", None, "y", np.nan], "category"),
        (pd.array(["x", pd.NA, "y", pd.NA], dtype="string"), "category"),
        (pd.Categorical([1, None, 3, None]), "category"),
    ],
)
def test_missing_values_of_every_type_are_filled_and_marked(values: object, kind: str) -> None:
    with pytest.warns(DataWarning, match=r"^pandas: empty cells.* training nodes: 'c' \(2\)$") as caught:
        data = Dataset.from_pandas(EDGES, nodes(c=values))
    assert [warning.filename for warning in caught] == [__file__]
    (column,) = data.encoding
    assert (column.kind, column.has_empty) == (kind, True)
    assert data.x[:, -1].tolist() == [0, 1, 0, 1]
    first = {"number": 1, "boolean": 1, "date": 1, "category": 0}[kind]
    assert column.mean == first, "only the first node is a training node"
    assert data.x[1, 0] == first


def test_directions_weights_and_types_of_edges() -> None:
    edges = pd.DataFrame(
        {
            "source": [10, 10, 20, 30],
            "target": [20, 20, 10, 40],
            "weight": pd.array([2, 3, 1, 0], dtype="Int64"),
            "kind": pd.Categorical(["pays", "pays", "knows", "pays"]),
        }
    )
    data = Dataset.from_pandas(edges, nodes(), direction="directed", type_column="kind", features="none")
    assert data.graph.schema == EdgeSchema(directed=True, weighted=True, types=("knows", "pays"))
    assert data.graph.relations_of(0).weight.tolist() == [1, 5]
    assert data.notes == (
        "weights of edges: column 'weight' of edges; weight_column='none' leaves them out",
        "1 edge of weight 0 removed",
        "1 parallel edge joined, weights added",
    )
    plain = edges.rename(columns={"weight": "amount"})
    assert Dataset.from_pandas(plain[["source", "target"]], nodes(), direction="both").graph.schema.is_plain
    assert Dataset.from_pandas(
        plain[["source", "target", "amount"]], nodes(), weight_column="amount", direction="both"
    ).graph.schema == EdgeSchema(weighted=True)
    edges.loc[2, "weight"] = pd.NA
    with pytest.raises(InputError, match=r"edges\.loc\[2\]: column 'weight' is empty; weight_column='none'"):
        Dataset.from_pandas(edges, nodes())
    for bad in (np.nan, -1.0, np.inf):
        edges["weight"] = [2.0, 3.0, bad, 1.0]
        with pytest.raises(InputError, match=r"edges\.loc\[2\]: column 'weight'"):
            Dataset.from_pandas(edges, nodes())


def test_the_index_is_the_id_if_there_is_no_such_column() -> None:
    frame = nodes(age=[1, 2, 3, 4]).set_index("id")
    data = Dataset.from_pandas(EDGES, frame)
    assert data.node_ids.tolist() == [10, 20, 30, 40]
    assert data.feature_names == ("age",)
    assert np.array_equal(data.x, Dataset.from_pandas(EDGES, frame.reset_index()).x)


def test_an_index_without_a_name_is_the_id_with_a_warning() -> None:
    frame = nodes().drop(columns="id")
    rows = pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 3]})
    note = "the ids are the numbers in the index: nodes has no column 'id', and id_column names no other"
    with pytest.warns(DataWarning, match=f"^pandas: {note}$") as caught:
        data = Dataset.from_pandas(rows, frame)
    assert [warning.filename for warning in caught] == [__file__]
    assert (data.node_ids.tolist(), data.notes[0]) == ([0, 1, 2, 3], note)
    assert note not in Dataset.from_pandas(rows, frame.rename_axis("id")).notes
    text = pd.DataFrame({"source": ["a"], "target": ["b"]})
    assert note not in Dataset.from_pandas(text, frame.set_axis(list("abcd"))).notes


@pytest.mark.parametrize(
    ("frame", "options", "first", "unknown"),
    [
        (nodes(), {}, "edges.loc[1]: target '77'", "5 of 8 {} (62.5%) are not in its column 'id'"),
        (
            nodes().rename(columns={"id": "key"}),
            {"id_column": "key"},
            "edges.loc[1]: target '77'",
            "5 of 8 {} (62.5%) are not in its column 'key'",
        ),
        (nodes().set_index("id"), {}, "edges.loc[1]: target '77'", "5 of 8 {} (62.5%) are not in its index 'id'"),
        (
            nodes().drop(columns="id"),
            {},
            "edges.loc[0]: source '10'",
            "7 of 8 {} (87.5%) are not in its index (nodes has no column 'id', and id_column names no other)",
        ),
    ],
)
def test_ends_of_edges_that_are_not_ids_are_counted(
    frame: pd.DataFrame, options: dict, first: str, unknown: str
) -> None:
    edges = pd.DataFrame({"source": [10, 20, 55, 3], "target": [20, 77, 66, 55]})
    with pytest.raises(InputError) as caught:
        Dataset.from_pandas(edges, frame, **options)
    assert str(caught.value) == f"{first} is not an id of the node table; {unknown.format('ends of edges')}"


def test_the_index_may_be_named() -> None:
    frame = nodes(age=[1, 2, 3, 4]).set_index("id").rename_axis("key")
    data = Dataset.from_pandas(EDGES, frame, id_column="key")
    assert (data.id_name, data.node_ids.tolist()) == ("key", [10, 20, 30, 40])
    with pytest.raises(InputError, match=r"^nodes: column 'kee' is missing"):
        Dataset.from_pandas(EDGES, frame, id_column="kee")


def test_types_of_arrow_sparse_columns_and_far_dates() -> None:
    days = [date(1970, 1, 2), date(1970, 1, 3), date(1970, 1, 4), date(1970, 1, 5)]
    frame = nodes(
        number=pd.array([1, 2, 3, 4], dtype="int64[pyarrow]"),
        flag=pd.array([True, False, True, False], dtype="bool[pyarrow]"),
        day=pd.Series(days, dtype="date32[pyarrow]"),
        time=pd.Series(pd.to_datetime(days), dtype="timestamp[us, tz=UTC][pyarrow]"),
        sparse=pd.arrays.SparseArray([0, 0, 1, 0]),
        far=np.array(["9999-12-31"] * 4, "datetime64[s]"),
    )
    data = Dataset.from_pandas(EDGES, frame)
    assert dict(zip(data.feature_names, data.x.T.tolist(), strict=True)) == {
        "number": [1, 2, 3, 4],
        "flag": [1, 0, 1, 0],
        "day": [1, 2, 3, 4],
        "time": [1, 2, 3, 4],
        "sparse": [0, 0, 1, 0],
        "far": [2932896] * 4,
    }


def test_ids_beyond_the_precision_of_floats() -> None:
    big = 2**53
    ids = pd.array([big, big + 1, big + 2, big + 3], dtype="Int64")
    data = Dataset.from_pandas(pd.DataFrame({"source": ids[:1], "target": ids[1:2]}), nodes(id=ids))
    assert data.node_ids.tolist() == [big, big + 1, big + 2, big + 3]


def test_columns_are_options() -> None:
    frame = nodes(a=[1, 2, 3, 4], b=[1, 2, 1, 2]).rename(columns={"id": "key", "label": "kind", "split": "part"})
    edges = EDGES.rename(columns={"source": "from", "target": "to"})
    data = Dataset.from_pandas(
        edges,
        frame,
        id_column="key",
        source_column="from",
        target_column="to",
        label_column="kind",
        split_column="part",
        features=["b"],
        categories=["b"],
        direction="out",
    )
    assert data.encoding == (ColumnEncoding("b", "category", categories=("1", "2")),)
    assert (data.id_name, data.classes, data.graph.row(0).tolist()) == ("key", ("a", "b"), [1])


def test_without_features_or_nodes() -> None:
    structural = Dataset.from_pandas(EDGES, nodes())
    assert structural.feature_names[0] == "log degree"
    assert np.array_equal(Dataset.from_pandas(EDGES, nodes(age=1), features="structural").x, structural.x)
    assert Dataset.from_pandas(EDGES, nodes(age=1), features="none").x.shape == (4, 0)
    bare = Dataset.from_pandas(EDGES)
    assert (bare.node_ids.tolist(), bare.split, bare.classes) == ([10, 20, 30, 40], None, ())
    assert np.array_equal(bare.x, structural.x)


def test_float_ids_and_labels_that_are_whole() -> None:
    frame = nodes(id=[10.0, 20.0, 30.0, 40.0], label=[1, 2, 1, np.nan], age=[1, 2, 3, 4])
    data = Dataset.from_pandas(EDGES, frame)
    assert data.node_ids.tolist() == [10, 20, 30, 40]
    assert data.classes == ("1", "2")


@pytest.mark.parametrize(
    ("edges", "frame", "options", "message"),
    [
        (EDGES, nodes(id=[10, 20, 20, 40]), {}, "nodes.loc[2]: id '20' is listed twice"),
        (EDGES, nodes(id=[10, 20, 31, 40]), {}, "edges.loc[1]: target '30' is not an id of the node table"),
        (EDGES, nodes(a=["1", "2", "x", "3"]), {}, "nodes.loc[2]: column 'a': 'x' is not a number"),
        (EDGES, nodes(a=[1, 2, np.inf, 3]), {}, "nodes.loc[2]: column 'a': inf is not a finite 32-bit number"),
        (EDGES, nodes(split=["train", "x", "", ""]), {}, "nodes.loc[1]: column 'split': 'x' is not one of train"),
        (EDGES.drop(columns="target"), nodes(), {}, "edges: column 'target' is missing (it has 'source')"),
        (EDGES, nodes(), {"label_column": "kind"}, "nodes: column 'kind' is missing (it has 'id', 'label', 'split')"),
        (EDGES, nodes(a=1), {"features": ["a", "b"]}, "features: 'b' is not one of the columns 'a'"),
        (EDGES, nodes(a=1), {"features": "a"}, "features: 'a' is not all, none, structural or a list of columns"),
        (EDGES, nodes(a=1), {"features": "none", "categories": ["a"]}, "category 'a' is not a feature column"),
        ([(1, 2)], nodes(), {}, "from_pandas takes data frames of pandas as edges, not list: use "),
        (EDGES, nodes().rename(columns={"label": 3}), {}, "nodes: column 3 must have a text as its name"),
        (EDGES.iloc[:0], None, {}, "edges: no nodes"),
    ],
)
def test_bad_frames_are_one_line(edges: object, frame: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Dataset.from_pandas(edges, frame, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pandas_and_networkx_are_not_imported_with_mggcn() -> None:
    code = "import sys, mggcn.data._table_objects; sys.exit(bool({'pandas', 'networkx'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_run_from_frames(small: Dataset) -> None:
    rows, columns = small.graph.edges()
    frame = pd.DataFrame(small.x, columns=["a", "b", "c"]).assign(
        id=range(60), label=[small.classes[label] for label in small.y], colour=[f"c{label}" for label in small.y]
    )
    data = mggcn.Dataset.from_pandas(pd.DataFrame({"source": rows, "target": columns}), frame, "frames")
    run = mggcn.fit(data, settings={"epochs": 20}, device="cpu")
    assert run.record.test_accuracy > 0.8
    assert [column["name"] for column in run.record.dataset["encoding"]] == ["a", "b", "c", "colour"]
