import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mggcn.data import FolderWriter
from mggcn.data._csr_writer import CsrWriter
from mggcn.errors import InputError
from mggcn.graph import Graph
from tests.strategies import weighted_graphs


def written(
    folder: Path,
    num_nodes: int,
    batches: list[tuple[list[int], list[int]]],
    direction: str = "both",
    **options: int,
) -> tuple[np.ndarray, np.ndarray]:
    folder.mkdir(exist_ok=True)
    writer = FolderWriter(folder)
    csr = CsrWriter(writer, num_nodes, direction, **options)
    try:
        for rows, neighbours in batches:
            csr.append(np.array(rows, np.int64), np.array(neighbours, np.int64))
        csr.close()
    finally:
        writer.abandon()
    return np.load(folder / "indptr.npy"), np.load(folder / "indices.npy")


@pytest.mark.parametrize("direction", ["both", "in", "out"])
@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_batches_of_any_size_give_the_graph(tmp_path: Path, direction: str, size: int) -> None:
    rng = np.random.default_rng(size)
    graph = Graph.from_edges(rng.integers(5, 90, 200), rng.integers(5, 90, 200), 100, direction=direction)
    rows, columns = graph.edges()
    starts = range(0, rows.size, size)
    batches = [(rows[start : start + size].tolist(), columns[start : start + size].tolist()) for start in starts]
    indptr, indices = written(tmp_path, 100, batches, direction)
    assert np.array_equal(indptr, graph.indptr)
    assert np.array_equal(indices, graph.indices)
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int32)


@given(graph=weighted_graphs(), size=st.integers(1, 9), scale=st.sampled_from([1, 0.5]))
def test_batches_of_relations_give_the_graph(graph: Graph, size: int, scale: float) -> None:
    entries = graph.relations
    rows, neighbours, weights = entries.row_numbers(), entries.indices, entries.weights()
    with tempfile.TemporaryDirectory() as folder:
        writer = FolderWriter(Path(folder))
        csr = CsrWriter(
            writer, graph.num_nodes, graph.direction, has_numbers=entries.number is not None, is_weighted=True
        )
        for start in range(0, rows.size, size):
            part = slice(start, start + size)
            csr.append(
                rows[part], neighbours[part], None if entries.number is None else entries.number[part], weights[part]
            )
        csr.close(scale)
        found = {path.stem: np.load(path) for path in Path(folder).iterdir()}
    expected = dict(graph.arrays())
    expected["relation_weight"] = expected["relation_weight"] * np.float32(scale)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert np.array_equal(found[name], array)
        assert found[name].dtype == array.dtype


@pytest.mark.parametrize(
    ("numbers", "weights", "message"),
    [
        ([0, 0, 1], [1, 1, 1], "row 0 is not sorted or repeats a neighbour"),
        ([1, 0, 1], [1, 1, 1], "row 0 is not sorted or repeats a neighbour"),
        ([0, 1, 0], [1, 1, 1], "not symmetric"),
        ([0, 1, 1], [1, 1, 2], "not symmetric"),
    ],
)
def test_relations_that_are_no_graph_are_errors(
    tmp_path: Path, numbers: list[int], weights: list[float], message: str
) -> None:
    writer = FolderWriter(tmp_path)
    csr = CsrWriter(writer, 2, "directed", has_numbers=True, is_weighted=True)
    columns = np.array(numbers, np.uint16), np.array(weights, np.float32)

    def write() -> None:
        csr.append(np.array([0, 0, 1]), np.array([1, 1, 0]), *columns)
        csr.close()

    with pytest.raises(InputError, match=message):
        write()
    writer.abandon()


def test_long_gaps_between_rows(tmp_path: Path) -> None:
    indptr, indices = written(tmp_path, 20, [([2], [17]), ([], []), ([17], [2])], starts_at_once=3)
    assert indptr.tolist() == [0] * 3 + [1] * 15 + [2] * 3
    assert indices.tolist() == [17, 2]


def test_a_graph_without_entries(tmp_path: Path) -> None:
    indptr, indices = written(tmp_path, 3, [])
    assert (indptr.tolist(), indices.tolist()) == ([0, 0, 0, 0], [])


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([([0, 1], [1, 0]), ([0], [2])], "row 0 is not sorted or repeats a neighbour"),
        ([([0], [1]), ([0], [1])], "row 0 is not sorted or repeats a neighbour"),
        ([([0, 0], [2, 1])], "row 0 is not sorted or repeats a neighbour"),
        ([([1], [1])], "self-loop at node 1"),
        ([([0], [3])], "index 3 is out of range for 3 nodes"),
        ([([3], [0])], "index 3 is out of range for 3 nodes"),
        ([([-1], [0])], "index -1 is out of range for 3 nodes"),
        ([([0], [1])], "not symmetric"),
        ([([0, 1, 2], [1, 2, 0])], "not symmetric"),
    ],
)
def test_entries_that_are_no_graph_are_errors(tmp_path: Path, batches: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        written(tmp_path, 3, batches)
