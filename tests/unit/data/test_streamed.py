"""An import with a memory limit writes the bytes of one in memory, and refuses the same rows with the same words."""

import csv
import gzip
import operator
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mggcn._io.database import connect
from mggcn.data import CsrWriter, FolderWriter, load_folder, save
from mggcn.data import _table_files as columns
from mggcn.data import _tables_on_disk as tables_on_disk
from mggcn.data._tables import read_tables
from mggcn.data._tables_on_disk import IdsOnDisk
from mggcn.errors import DataWarning, InputError
from mggcn.graph import EdgeSchema, Graph

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

Rows = Iterable[Sequence[Any]]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "CHUNK", 50)
    monkeypatch.setattr(tables_on_disk, "CHUNK", 50)
    monkeypatch.setattr("mggcn.data._graph_on_disk._BATCH", 64)


def write_csv(path: Path, names: Sequence[str], rows: Rows) -> Path:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", newline="") as file:
        table = csv.writer(file)
        table.writerow(names)
        table.writerows(rows)
    return path


def write_parquet(path: Path, **arrays: Any) -> Path:
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(arrays), path)
    return path


def both(tmp_path: Path, edges: Any, nodes: Any = None, **options: Any) -> tuple[dict[str, bytes], dict[str, bytes]]:
    with warnings.catch_warnings(action="ignore", category=DataWarning):
        save(read_tables(edges, nodes, name="d", **options), tmp_path / "memory")
        read_tables(edges, nodes, out=tmp_path / "disk", memory="500MB", name="d", **options)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["disk", "memory"]
    contents = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("memory", "disk")]
    return contents[0], contents[1]


def graph_of(count: int, num_edges: int, seed: int = 0) -> np.ndarray:
    """Edges with loops, and with duplicates in both directions."""
    pairs = np.random.default_rng(seed).integers(0, count, (num_edges, 2))
    return np.concatenate([pairs, pairs[:20], pairs[20:40, ::-1], np.repeat(np.arange(3), 2).reshape(3, 2)])


def features(count: int) -> list[list[Any]]:
    """A number with empty cells, a number, a text with empty cells, a boolean, a date."""
    rng = np.random.default_rng(1)
    return [
        [
            "" if node % 7 == 0 else rng.random(),
            rng.integers(0, 9),
            ["Oslo", "Rome", ""][node % 3],
            ["true", "false"][node % 2],
            f"2024-05-{node % 28 + 1:02d}",
        ]
        for node in range(count)
    ]


