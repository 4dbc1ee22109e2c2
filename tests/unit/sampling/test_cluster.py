import builtins
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.runs import resolve
from mggcn.sampling.subgraphs import ClusterSampler, partition
from tests.properties import assert_batch_is_valid

pytest.importorskip("pymetis")


def cliques(count: int, size: int) -> Graph:
    """Cliques in a ring, one edge between each and the next; node v belongs to clique v modulo ``count``."""
    inside = [(c + count * i, c + count * j) for c in range(count) for i in range(size) for j in range(i)]
    ring = [(c, (c + 1) % count + count) for c in range(count)]
    return Graph.from_edges(*np.array(inside + ring).T, count * size)


def test_parts_cut_few_edges_and_hold_every_node_once() -> None:
    graph = cliques(12, 8)
    parts = partition(graph, 12)
    assert sorted(np.concatenate(parts).tolist()) == list(range(96))
    found = [set((nodes % 12).tolist()) for nodes in parts]
    assert all(len(numbers) == 1 for numbers in found), "each part is a clique"


@pytest.mark.parametrize("direction", ["in", "out"])
def test_directed_graphs_and_isolated_nodes_are_cut_too(direction: str) -> None:
    ends = np.random.default_rng(0).integers(0, 40, (2, 100))
    graph = Graph.from_edges(*ends, 50, direction=direction)
    parts = partition(graph, 4)
    assert len(parts) == 4
    assert sorted(np.concatenate(parts).tolist()) == list(range(50))
    assert [nodes.tolist() for nodes in parts] == [nodes.tolist() for nodes in partition(graph, 4)]


@pytest.mark.parametrize("direction", ["both", "in", "directed"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_heavy_edges_stay_inside_parts(direction: str, scale: float) -> None:
    """A complete graph of four groups that differ in nothing but the weights of edges."""
    source, target = np.triu_indices(40, 1)
    weight = scale * np.where(source % 4 == target % 4, 20.0, 0.3)
    graph = Graph.from_edges(source, target, 40, direction=direction, weight=weight)
    parts = partition(graph, 4)
    assert sorted(np.concatenate(parts).tolist()) == list(range(40))
    assert all(len(set((nodes % 4).tolist())) == 1 for nodes in parts)


def test_more_parts_than_nodes_or_no_edges_at_all() -> None:
    assert sorted(np.concatenate(partition(Graph.from_edges([0, 1], [1, 2], 3), 100)).tolist()) == [0, 1, 2]
    assert [nodes.tolist() for nodes in partition(Graph.from_edges([], [], 3), 2)] == [[0, 1, 2]]


def test_a_pass_visits_every_target_once_in_an_order_of_its_own(small: Dataset) -> None:
    sampler = ClusterSampler(small.graph, 2, 7, 2)
    targets = small.split.train
    passes = [list(sampler.batches(targets, Key.of(seed), 5)) for seed in (0, 0, 1)]
    orders = [torch.cat([batch.targets for batch in batches]).tolist() for batches in passes]
    for batches, order in zip(passes, orders, strict=True):
        assert len(batches) == 4
        assert sorted(order) == targets.tolist()
        for batch in batches:
            assert_batch_is_valid(batch)
    assert orders[0] == orders[1] != orders[2]


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_are_the_induced_subgraph_normalised_anew(small: Dataset, weighted: bool) -> None:
    ends = small.graph.edges()
    graph = Graph.from_edges(*ends, 60, weight=1 + (ends[0] + ends[1]) % 5) if weighted else small.graph
    sampler = ClusterSampler(graph, 2, 6, 2, diagonal=0.5)
    adjacency = graph.matrix().toarray() + np.eye(60)
    for batch in sampler.batches(small.split.train, Key.of(0), 1):
        nodes = batch.nodes.numpy()
        inside = adjacency[np.ix_(nodes, nodes)].astype(float)
        mean = inside / inside.sum(axis=1, keepdims=True)
        expected = mean + 0.5 * np.diag(np.diag(mean))
        below, last = batch.blocks
        found = csr_array((below.weight, below.indices, below.indptr), shape=expected.shape).toarray()
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert last.indices.tolist() == below.indices[: last.indptr[-1]].tolist()


@pytest.mark.parametrize("weighted", [False, True])
def test_one_part_is_the_whole_graph_and_scores_agree(small: Dataset, weighted: bool) -> None:
    if weighted:
        ends = small.graph.edges()
        small = replace(small, graph=Graph.from_edges(*ends, 60, weight=1 + (ends[0] + ends[1]) % 5))
    whole = mggcn.fit(small, "cluster-gcn", settings={"parts": 1, "epochs": 3, "diagonal": 0.3})
    assert whole.record.epochs == 3
    model, compute = whole.model, whole.plan.compute(torch.device("cpu"))
    views = whole.plan.method.prepare(mggcn.methods.view_of(small, whole.scaler, model, Key.of(0), compute))
    (batch,) = views.train.sampler.batches(np.arange(60), Key.of(0), 10)
    (exact,) = views.eval.sampler.batches(batch.targets.numpy(), Key.of(0), 10)
    model.eval()
    one, two = (model(views.train.inputs.rows(each.nodes), each.blocks) for each in (batch, exact))
    torch.testing.assert_close(one, two)


def test_training_learns(small: Dataset) -> None:
    settings = {"parts": 6, "parts_per_batch": 2, "lr": 0.05, "epochs": 40}
    assert mggcn.fit(small, "cluster-gcn", settings=settings).record.test_accuracy > 0.6


def test_without_pymetis_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name == "pymetis":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"cluster-gcn needs pymetis: pip install 'mggcn\[cluster\]'"):
        partition(cliques(3, 3), 2)


@pytest.mark.parametrize(("name", "value"), [("parts", -1), ("diagonal", -0.1), ("parts_per_batch", 0)])
def test_settings_are_checked(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name}: {value}"):
        resolve("cluster-gcn", "cora", {name: value})
