from dataclasses import replace
from pathlib import Path

import networkx
import numpy as np
import pandas
import pytest
import scipy.sparse
import torch

from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features
from mggcn.data._pyg import as_dataset, torch_geometric
from mggcn.data._split import Split
from mggcn.errors import InputError
from mggcn.graph import Graph

pyg = torch_geometric("these tests")


class Planets(pyg.data.InMemoryDataset):
    def __init__(self) -> None:
        """Read nothing."""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("digits", "'digits': use mggcn.load('digits')"),
        (Path("a/b"), "'a/b': use mggcn.load('a/b')"),
        (Planets(), "Planets: use its graph, dataset[0]"),
        (networkx.MultiDiGraph(), "MultiDiGraph: use mggcn.Dataset.from_networkx(graph)"),
        (pandas.DataFrame(), "DataFrame: use mggcn.Dataset.from_pandas(edges, nodes)"),
        (scipy.sparse.eye_array(3), "dia_array: use mggcn.Dataset.from_scipy(adjacency, x, y)"),
        (scipy.sparse.identity(3).tocsr(), "csr_matrix: use mggcn.Dataset.from_scipy(adjacency, x, y)"),
        (Graph.from_edges([0], [1], 2), "Graph: use mggcn.Dataset(name, graph, x, y, classes, split)"),
        (torch.ones(2, 2), "Tensor: use mggcn.Dataset.from_pyg(torch_geometric.data.Data("),
        ((1, 2), "tuple: use mggcn.load(name), or Dataset.from_pyg, from_networkx, from_pandas or from_scipy"),
        (None, "NoneType: use mggcn.load(name)"),
        (torch.nn.Linear(2, 2), "Linear: use mggcn.load(name)"),
    ],
)
def test_other_objects_are_refused_with_what_to_call(value: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        as_dataset(value, "fit", needs_split=True)
    assert str(caught.value).startswith(f"fit takes a Dataset or PyG's Data, not {message}")
    assert "\n" not in str(caught.value)


def test_constructors_refuse_the_same(small: Dataset) -> None:
    hetero = r"HeteroData: use mggcn.Dataset.from_pyg\(data, target=...\)"
    with pytest.raises(InputError, match=rf"^from_scipy takes a sparse matrix of SciPy, not {hetero}$"):
        Dataset.from_scipy(pyg.data.HeteroData(), small.x)
    with pytest.raises(InputError, match=r"^from_pyg takes PyG's Data or HeteroData, not dict: use "):
        Dataset.from_pyg({"x": 1})
    with pytest.raises(InputError, match=r"^from_scipy takes a sparse matrix of SciPy, not Graph: use "):
        Dataset.from_scipy(small.graph, small.x)


def test_a_data_set_is_returned_as_it_is(small: Dataset) -> None:
    assert as_dataset(small, "fit", needs_split=True) is small


def test_few_labels_matter_only_where_a_split_is_needed(small: Dataset) -> None:
    data = small.to_pyg()
    for part in ("train", "val", "test"):
        del data[f"{part}_mask"]
    assert as_dataset(data, "predict", needs_split=False).split is not None
    data.y[1:] = -1
    with pytest.raises(InputError, match="pyg: 1 labelled nodes, no 60/20/20 split"):
        as_dataset(data, "fit", needs_split=True)
    assert as_dataset(data, "predict", needs_split=False).split is None
    data.x[0, 0] = float("nan")
    with pytest.raises(InputError, match="pyg: x of node 0, feature 0 is nan"):
        as_dataset(data, "predict", needs_split=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": [[1.0]] * 60}, r"x must be an array or a csr_array, not list: use mggcn.data.as_features\(x\)"),
        ({"x": torch.ones(60, 1)}, "x must be an array or a csr_array, not Tensor"),
        ({"x": scipy.sparse.csr_matrix((60, 1))}, "x must be an array or a csr_array, not csr_matrix"),
        ({"y": [0] * 60}, r"y must be an array, not list: use numpy.asarray\(y\)"),
        ({"graph": networkx.Graph()}, "graph must be a Graph, not Graph: use mggcn.Graph.from_edges"),
        ({"split": ([0], [1], [2])}, r"split must be a Split, not tuple: use mggcn.Split.of\(train, val, test\)"),
        ({"node_ids": ["a"] * 60}, "node_ids must be an array, not list"),
    ],
)
def test_fields_of_other_types_are_refused_with_the_conversion(small: Dataset, change: dict, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        replace(small, **change)


def test_splits_and_graphs_of_lists_are_refused_and_their_converters_take_them() -> None:
    with pytest.raises(InputError, match=r"^split: train must be an array, not list: use mggcn.Split.of$"):
        Split([0], [1], [2])
    with pytest.raises(InputError, match=r"^graph: indptr must be an array, not list: use numpy.asarray or "):
        Graph([0, 0], [])
    assert Graph.from_edges(torch.tensor([0]), [1], 2).num_edges == 1
    with pytest.raises(InputError, match=r"^edges: source: list is not an array"):
        Graph.from_edges([[0], [1, 2]], [0, 1], 3)
    for bad in (None, 2.5, -1):
        with pytest.raises(InputError, match=f"^num_nodes: {bad} is not a number of nodes"):
            Graph.from_edges([0], [1], bad)


def test_features_from_any_matrix() -> None:
    for x in ([[1, 0], [0, 2]], torch.tensor([[1.0, 0], [0, 2]], requires_grad=True), np.diag([1, 2])):
        assert as_features(x).tolist() == [[1, 0], [0, 2]]
    assert as_features(scipy.sparse.diags_array([1.0, 2.0])).toarray().tolist() == [[1, 0], [0, 2]]
    with pytest.raises(InputError, match="x: must hold numbers, not complex128"):
        as_features(scipy.sparse.csr_array(np.array([[1j]])))