NAMES = ("age", "size", "city", "is_new", "day")
IDS = {
    "text": lambda node: f"node {node}",
    "unicode": lambda node: f"ñ{node}",
    "row numbers": lambda node: node,
    "integers in any order": lambda node: (node * 7919) % 100_003 - 500,
    "integers and text": lambda node: f"{node:03d}" if node % 2 else node,
    "large integers": lambda node: 2**63 - 150 + int(node),
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("direction", ["both", "in", "out"])
def test_csv(tmp_path: Path, kind: str, direction: str) -> None:
    name = IDS[kind]
    labels = ["red", "blue", ""]
    nodes = write_csv(
        tmp_path / "n.csv",
        ("label", "id", *NAMES),
        ([labels[node % 3], f" {name(node)} ", *cells] for node, cells in enumerate(features(210))),
    )
    edges = write_csv(
        tmp_path / "e.csv.gz", ("w", "source", "target"), ((1, name(a), name(b)) for a, b in graph_of(210, 900))
    )
    one, other = both(tmp_path, edges, nodes, direction=direction)
    assert one == other
    assert "ignored w of" in other["meta.json"].decode()


WEIGHTS = [0, 0.1, 1 / 3, 7, 1e-3, 1e6, 12.25]
KINDS = ["pays", "knows", "lends", "ñ"]


@pytest.mark.parametrize("kind", ["text", "row numbers"])
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("direction", ["both", "in", "out", "directed"])
def test_directions_weights_and_types(
    tmp_path: Path, kind: str, typed: bool, weighted: bool, direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mggcn.data._csr_writer._SCALED", 100)
    name, rng, pairs = IDS[kind], np.random.default_rng(5), graph_of(40, 900)
    nodes = write_csv(tmp_path / "n.csv", ("id", *NAMES), ([name(node), *row] for node, row in enumerate(features(40))))
    rows = [(name(a), name(b), WEIGHTS[rng.integers(7)], KINDS[rng.integers(4)]) for a, b in pairs]
    edges = write_csv(tmp_path / "e.csv", ("source", "target", "weight", "kind"), rows)
    options = {"type_column": "kind"} if typed else {}
    options |= {} if weighted else {"weight_column": "none"}
    one, other = both(tmp_path, edges, nodes, direction=direction, **options)
    assert one == other
    graph = load_folder(tmp_path / "disk").graph
    assert graph.schema == EdgeSchema(direction == "directed", weighted, tuple(sorted(KINDS)) if typed else ())
    Graph.from_arrays({name: array.copy() for name, array in graph.arrays().items()}, direction, graph.types)
    assert ("parallel edges joined, weights added" in other["meta.json"].decode()) == weighted
    assert ("given in both directions" in other["meta.json"].decode()) == (weighted and direction == "both")
    (tmp_path / "again").mkdir()
    assert operator.eq(*both(tmp_path / "again", edges, direction=direction, features="structural", **options))


@pytest.mark.parametrize("typed", [False, True])
def test_a_symmetric_matrix_of_weights(tmp_path: Path, typed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mggcn.data._csr_writer._SCALED", 100)
    rng, pairs = np.random.default_rng(5), graph_of(40, 300)
    once = [(min(a, b), max(a, b), rng.choice([0.1, 1 / 3, 7]), KINDS[rng.integers(4)]) for a, b in pairs]
    rows = once + [(b, a, *values) for a, b, *values in once]
    edges = write_csv(tmp_path / "e.csv", ("source", "target", "weight", "kind"), rows)
    one, other = both(tmp_path, edges, **({"type_column": "kind"} if typed else {}))
    assert one == other
    assert "given in both directions" not in other["meta.json"].decode()
    total = sum(float(np.float32(weight)) for a, b, weight, _ in once if a != b)
    assert load_folder(tmp_path / "disk").graph.neighbour_weights().sum(dtype=float) / 2 == pytest.approx(total)


@pytest.mark.parametrize("direction", ["both", "directed"])
@pytest.mark.parametrize("rows", [[], [["a", "a", 2, "x"]], [["a", "b", 0, "x"]]])
def test_no_edge_is_left(tmp_path: Path, rows: list, direction: str) -> None:
    nodes = write_csv(tmp_path / "n.csv", ("id", "size"), [["a", 1], ["b", 2]])
    edges = write_csv(tmp_path / "e.csv", ("source", "target", "weight", "kind"), rows)
    assert operator.eq(*both(tmp_path, edges, nodes, direction=direction, type_column="kind"))


def test_weights_and_types_of_a_parquet_file(tmp_path: Path) -> None:
    pairs, rng = graph_of(100, 300), np.random.default_rng(2)
    ends = {"source": pairs[:, 0], "target": pairs[:, 1]}
    values = {"weight": rng.integers(0, 9, len(pairs)), "kind": rng.integers(8, 12, len(pairs))}
    edges = write_parquet(tmp_path / "e.parquet", **ends, **values)
    assert operator.eq(*both(tmp_path, edges, type_column="kind"))
    assert load_folder(tmp_path / "disk").graph.types == ("8", "9", "10", "11")
    empty = pyarrow.array([None if row == 70 else 1.5 for row in range(len(pairs))])
    edges = write_parquet(tmp_path / "e.parquet", **ends, weight=empty)
    with pytest.raises(InputError, match=r"e.parquet: row 71: column 'weight' is empty; weight_column='none'"):
        read_tables(edges)


def test_sums_of_weights_that_are_too_large_are_refused_with_the_same_words(tmp_path: Path) -> None:
    edges = write_csv(tmp_path / "e.csv", ("source", "target", "weight"), [["a", "b", 3e38]] * 2)
    with pytest.raises(InputError, match="weight: those between nodes 0 and 1 add up to 6e") as expected:
        read_tables(edges)
    with pytest.raises(InputError) as actual:
        read_tables(edges, out=tmp_path / "d", memory="500MB")
    assert str(actual.value) == str(expected.value)
    assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


@pytest.mark.parametrize("kind", IDS)
def test_an_edge_list_alone(tmp_path: Path, kind: str) -> None:
    name = IDS[kind]
    edges = write_csv(tmp_path / "e.csv", ("source", "target"), ((name(a), name(b)) for a, b in graph_of(210, 900)))
    one, other = both(tmp_path, edges)
    assert one == other


@pytest.mark.parametrize("order", ["row numbers", "increasing", "any"])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint64, np.float64, str, None])
def test_parquet(tmp_path: Path, order: str, dtype: Any) -> None:
    ids = {"row numbers": np.arange(300), "increasing": np.arange(300) * 3}.get(order)
    ids = np.random.default_rng(3).permutation(900)[:300] if ids is None else ids
    ends = ids[graph_of(300, 1500)]
    label = pyarrow.array([None if node % 5 == 0 else node % 3 for node in range(300)])
    x = {"a": np.linspace(0, 1, 300, dtype=np.float32), "b": np.arange(300) % 4 == 0}

    def column(values: np.ndarray) -> Any:
        if dtype is None:
            return pyarrow.array(values).dictionary_encode()
        return pyarrow.array(values.astype(dtype))

    nodes = [
        write_parquet(
            tmp_path / f"n{part}.parquet", id=column(ids[rows]), label=label[rows], **{k: v[rows] for k, v in x.items()}
        )
        for part, rows in enumerate((slice(0, 130), slice(130, 300)))
    ]
    edges = write_parquet(tmp_path / "e.parquet", source=column(ends[:, 0]), target=column(ends[:, 1]))
    one, other = both(tmp_path, edges, nodes)
    assert one == other


def test_ids_of_different_types_in_the_two_tables(tmp_path: Path) -> None:
    nodes = write_parquet(tmp_path / "n.parquet", id=np.arange(100), a=np.ones(100))
    edges = write_csv(tmp_path / "e.csv", ("source", "target"), graph_of(100, 200).tolist())
    assert operator.eq(*both(tmp_path, edges, nodes))
    words = write_parquet(tmp_path / "w.parquet", source=["1", "2", " 3 "], target=["2", "3", "99"])
    (tmp_path / "again").mkdir()
    assert operator.eq(*both(tmp_path / "again", words, nodes))


@pytest.mark.parametrize("choice", ["none", "structural", ["size", "age"]])
def test_choices_of_features(tmp_path: Path, choice: Any) -> None:
    rows = ([node, *cells] for node, cells in enumerate(features(120)))
    nodes = write_csv(tmp_path / "n.csv", ("id", *NAMES), rows)
    edges = write_csv(tmp_path / "e.csv", ("source", "target"), graph_of(120, 300).tolist())
    assert operator.eq(*both(tmp_path, edges, nodes, features=choice))


def test_names_of_columns_categories_and_a_split(tmp_path: Path) -> None:
    parts = ["train", "train", "train", "test", ""]
    rows = [[f"n{n}", n % 4, parts[n % 5], *cells] for n, cells in enumerate(features(150))]
    nodes = write_csv(tmp_path / "n.csv", ("key", "kind", "part", *NAMES), rows)
    ends = [[f"n{a}", f"n{b}"] for a, b in graph_of(150, 400)]
    edges = write_csv(tmp_path / "e.csv", ("from", "to"), ends)
    named = {"id_column": "key", "source_column": "from", "target_column": "to", "label_column": "kind"}
    one, other = both(tmp_path, edges, nodes, split_column="part", categories=["size"], seed=4, **named)
    assert one == other
    assert "held out by seed 4" in other["meta.json"].decode()


def test_empty_cells_are_filled_a_few_rows_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = ["red", "blue", ""]
    rows = ([node, labels[node % 3], *cells] for node, cells in enumerate(features(210)))
    nodes = write_csv(tmp_path / "n.csv", ("id", "label", *NAMES), rows)
    edges = write_csv(tmp_path / "e.csv", ("source", "target"), graph_of(210, 900).tolist())
    for module in ("_tables", "_tables_on_disk"):
        monkeypatch.setattr(f"mggcn.data.{module}.BLOCK", 40)
    assert operator.eq(*both(tmp_path, edges, nodes))


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        ([["a", 1], ["b", 2], ["a", 3]], [["a", "b"]]),
        ([[1, 1], [2, 2], [1, 3]], [[1, 2]]),
        ([[f"n{row % 119}", 1] for row in range(120)], [["n1", "n2"]]),
        ([["a", 1], ["", 2]], [["a", "a"]]),
        ([["a", 1], ["b", 2]], [["a", "b"], ["b", "c"]]),
        ([["a", 1], ["b", 2]], [["a", "b"], ["c", "b"]]),
        ([["a", 1], ["b", 2]], [["a", "b"], ["", "b"]]),
        ([["a", 1], ["b", 2]], [["a", "c"], ["d", "e"], *[["a", "b"]] * 70, ["c", "d"]]),
        ([[0, 1], [1, 2]], [[0, 1]] * 70 + [[1, 2]]),
        ([[0, 1], [1, 2]], [[0, 1], [-1, 0]]),
        ([[5, 1], [3, 2]], [[5, 3]] * 70 + [[4, 3]]),
        ([["a", 1], ["b", "x"], ["c", 3]], [["a", "b"]]),
        ([["a", 1], ["b", 1e300]], [["a", "b"]]),
        ([], []),
        (None, []),
        (None, [["a", "b"], ["a", ""]]),
        (None, [["a", "b", "c"]]),
    ],
)
def test_the_same_line_is_refused_with_the_same_words(tmp_path: Path, nodes: Any, edges: Any) -> None:
    table = None if nodes is None else write_csv(tmp_path / "n.csv", ("id", "size"), nodes)
    listed = write_csv(tmp_path / "e.csv", ("source", "target"), edges)
    with pytest.raises(InputError) as expected:
        read_tables(listed, table)
    with pytest.raises(InputError) as actual:
        read_tables(listed, table, out=tmp_path / "d", memory="500MB")
    assert str(actual.value) == str(expected.value)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv"] * (1 + (nodes is not None))


