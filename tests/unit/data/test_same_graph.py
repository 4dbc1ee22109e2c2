"""One graph through every constructor gives the same data set, checked in the same way."""

from pathlib import Path
from tempfile import TemporaryDirectory

import networkx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features
from mggcn.data._npz import read_npz
from mggcn.data._pyg import torch_geometric
from mggcn.data._split import PARTS, Split
from mggcn.errors import InputError
from mggcn.graph import Graph
from tests.strategies import graphs

torch = pytest.importorskip("torch")
Data = torch_geometric("these tests").data.Data
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


@st.composite
def data_sets(draw: st.DrawFn) -> Dataset:
    """A data set whose classes all occur, with a split, without ids."""
    graph = draw(graphs())
    n = graph.num_nodes
    y = np.array(draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)))
    y = np.where(y >= 0, np.unique(np.append(y, -1), return_inverse=True)[1][:n] - 1, -1)
    x = np.array(draw(st.lists(st.integers(-3, 3), min_size=2 * n, max_size=2 * n)), np.float32).reshape(n, 2)
    labelled = np.flatnonzero(y >= 0)
    split = Split(labelled[2:], labelled[:1], labelled[1:2]) if labelled.size >= 3 else None
    classes = tuple(f"class {label}" for label in range(y.max(initial=-1) + 1))
    features = as_features(scipy.sparse.csr_array(x)) if draw(st.booleans()) else x
    return Dataset("same", graph, features, y, classes, split)


EDGES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([0, 1, 2, 0.25, 1 / 3, 1e6]), st.integers(0, 2)),
    min_size=1,
    max_size=20,
)


def _related(edges: list[tuple[int, int, float, int]], direction: str, source: str, folder: str) -> Graph:
    """A graph of six nodes with weights and types of edges, read from one kind of object or file."""
    x, (*ends, weight, kind) = np.ones((6, 1), np.float32), map(np.array, zip(*edges, strict=True))
    arrays = {"edge_index": np.array(ends), "edge_weight": weight, "edge_type": kind}
    if source == "pyg":
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return Dataset.from_pyg(Data(x=torch.ones(6, 1), **tensors), direction=direction).graph
    if source == "npz":
        np.savez(Path(folder, "same.npz"), num_nodes=6, x=x, **arrays)
        return read_npz(Path(folder, "same.npz"), direction=direction).graph
    if source == "networkx":
        graph = networkx.MultiGraph() if direction == "both" else networkx.MultiDiGraph()
        graph.add_nodes_from(range(6))
        graph.add_edges_from((u, v, {"weight": w, "kind": str(k)}) for u, v, w, k in edges)
        return Dataset.from_networkx(graph, features="none", edge_type="kind", direction=direction).graph
    store = torch_geometric("these tests").data.HeteroData()
    store["node"].x = torch.ones(6, 1)
    for number in range(kind.max() + 1):
        of_kind = store["node", str(number), "node"]
        of_kind.edge_index = torch.from_numpy(arrays["edge_index"][:, kind == number])
        of_kind.edge_weight = torch.from_numpy(weight[kind == number])
    return Dataset.from_pyg(store, target="node", direction=direction).graph


