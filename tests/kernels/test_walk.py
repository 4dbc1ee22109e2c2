"""The walk kernel against the reference, bit for bit, and the reference's steps against node2vec's definition."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mggcn.graph import Graph
from mggcn.kernels.walk import END, walk
from mggcn.keys import Key
from tests.reference import walk as reference
from tests.strategies import graphs


def compare_on_cpu(graph: Graph, length: int, key: Key, *, p: float, q: float) -> None:
    """Compare a walk from every node."""
    starts = np.arange(graph.num_nodes)
    expected = reference.walk(graph, starts.tolist(), length, key, p, q)
    np.testing.assert_array_equal(walk(graph, starts, length, key, p=p, q=q), expected)


BIASES = st.sampled_from([1e-12, 0.01, 0.25, 0.5, 1.0, 2.0, 50.0, 1e12])


@settings(max_examples=2 * settings().max_examples)
@given(graph=graphs(), length=st.integers(1, 9), p=BIASES, q=BIASES, seed=st.integers(0, 2**64 - 1))
def test_cpu_equals_reference(graph: Graph, length: int, p: float, q: float, seed: int) -> None:
    compare_on_cpu(graph, length, Key(seed), p=p, q=q)


def random_graph(num_nodes: int, num_edges: int) -> Graph:
    ends = np.random.default_rng(num_edges).integers(0, num_nodes, (2, num_edges))
    return Graph.from_edges(*ends, num_nodes)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_gives_the_same_walks(threads: int) -> None:
    graph, starts = random_graph(3_000, 12_000), np.tile(np.arange(3_000), 2)
    once = walk(graph, starts, 12, Key.of(3), p=0.5, q=2.0, threads=1)
    assert np.array_equal(walk(graph, starts, 12, Key.of(3), p=0.5, q=2.0, threads=threads), once)
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