@pytest.mark.parametrize("rows", [[["a", "red", "later"]], [["a", "", "train"], ["b", "red", "train"]]])
def test_a_split_that_cannot_be_is_refused_with_the_same_words(tmp_path: Path, rows: list) -> None:
    nodes = write_csv(tmp_path / "n.csv", ("id", "label", "split"), rows)
    edges = write_csv(tmp_path / "e.csv", ("source", "target"), [["a", "a"]])
    with pytest.raises(InputError) as expected:
        read_tables(edges, nodes)
    with pytest.raises(InputError) as actual:
        read_tables(edges, nodes, out=tmp_path / "d", memory="500MB")
    assert str(actual.value) == str(expected.value)
    assert len(list(tmp_path.iterdir())) == 2


def test_two_columns_with_a_feature_of_the_same_name_are_refused_with_the_same_words(tmp_path: Path) -> None:
    nodes = write_csv(tmp_path / "n.csv", ("id", "a", "a=x"), [[1, "x", 3], [2, "y", 4]])
    edges = write_csv(tmp_path / "e.csv", ("source", "target"), [[1, 2]])
    message = r"columns 'a' and 'a=x' both have a feature 'a=x': rename one, or leave it out$"
    with pytest.raises(InputError, match=message) as expected:
        read_tables(edges, nodes)
    with pytest.raises(InputError, match=message) as actual:
        read_tables(edges, nodes, out=tmp_path / "d", memory="500MB")
    assert str(actual.value) == str(expected.value)
    assert len(list(tmp_path.iterdir())) == 2