@given(edges=EDGES, direction=st.sampled_from(["both", "in", "out", "directed"]))
@settings(max_examples=settings().max_examples // 2)
def test_weights_types_and_directions_do_not_depend_on_the_constructor(edges: list, direction: str) -> None:
    if direction == "both":  # NetworkX takes both directions of an edge as parallel edges
        edges = [(min(u, v), max(u, v), weight, kind) for u, v, weight, kind in edges]
    weights = [weight for *_, weight, _ in edges]
    *ends, kinds = ([edge[column] for edge in edges] for column in (0, 1, 3))
    used = sorted(set(kinds))  # names of types that no edge has are not the same everywhere
    edges = [(u, v, weight, used.index(kind)) for u, v, weight, kind in edges]
    options = {"edge_type": [used.index(kind) for kind in kinds], "types": [str(kind) for kind in range(len(used))]}
    weight = None if set(weights) == {1} else weights
    expected = Graph.from_edges(*ends, 6, direction=direction, weight=weight, **options)
    with TemporaryDirectory() as folder:
        for source in ("pyg", "npz", "hetero", "networkx"):
            made = _related(edges, direction, source, folder)
            assert made.checksums == expected.checksums, source
            assert made.schema == expected.schema


@given(edges=EDGES, direction=st.sampled_from(["both", "in", "out", "directed"]))
@settings(max_examples=settings().max_examples // 2)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_values_of_matrices_are_weights(edges: list, direction: str) -> None:
    source, target, weight = (np.array([edge[column] for edge in edges]) for column in range(3))
    used = weight[weight != 0]
    options = {"direction": direction, "weight": used if (used != 1).any() else None}
    expected = Graph.from_edges(source[weight != 0], target[weight != 0], 6, **options)
    matrix = scipy.sparse.coo_array((weight, (source, target)), shape=(6, 6))
    x = np.ones((6, 1), np.float32)
    assert Dataset.from_scipy(matrix, x, direction=direction).graph.checksums == expected.checksums
    matrix.sum_duplicates()  # PyG's matrices have no duplicates
    indices = torch.tensor(np.stack(matrix.T.coords).astype(np.int64))
    adjacency = torch.sparse_coo_tensor(indices, torch.tensor(matrix.data), (6, 6), check_invariants=True)
    data = Data(x=torch.ones(6, 1), adj_t=adjacency.to_sparse_csr())
    if len({(u, v) for u, v, *_ in edges}) == len(edges):
        assert Dataset.from_pyg(data, direction=direction).graph.checksums == expected.checksums


def _ends(graph: Graph) -> np.ndarray:
    """[2, E] sources and targets; an undirected edge once."""
    row, column = graph.edges()
    if graph.direction == "both":
        return np.stack([row, column])[:, row < column]
    return np.stack([row, column] if graph.direction == "out" else [column, row])


def _dense(data: Dataset) -> np.ndarray:
    return data.x if isinstance(data.x, np.ndarray) else data.x.toarray()


def _adjacency(data: Dataset, layout: str) -> scipy.sparse.sparray:
    ends = _ends(data.graph)
    return scipy.sparse.coo_array((np.ones(ends.shape[1]), ends), shape=(data.num_nodes,) * 2).asformat(layout)


def _from_scipy(data: Dataset, layout: str) -> Dataset:
    return Dataset.from_scipy(
        _adjacency(data, layout), data.x, data.y, split=data.split, seed=None, direction=data.graph.direction
    )


def _from_pyg(data: Dataset, has_adj_t: bool) -> Dataset:
    x = torch.tensor(_dense(data))
    ends = _adjacency(data, "coo").T
    if has_adj_t:
        indices = torch.tensor(np.stack(ends.coords).astype(np.int64))
        entries = torch.sparse_coo_tensor(indices, torch.ones(ends.nnz), ends.shape, check_invariants=True)
        edges = {"adj_t": entries.to_sparse_csr()}
    else:
        edges = {"edge_index": torch.tensor(_ends(data.graph).astype(np.int64))}
    parts = {} if data.split is None else {f"{part}_idx": torch.tensor(v) for part, v in data.split.parts().items()}
    given = Data(
        x=x if isinstance(data.x, np.ndarray) else x.to_sparse(), y=torch.tensor(data.y).double(), **edges, **parts
    )
    return Dataset.from_pyg(given, seed=None, direction=data.graph.direction)


def _from_networkx(data: Dataset) -> Dataset:
    graph = networkx.Graph() if data.graph.direction == "both" else networkx.DiGraph()
    part_of = {} if data.split is None else {n: part for part in PARTS for n in data.split.parts()[part].tolist()}
    for node, row in enumerate(_dense(data).tolist()):
        label = {"label": f"class {data.y[node]}"} if data.y[node] >= 0 else {}
        graph.add_node(node, x=row, **label, **({"split": part_of[node]} if node in part_of else {}))
    graph.add_edges_from(_ends(data.graph).T.tolist())
    return Dataset.from_networkx(graph, seed=None, direction=data.graph.direction)


def _from_npz(data: Dataset, folder: str) -> Dataset:
    x = data.x
    parts = {} if data.split is None else {f"{part}_idx": nodes for part, nodes in data.split.parts().items()}
    features = (
        {"x": x}
        if isinstance(x, np.ndarray)
        else {"x_data": x.data, "x_indices": x.indices, "x_indptr": x.indptr, "x_shape": x.shape}
    )
    path = Path(folder, "same.npz")
    np.savez(path, num_nodes=data.num_nodes, edge_index=_ends(data.graph), y=data.y, **features, **parts)
    return read_npz(path, seed=None, direction=data.graph.direction)


@given(data_sets(), st.sampled_from(FORMATS), st.booleans())
@settings(max_examples=settings().max_examples // 5)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta", "ignore:.* no label: ")
def test_the_digest_does_not_depend_on_the_constructor(data: Dataset, layout: str, has_adj_t: bool) -> None:
    expected = data.digest
    with TemporaryDirectory() as folder:
        others = [_from_scipy(data, layout), _from_pyg(data, has_adj_t), _from_npz(data, folder)]
    for other in others:
        assert other.digest == expected
        assert (other.classes, other.graph.direction) == (data.classes, data.graph.direction)
    dense = Dataset("same", data.graph, _dense(data), data.y, data.classes, data.split)
    assert _from_networkx(data).checksums == dense.checksums, "NetworkX has no sparse features"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.full((4, 2), np.inf, np.float32)}, "x of node 0, feature 0 is inf"),
        ({"y": np.array([0, -7, 1, 1])}, "y of node 1 is -7, outside the 2 classes"),
        ({"y": np.array([0, 0.5, 1, 1])}, "y of node 1 is 0.5, not a whole number"),
        ({"split": ([0], [1], [0])}, "split: train and test overlap in 1 nodes, first node 0"),
    ],
)
def test_the_checks_are_the_same(tmp_path: Path, change: dict, message: str) -> None:
    fields = {"x": np.ones((4, 2), np.float32), "y": np.array([0, 1, 1, 1]), "split": ([0], [1], [2])} | change
    x, y, split = (fields[name] for name in ("x", "y", "split"))
    parts = {f"{part}_idx": np.array(nodes) for part, nodes in zip(PARTS, split, strict=True)}
    ends = np.array([[0], [1]])
    np.savez(tmp_path / "a.npz", num_nodes=4, edge_index=ends, x=x, y=y, **parts)
    tensors = {name: torch.tensor(value) for name, value in {"x": x, "y": y, "edge_index": ends, **parts}.items()}
    adjacency = scipy.sparse.coo_array((np.ones(1), ends), shape=(4, 4))
    for construct in (
        lambda: read_npz(tmp_path / "a.npz"),
        lambda: Dataset.from_pyg(Data(**tensors), "a", direction="both"),
        lambda: Dataset.from_scipy(adjacency, x, y, split=split, name="a", direction="both"),
    ):
        with pytest.raises(InputError) as caught:
            construct()
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
