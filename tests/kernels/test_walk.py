"""The walk kernel against the reference, bit for bit, and the reference's steps against node2vec's definition."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mggcn.graph import Graph
from mggcn.kernels._compiled import AnyInts
from mggcn.kernels.pick import PickTable
from mggcn.kernels.walk import END, walk
from mggcn.keys import Key
from tests.reference import walk as reference
from tests.reference.weights import weights_by_pair
from tests.strategies import graphs, weighted_graphs


def compare_on_cpu(graph: Graph, length: int, key: Key, *, p: float, q: float, by_weight: bool = False) -> None:
    """Compare a walk from every node."""
    starts = np.arange(graph.num_nodes)
    weights, sums = (weights_by_pair(graph), sums_of(graph)) if by_weight else (None, None)
    expected = reference.walk(graph, starts.tolist(), length, key, p, q, weights)
    np.testing.assert_array_equal(walk(graph, starts, length, key, p=p, q=q, sums=sums), expected)


def sums_of(graph: Graph) -> AnyInts:
    return PickTable.of(graph, by="weight").sums


BIASES = st.sampled_from([1e-12, 0.01, 0.25, 0.5, 1.0, 2.0, 50.0, 1e12])


@settings(max_examples=2 * settings().max_examples)
@given(graph=graphs(), length=st.integers(1, 9), p=BIASES, q=BIASES, seed=st.integers(0, 2**64 - 1))
def test_cpu_equals_reference(graph: Graph, length: int, p: float, q: float, seed: int) -> None:
    compare_on_cpu(graph, length, Key(seed), p=p, q=q)


@settings(max_examples=4 * settings().max_examples)
@given(graph=weighted_graphs(), length=st.integers(1, 9), p=BIASES, q=BIASES, seed=st.integers(0, 2**64 - 1))
def test_walks_by_weight_equal_the_reference(graph: Graph, length: int, p: float, q: float, seed: int) -> None:
    compare_on_cpu(graph, length, Key(seed), p=p, q=q, by_weight=True)


def random_graph(num_nodes: int, num_edges: int) -> Graph:
    ends = np.random.default_rng(num_edges).integers(0, num_nodes, (2, num_edges))
    return Graph.from_edges(*ends, num_nodes)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("by_weight", [False, True])
def test_any_number_of_threads_gives_the_same_walks(threads: int, by_weight: bool) -> None:
    graph, starts = random_graph(3_000, 12_000), np.tile(np.arange(3_000), 2)
    weights = np.random.default_rng(0).lognormal(0, 1, graph.num_stored)
    sums = sums_of(Graph.from_edges(*graph.edges(), 3_000, weight=weights)) if by_weight else None
    once = walk(graph, starts, 12, Key.of(3), p=0.5, q=2.0, sums=sums, threads=1)
    assert np.array_equal(walk(graph, starts, 12, Key.of(3), p=0.5, q=2.0, sums=sums, threads=threads), once)
    assert (once[:3_000] != once[3_000:]).any(axis=1).mean() > 0.9


def test_a_walk_follows_edges_and_ends_where_there_are_none() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], 4, direction="out")
    assert walk(graph, np.arange(4), 4, Key.of(0)).tolist() == [
        [0, 1, 2, END],
        [1, 2, END, END],
        [2, END, END, END],
        [3, END, END, END],
    ]


# Node 0 comes first, then 1: from there back to 0, to 2 and 3 (next to 0), or to 4, 5 and 6 (away from it).
EDGES = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (4, 5)]).T


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 4.0), (4.0, 0.5), (1000.0, 1.0), (1e-4, 1e-4)])
def test_steps_follow_node2vecs_definition(p: float, q: float) -> None:
    graph, count = Graph.from_edges(*EDGES, 7), 60_000
    walks = walk(graph, np.zeros(count, np.int64), 3, Key.of(1), p=p, q=q)
    first = Counter(walks[:, 1].tolist())
    seen = Counter(walks[walks[:, 1] == 1, 2].tolist())
    weights = {0: 1 / p, 2: 1.0, 3: 1.0, 4: 1 / q, 5: 1 / q, 6: 1 / q}
    assert set(seen) <= set(weights)
    for node in (1, 2, 3):
        assert first[node] / count == pytest.approx(1 / 3, abs=0.01)
    for node, weight in weights.items():
        assert seen[node] / first[1] == pytest.approx(weight / sum(weights.values()), abs=0.015)


def test_listing_is_exact_where_trials_run_out() -> None:
    """At a hub with a tiny p nearly every trial is rejected, so that listing decides."""
    hub = 200
    graph = Graph.from_edges([0] * hub, range(1, hub + 1), hub + 1)
    walks = walk(graph, np.ones(20_000, np.int64), 3, Key.of(2), p=1e-3, q=1.0)
    share = (walks[:, 2] == 1).mean()
    assert share == pytest.approx(1_000 / (1_000 + hub - 1), abs=0.015)


# The weights of EDGES; with a heavy edge away from node 0, nearly all trials are rejected if q is large.
EDGE_WEIGHTS = np.array([2.0, 0.5, 1.0, 4.0, 0.125, 8.0, 1.5, 0.25, 3.0])


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 4.0), (4.0, 0.5), (1e3, 1e3), (1e-4, 1e-4)])
def test_steps_by_weight_follow_node2vecs_definition(p: float, q: float) -> None:
    """Chi-square of the second step against bias times weight, and of the first against the weight alone."""
    graph, count = Graph.from_edges(*EDGES, 7, weight=EDGE_WEIGHTS), 60_000
    walks = walk(graph, np.zeros(count, np.int64), 3, Key.of(5), p=p, q=q, sums=sums_of(graph))
    biases = {0: 1 / p, 2: 1.0, 3: 1.0, 4: 1 / q, 5: 1 / q, 6: 1 / q}
    weights = {0: 2.0, 2: 4.0, 3: 0.125, 4: 8.0, 5: 1.5, 6: 0.25}
    assert_follows(walks[:, 1], {1: 2.0, 2: 0.5, 3: 1.0})
    assert_follows(walks[walks[:, 1] == 1, 2], {node: biases[node] * weights[node] for node in biases})


def assert_follows(nodes: AnyInts, weights: dict[int, float]) -> None:
    """Compare how often nodes occur with their weights; 5 deviations of chi-square are allowed."""
    counts, total, degrees = Counter(nodes.tolist()), sum(weights.values()), len(weights) - 1
    assert set(counts) <= set(weights)
    expected = {node: nodes.size * weight / total for node, weight in weights.items()}
    chi = sum((counts[node] - expected[node]) ** 2 / expected[node] for node in weights)
    assert chi < degrees + 5 * np.sqrt(2 * degrees)


def test_listing_by_weight_is_exact_where_trials_run_out() -> None:
    """Of the edges of a hub one that is rejected nearly always is much heavier than the others."""
    hub = 50
    weights = np.array([1e9, *np.arange(1, hub)], np.float64)
    graph = Graph.from_edges([0] * hub, range(1, hub + 1), hub + 1, weight=weights)
    walks = walk(graph, np.ones(60_000, np.int64), 3, Key.of(2), p=1e7, q=1.0, sums=sums_of(graph))
    bias = np.full(hub, 1.0)
    bias[0] = max(1, round((1 << 32) * 1e-7)) / (1 << 32)
    assert_follows(walks[:, 2], dict(zip(range(1, hub + 1), (bias * weights).tolist(), strict=True)))