def test_too_little_memory_names_the_minimum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = write_csv(tmp_path / "n.csv", ("id", "size"), [[node, 1] for node in range(100)])
    edges = write_csv(tmp_path / "e.csv", ("source", "target"), [[0, 1]])
    with pytest.raises(InputError, match="memory: '20MB' is too little; an engine needs at least 500MB"):
        read_tables(edges, nodes, out=tmp_path / "d", memory="20MB")
    monkeypatch.setattr("mggcn.data._tables_on_disk._BYTES_PER_NODE", 6 * 10**6)
    with pytest.raises(InputError, match="memory: 999MB is too little for 100 nodes; at least 1000MB are needed"):
        read_tables(edges, nodes, out=tmp_path / "d", memory="999MB")
    assert read_tables(edges, nodes, out=tmp_path / "d", memory="1GB").num_nodes == 100


def test_structural_features_that_do_not_fit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_on_disk, "_STRUCTURE_BYTES", (10**9, 0))
    edges = write_csv(tmp_path / "e.csv", ("source", "target"), [["a", "b"]])
    with pytest.raises(InputError, match="structural ones of this graph need 2000MB, more than memory=500MB"):
        read_tables(edges, None, out=tmp_path / "d", memory="500MB")
    assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    edges = write_csv(tmp_path / "e.csv", ("source", "target"), [["a", "b"]])
    for owner, method in ((IdsOnDisk, "append"), (CsrWriter, "append"), (FolderWriter, "finish")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, method, full)
            with pytest.raises(OSError, match="No space left"):
                read_tables(edges, None, out=tmp_path / "d", memory="500MB")
        assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


