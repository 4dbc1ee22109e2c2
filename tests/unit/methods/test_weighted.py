"""Weights of edges in every method that uses them, against dense matrices; weights of 1 change no bit."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.methods import METHODS, method_class
from mggcn.methods.label_propagation import spread
from mggcn.runs import resolve
from mggcn.sampling.adjacency import unequal_weights
from mggcn.sampling.neighbor import NeighborSampler
from mggcn.training._compute import Compute
from mggcn.training._inference import Inference
from tests.conftest import small_dataset
from tests.methods import SMALL_SETTINGS

CPU = Compute(torch.device("cpu"))
SETTINGS: dict[str, dict[str, object]] = {
    **SMALL_SETTINGS,
    "graphsage-mean whole": {"full_eval": True},
    **{f"{name} by weight": {"draw_by": "weight", "fanouts": "2"} for name in METHODS if "graphsage" in name},
}
WEIGHTED = [name for name in SETTINGS if method_class(name.partition(" ")[0]).reads_edges]


def edges_once(dataset: Dataset) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    source, target = dataset.graph.edges()
    return source[source < target], target[source < target]


def with_weights(dataset: Dataset, kind: str, direction: str = "both") -> Dataset:
    """The data set with weights of 1, or with whole numbers or fractions that differ."""
    source, target = edges_once(dataset)
    rng = np.random.default_rng(11)
    weight = {
        "ones": np.ones(source.size),
        "whole": rng.integers(1, 9, source.size),
        "fractions": rng.lognormal(0, 2, source.size),
    }[kind]
    graph = Graph.from_edges(source, target, dataset.num_nodes, weight=weight, direction=direction)
    return replace(dataset, graph=graph)


def dense(graph: Graph) -> NDArray[np.float64]:
    """[num_nodes, num_nodes] the weights, read row by row."""
    matrix = np.zeros((graph.num_nodes, graph.num_nodes))
    for node in range(graph.num_nodes):
        found = graph.relations_of(node)
        for neighbour, weight in zip(found.indices.tolist(), found.weights().tolist(), strict=True):
            matrix[node, neighbour] += weight
    return matrix


def repeated(dataset: Dataset) -> NDArray[np.float64]:
    """[num_nodes, num_nodes] how often each edge occurs if one of weight w is repeated w times."""
    matrix, graph = np.zeros((dataset.num_nodes,) * 2), dataset.graph
    weights = graph.neighbour_weights()
    for row, column, weight in zip(*graph.edges(), weights.tolist(), strict=True):
        for _ in range(int(weight)):
            matrix[row, column] += 1
    return matrix


def normalised(adjacency: NDArray[np.float64], kind: str) -> NDArray[np.float64]:
    """D^-½ (A + I) D^-½, or D^-1 (A + I)."""
    loops = adjacency + np.eye(len(adjacency))
    degree = loops.sum(axis=1)
    return loops / degree[:, None] if kind == "row" else loops / np.sqrt(np.outer(degree, degree))


def fitted(dataset: Dataset, name: str) -> mggcn.Run:
    settings = {"epochs": 3, "patience": 3, "batch_size": 8, "lr": 0.05, **SETTINGS[name]}
    return mggcn.fit(dataset, name.partition(" ")[0], settings=settings, seed=1, device="cpu")


def same(one: mggcn.Run, other: mggcn.Run) -> bool:
    states: list[Mapping[str, torch.Tensor]] = [run.model.state_dict() for run in (one, other)]
    is_weights = all(torch.equal(states[0][key], states[1][key]) for key in states[0] if key != "checksum")
    probabilities = [run.predict(device="cpu").probabilities for run in (one, other)]
    return is_weights and np.array_equal(*probabilities)


@pytest.mark.filterwarnings("ignore:small. graphsage-.* does not use the weights")
@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_of_one_change_no_bit_and_others_do(small: Dataset, name: str) -> None:
    plain = fitted(small, name)
    assert same(plain, fitted(with_weights(small, "ones"), name))
    if name not in ("graphsage-pool", "graphsage-lstm"):
        assert not same(plain, fitted(with_weights(small, "fractions"), name))


@pytest.mark.parametrize("kind", ["whole", "fractions"])
@pytest.mark.parametrize("direction", ["both", "directed"])
@pytest.mark.parametrize("include_self", [False, True])
def test_means_of_drawn_neighbours_are_weighted(kind: str, direction: str, include_self: bool) -> None:
    data = with_weights(small_dataset(), kind, direction)
    matrix = repeated(data) if kind == "whole" else dense(data.graph)
    weights = matrix + np.eye(60) * include_self
    for fanout in (2, 99):
        batch = NeighborSampler(data.graph, (fanout,), include_self, weigh=True).batch(np.arange(60), Key.of(0))
        (block,) = batch.blocks
        senders = batch.nodes.numpy()[block.indices.numpy()]
        for node in range(60):
            part = slice(*block.indptr[node : node + 2].tolist())
            assert senders[part].size == min(fanout, np.count_nonzero(matrix[node])) + include_self
            expected = weights[node, senders[part]] / max(weights[node, senders[part]].sum(), 1e-9)
            np.testing.assert_allclose(block.weight[part], expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["graphsage-mean", "graphsage-gcn", "mg-graphsage"])
def test_whole_neighbourhoods_are_weighted_as_what_a_large_fan_out_draws(small: Dataset, name: str) -> None:
    data, nodes = with_weights(small, "fractions"), np.arange(60)
    plans = [resolve(name, "small", {"fanouts": "99", "full_eval": full}) for full in (False, True)]
    methods = [plan.prepare(data, Key.of(1), CPU) for plan in plans]
    scores = [Inference(method.model, method.eval, Key.of(0), CPU).predict(nodes) for method in methods]
    torch.testing.assert_close(*scores, rtol=1e-5, atol=1e-5)


def test_means_of_neighbours_drawn_by_weight_are_plain(small: Dataset) -> None:
    data = with_weights(small, "fractions")
    prepared = resolve("graphsage-mean", "small", {"draw_by": "weight"}).prepare(data, Key.of(1), CPU)
    (batch,) = prepared.train.sampler.batches(np.arange(60), Key.of(0), 60)
    assert all(block.weight is None for block in batch.blocks)


def test_weights_that_are_all_one_are_none(small: Dataset) -> None:
    assert unequal_weights(small.graph) is None
    assert unequal_weights(with_weights(small, "ones").graph) is None
    once = with_weights(small, "ones", "directed").graph
    assert unequal_weights(once) is None
    both_ways = Graph.from_edges([0, 1, 1], [1, 0, 2], 3, direction="directed")
    assert unequal_weights(both_ways).tolist() == [2, 2, 1, 1]


@pytest.mark.parametrize("kind", ["whole", "fractions"])
@pytest.mark.parametrize("direction", ["both", "directed"])
@pytest.mark.parametrize(
    ("name", "normalisation"),
    [
        ("gcn", "symmetric"),
        ("gcn full", "symmetric"),
        ("fastgcn over all nodes", "symmetric"),
        ("fastgcn", "symmetric"),
        ("mg-fastgcn", "symmetric"),
        ("vr-gcn", "symmetric"),
        ("as-gcn", "symmetric"),
        ("ladies", "row"),
        ("graphsaint", "row"),
        ("cluster-gcn", "row"),
    ],
)
def test_nodes_are_scored_with_the_dense_matrix(
    small: Dataset, name: str, normalisation: str, kind: str, direction: str
) -> None:
    data = with_weights(small, kind, direction)
    plan = resolve(name.partition(" ")[0], "small", SETTINGS[name])
    adjacency = plan.prepare(data, Key.of(0), CPU).eval.sampler.adjacency
    matrix = repeated(data) if kind == "whole" else dense(data.graph)
    np.testing.assert_allclose(adjacency.toarray(), normalised(matrix, normalisation), rtol=1e-5)


@pytest.mark.parametrize("kind", ["whole", "fractions"])
@pytest.mark.parametrize(
    ("name", "powers", "normalisation"),
    [
        ("sgc", [2], "symmetric"),
        ("sign", [0, 1, 2], "symmetric"),
        ("sagn", [0, 1, 2, 3], "row"),
        ("gamlp", [0, 1, 2, 3, 4, 5], "symmetric"),
        ("fastgcn", [1], "symmetric"),
        ("vr-gcn", [1], "symmetric"),
    ],
)
def test_features_are_summed_by_the_dense_matrix(
    small: Dataset, name: str, powers: list[int], normalisation: str, kind: str
) -> None:
    data = with_weights(small, kind)
    prepared = resolve(name, "small", {"scaling": "none"}).prepare(data, Key.of(0), CPU)
    matrix = normalised(repeated(data) if kind == "whole" else dense(data.graph), normalisation)
    expected = np.hstack([np.linalg.matrix_power(matrix, power) @ data.x for power in powers])
    found = prepared.eval.inputs.rows(torch.arange(data.num_nodes))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["whole", "fractions"])
def test_gcn_scores_by_the_equations(small: Dataset, kind: str) -> None:
    data = with_weights(small, kind)
    run = mggcn.fit(data, "gcn", settings={"epochs": 2, "scaling": "none"}, device="cpu")
    matrix, h = normalised(dense(data.graph), "symmetric"), data.x.astype(np.float64)
    for number, conv in enumerate(run.model.convs):
        weight, bias = (tensor.detach().numpy() for tensor in (conv.linear.weight, conv.bias))
        h = matrix @ (np.maximum(h, 0) if number else h) @ weight + bias
    expected = np.exp(h) / np.exp(h).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(run.predict(calibrated=False).probabilities, expected, rtol=1e-4)


@pytest.mark.parametrize("kind", ["whole", "fractions"])
@pytest.mark.parametrize("direction", ["both", "directed", "in"])
def test_labels_spread_by_weight(kind: str, direction: str) -> None:
    data = with_weights(small_dataset(), kind, direction)
    known = np.where(np.isin(np.arange(60), data.split.train), data.y, -1)
    matrix = repeated(data) if kind == "whole" else dense(data.graph)
    degree = matrix.sum(axis=1) + (matrix.sum(axis=0) if direction == "in" else 0)
    scale = np.where(degree > 0, degree, 1) ** -0.5
    y, scores = np.eye(3)[data.y] * (known >= 0)[:, None], np.zeros((60, 3))
    scores += y
    for _ in range(7):
        scores = 0.8 * (scale[:, None] * matrix * scale) @ scores + 0.2 * y
    reached = scores.sum(axis=1) > 1e-4
    expected = scores[reached] / scores[reached].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(spread(data.graph, known, 3, 0.8, 7)[reached], expected, atol=1e-4)
