import numpy as np
import pytest
import scipy.sparse
import torch

from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.errors import DataWarning, InputError

ENDS = np.array([[0, 1, 2], [1, 2, 3]])


def _adjacency(values: list | None = None) -> scipy.sparse.coo_array:
    return scipy.sparse.coo_array((values or [1, 1, 1], ENDS), shape=(4, 4))


def test_rows_are_sources_and_columns_targets() -> None:
    x = [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert Dataset.from_scipy(_adjacency(), x, direction="both").graph.row(1).tolist() == [0, 2]
    assert Dataset.from_scipy(_adjacency(), x, direction="in").graph.row(1).tolist() == [0]
    assert Dataset.from_scipy(_adjacency(), x, direction="out").graph.row(1).tolist() == [2]


def test_lists_tensors_and_masks_are_accepted() -> None:
    masks = [torch.arange(4) == 0, [False, True, False, False], [2, 3]]
    data = Dataset.from_scipy(
        scipy.sparse.csr_matrix(_adjacency()),
        torch.ones(4, 2, requires_grad=True),
        [0.0, 1.0, 1.0, 0.0],
        split=masks,
        name="mine",
        classes=["a", "b"],
        node_ids=["w", "x", "y", "z"],
        feature_names=["f", "g"],
        direction="both",
    )
    assert [nodes.tolist() for nodes in data.split.parts().values()] == [[0], [1], [2, 3]]
    assert (data.y.tolist(), data.classes, data.feature_names) == ([0, 1, 1, 0], ("a", "b"), ("f", "g"))
    assert data.ids_of([3]).tolist() == ["z"]
    again = Dataset.from_scipy(_adjacency(), data.x, data.y, split=data.split, direction="both")
    assert again.split.test.tolist() == [2, 3]


def test_sparse_features_stay_sparse_and_are_copied() -> None:
    x = scipy.sparse.csr_matrix((np.ones(3), np.array([1, 0, 1]), np.array([0, 2, 3, 3, 3])), shape=(4, 2))
    data = Dataset.from_scipy(_adjacency(), x, direction="both")
    assert data.is_sparse
    assert data.x.toarray()[:2].tolist() == [[1, 1], [0, 1]]
    assert x.indices.tolist() == [1, 0, 1], "the user's matrix is not sorted in place"


def test_values_are_weights_and_zeros_are_no_edges() -> None:
    data = Dataset.from_scipy(_adjacency([0.5, 0, 1]), np.ones((4, 1)), name="mine", direction="both")
    assert data.notes == ("weights of edges: values of adjacency; weights=False leaves them out",)
    assert [data.graph.row(node).tolist() for node in range(4)] == [[1], [0], [3], [2]]
    assert data.graph.neighbour_weights().tolist() == [0.5, 0.5, 1, 1]
    plain = Dataset.from_scipy(_adjacency([1, 0, 1]), np.ones((4, 1)), direction="both")
    for options in ({"values": [True, False, True]}, {"values": [0.5, 0, -1], "weights": False}):
        values = options.pop("values")
        same = Dataset.from_scipy(_adjacency(values), np.ones((4, 1)), direction="both", **options)
        assert same.digest == plain.digest
        assert same.notes == ()


def test_weights_of_both_directions() -> None:
    def read(values: list[float], **options: str) -> Dataset:
        matrix = scipy.sparse.coo_array((values, ([0, 1, 2, 2], [1, 0, 2, 0])), shape=(3, 3))
        return Dataset.from_scipy(matrix, np.ones((3, 1)), name="mine", **options)

    note = "1 edge given in both directions: weights added; direction 'directed' keeps them apart"
    with pytest.warns(DataWarning, match=f"mine: {note}"), pytest.warns(DataWarning, match="1 edge has no reverse"):
        assert read([3, 4, 9, 1]).graph.neighbour_weights().tolist() == [7, 1, 7, 1]
    with pytest.warns(DataWarning, match=f"mine: {note}"):
        assert read([3, 4, 9, 0]).graph.neighbour_weights().tolist() == [7, 7]
    symmetric = read([3, 3, 9, 0])
    assert symmetric.graph.neighbour_weights().tolist() == [3, 3]
    assert symmetric.notes[1:] == ("1 self-loop removed",)
    directed = read([3, 4, 9, 1], direction="directed")
    assert directed.graph.relations_of(0).number.tolist() == [0, 1, 0]
    assert directed.graph.relations_of(0).weight.tolist() == [4, 3, 1]


def test_duplicates_and_loops_are_counted() -> None:
    matrix = scipy.sparse.coo_array((np.ones(4), ([0, 0, 1, 2], [1, 1, 0, 2])), shape=(3, 3))
    assert Dataset.from_scipy(matrix, np.ones((3, 1))).notes == ("1 self-loop and 1 duplicate edge removed",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"adjacency": np.eye(4)}, "from_scipy takes a sparse matrix of SciPy, not ndarray: use "),
        ({"adjacency": scipy.sparse.eye_array(3, 4)}, r"mine: adjacency: must be square, not of shape \[3, 4\]"),
        ({"adjacency": _adjacency([1, -2, 1])}, "mine: values of adjacency: weight: -2 of edge 1 is negative; .*"),
        ({"adjacency": _adjacency([1, np.nan, 1])}, "mine: values of adjacency: weight: nan of edge 1 is missing; .*"),
        (
            {"adjacency": _adjacency([1, np.inf, 1])},
            "mine: values of adjacency: weight: inf of edge 1 is not finite in float32; weights must be "
            "numbers of 0 or more; weights=False leaves them out",
        ),
        ({"x": [[1], [2, 3]]}, "mine: x: list is not an array"),
        ({"x": [["a"]] * 4}, "mine: x: must hold numbers, not <U1"),
        ({"x": np.ones((5, 1))}, "mine: x has 5 rows but the graph has 4 nodes"),
        ({"y": [0, 1]}, r"mine: y: must have shape \[4\], one class per node, not \[2\]"),
        ({"y": ["a", "b", "a", "b"]}, "mine: y: must hold integers, not <U1"),
        ({"split": ([0], [1])}, "mine: split: must be a Split or the nodes of train, val and test"),
        ({"split": ([0], [1], [9])}, "mine: split: test: node 9 is out of range for 4 nodes"),
        ({"split": Split.of([0], [1], [9])}, "mine: split: test: node 9 is out of range for 4 nodes"),
    ],
)
def test_bad_input_is_one_line(change: dict, message: str) -> None:
    fields = {
        "adjacency": _adjacency(),
        "x": np.ones((4, 1)),
        "y": [0, 1, 0, 1],
        "name": "mine",
        "seed": None,
        "direction": "both",
    }
    with pytest.raises(InputError, match=f"^{message}") as caught:
        Dataset.from_scipy(**(fields | change))
    assert "\n" not in str(caught.value)