def test_progress_of_every_stage(tmp_path: Path) -> None:
    nodes = write_csv(tmp_path / "n.csv", ("id", "size"), [[f"n{node}", node] for node in range(120)])
    ends = [[f"n{a}", f"n{b}"] for a, b in graph_of(120, 300)]
    edges = write_csv(tmp_path / "e.csv", ("source", "target"), ends)
    reported: list[tuple[str, int, int | None]] = []
    read_tables(edges, nodes, out=tmp_path / "d", memory="500MB", on_rows=lambda *row: reported.append(row))
    last = {stage: (done, total) for stage, done, total in reported}
    assert list(last) == ["nodes", "edges", "joined edges", "sorted edges", "features"]
    assert last["nodes"] == (120, None)
    assert last["edges"] == (len(ends), None)
    assert last["features"] == (120, 120)
    assert last["sorted edges"][0] == last["sorted edges"][1]


@pytest.mark.parametrize(
    ("ids", "are_integers"),
    [
        (["1", "-20", "3"], True),
        (["1", "02"], False),
        (["1", "+2"], False),
        (["-0"], False),
        (["1.0"], False),
        (["1e3"], False),
        (["9223372036854775807"], True),
        (["9223372036854775808"], False),
        (["-9223372036854775808"], False),
        (np.array([1, 2], np.uint8), True),
        (np.array([2**63], np.uint64), False),
        (np.array([-(2**63)]), False),
        ([], True),
    ],
)
def test_ids_are_integers_only_in_their_plain_form(tmp_path: Path, ids: Any, are_integers: bool) -> None:
    written = IdsOnDisk(tmp_path, "nodes", ["id"])
    written.append([ids])
    written.close()
    database = connect(tmp_path, 500)
    assert written.are_integers(database) == are_integers
    database.close()


@pytest.mark.parametrize("direction", ["both", "directed"])
def test_weights_that_are_all_1_are_no_weights(tmp_path: Path, direction: str) -> None:
    rows = [(a, b, 1.0) for a, b in graph_of(40, 900)]
    edges = write_csv(tmp_path / "e.csv", ("source", "target", "weight"), rows)
    one, other = both(tmp_path, edges, direction=direction)
    assert one == other
    assert "column 'weight' of e.csv is always 1, so there are none" in other["meta.json"].decode()
    graph = load_folder(tmp_path / "disk").graph
    assert not graph.schema.weighted
    (tmp_path / "plain").mkdir()
    bare = write_csv(tmp_path / "plain" / "e.csv", ("source", "target"), [row[:2] for row in rows])
    both(tmp_path / "plain", bare, direction=direction)
    assert load_folder(tmp_path / "plain" / "disk").graph.checksums == graph.checksums
