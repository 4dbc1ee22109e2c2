"""Smoothing after training: the fast path equals the equation, and the share is chosen by the validation nodes."""

import numpy as np
import pytest

from mggcn.data._dataset import Dataset
from mggcn.graph import Graph
from mggcn.methods.plan import known_labels
from mggcn.sampling.adjacency import propagation
from mggcn.training import _smoothing as smoothing

ITERATIONS = 10


def reference(graph: Graph, start: np.ndarray, share: float) -> np.ndarray:
    """The equation, node by node: Z(v) = (1 - share) Z0(v) + share Σ Z(u) / sqrt(d(u) d(v)) over u in N(v) and v."""
    degree = [graph.row(node).size + 1 for node in range(graph.num_nodes)]
    z = start
    for _ in range(ITERATIONS):
        following = np.empty_like(z)
        for node in range(graph.num_nodes):
            received = sum(z[sender] / np.sqrt(degree[sender] * degree[node]) for sender in graph.row(node))
            following[node] = (1 - share) * start[node] + share * (received + z[node] / degree[node])
        z = following
    return z / z.sum(axis=1, keepdims=True)


@pytest.fixture
def start(small: Dataset) -> np.ndarray:
    probabilities = np.random.default_rng(3).dirichlet(np.ones(3), small.num_nodes)
    return smoothing.with_labels(probabilities, known_labels(small))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_fast_path_equals_the_equation(small: Dataset, start: np.ndarray, share: float, threads: int) -> None:
    found = smoothing.smoothed(propagation(small.graph), start, share, threads)
    np.testing.assert_allclose(found, reference(small.graph, start, share), rtol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.abs(found - start).max() > 0.01


def test_a_share_of_zero_and_isolated_nodes_change_nothing(small: Dataset, start: np.ndarray) -> None:
    adjacency = propagation(small.graph)
    assert smoothing.smoothed(adjacency, start, 0.0) is start
    isolated = np.flatnonzero(small.graph.degrees == 0)
    assert isolated.size
    np.testing.assert_allclose(smoothing.smoothed(adjacency, start, 0.5)[isolated], start[isolated], rtol=1e-5)


def test_labels_replace_the_probabilities_of_known_nodes_only() -> None:
    probabilities = np.array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])
    start = smoothing.with_labels(probabilities, np.array([0, -1, 1]))
    assert start.tolist() == [[1, 0], [0.6, 0.4], [0, 1]]
    assert probabilities[0].tolist() == [0.2, 0.8], "the argument is not changed"


def test_the_share_has_the_best_accuracy_then_the_lowest_loss(small: Dataset, start: np.ndarray) -> None:
    adjacency, val = propagation(small.graph), small.split.val
    chosen = smoothing.choose_share(adjacency, start, small.y, val)
    ranks = {}
    for share in smoothing.SHARES:
        p = smoothing.smoothed(adjacency, start, share)[val]
        loss = -np.log(p[np.arange(val.size), small.y[val]]).mean()
        ranks[share] = ((p.argmax(axis=1) == small.y[val]).mean(), -loss)
    assert ranks[chosen] == max(ranks.values())
    assert chosen > 0, "edges follow the classes of this graph, random scores do not"


def test_scores_that_are_right_are_left_alone(small: Dataset) -> None:
    sure = smoothing.with_labels(np.full((60, 3), 1 / 3), small.y)
    assert smoothing.choose_share(propagation(small.graph), sure, small.y, small.split.val) == 0
