"""The neighbour kernel against the reference, bit for bit; draws against their distributions, by statistics."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels._compiled import Ints
from mggcn.kernels.neighbors import draw_neighbours
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from tests.reference import neighbors as reference
from tests.reference.weights import weights_by_pair
from tests.strategies import graphs, weighted_graphs


def compare_on_cpu(
    graph: Graph, receivers: Ints, fanout: int, key: Key, *, include_self: bool, names: Ints | None = None
) -> None:
    """Compare the neighbours drawn for every receiver, bit for bit."""
    indptr, senders = draw_neighbours(graph, receivers, fanout, key, include_self=include_self, names=names)
    drawn = reference.draw(graph, receivers.tolist(), fanout, key, None if names is None else names.tolist())
    expected = [[node] * include_self + row for node, row in zip(receivers.tolist(), drawn, strict=True)]
    np.testing.assert_array_equal(np.diff(indptr), [len(row) for row in expected])
    np.testing.assert_array_equal(senders, [sender for row in expected for sender in row])


def rows(indptr: np.ndarray, senders: np.ndarray) -> list[list[int]]:
    return [part.tolist() for part in np.split(senders, indptr[1:-1])] if indptr.size > 1 else []


@settings(max_examples=2 * settings().max_examples)
@given(graph=graphs(), fanout=st.integers(1, 9), seed=st.integers(0, 2**64 - 1), include_self=st.booleans())
def test_cpu_equals_reference(graph: Graph, fanout: int, seed: int, include_self: bool) -> None:
    compare_on_cpu(graph, np.arange(graph.num_nodes), fanout, Key(seed), include_self=include_self)
    names = np.random.default_rng(seed).integers(-(2**63), 2**63, graph.num_nodes)
    compare_on_cpu(graph, np.arange(graph.num_nodes), fanout, Key(seed), include_self=include_self, names=names)


def test_draws_are_distinct_neighbours_as_many_as_there_are() -> None:
    graph = hub_and_ring(40)
    for v, row in enumerate(rows(*draw_neighbours(graph, np.arange(41), 7, Key.of(1)))):
        assert len(set(row)) == len(row) == min(7, graph.row(v).size)
        assert set(row) <= set(graph.row(v).tolist())


def hub_and_ring(size: int) -> Graph:
    ring = np.arange(1, size + 1)
    return Graph.from_edges(
        np.concatenate([np.zeros(size, np.int64), ring]), np.concatenate([ring, np.roll(ring, 1)]), size + 1
    )


def test_long_rows_equal_the_reference() -> None:
    graph = hub_and_ring(5_000)
    for fanout in (1, 25, 300, 4_999, 5_000, 6_000):
        compare_on_cpu(graph, np.array([0]), fanout, Key.of(fanout), include_self=False)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_any_number_of_threads_gives_the_same_neighbours(threads: int) -> None:
    graph = hub_and_ring(20_000)
    nodes = np.random.default_rng(0).permutation(20_001)
    once = draw_neighbours(graph, nodes, 2, Key.of(3), threads=1)
    many = draw_neighbours(graph, nodes, 2, Key.of(3), threads=threads)
    assert all(np.array_equal(a, b) for a, b in zip(once, many, strict=True))


def test_every_ordered_choice_is_equally_likely() -> None:
    """Chi-square over the 60 ordered choices of 3 out of 5; its mean is 59 and its deviation 10.9."""
    graph, trials = Graph.from_edges([0] * 5, [1, 2, 3, 4, 5], 6), 30_000
    counts = Counter(
        tuple(draw_neighbours(graph, np.array([0]), 3, Key.of(seed), threads=1)[1].tolist()) for seed in range(trials)
    )
    expected = trials / 60
    chi = sum((counts[c] - expected) ** 2 / expected for c in itertools.permutations(range(1, 6), 3))
    assert sum(counts.values()) == trials
    assert abs(chi - 59) < 5 * np.sqrt(2 * 59)


def test_the_neighbours_of_a_hub_are_equally_likely() -> None:
    graph, trials, fanout, size = hub_and_ring(100), 4_000, 10, 100
    counts = np.zeros(size + 1)
    for seed in range(trials):
        counts[draw_neighbours(graph, np.array([0]), fanout, Key.of(seed), threads=1)[1]] += 1
    share = fanout / size
    deviation = np.sqrt(trials * share * (1 - share))
    assert np.abs(counts[1:] - trials * share).max() < 5 * deviation


def compare_by_weight(
    graph: Graph, receivers: Ints, fanout: int, key: Key, *, include_self: bool = False, names: Ints | None = None
) -> None:
    """Compare the neighbours drawn by weight for every receiver, bit for bit."""
    sums = PickTable.of(graph, by="weight").sums
    options = {"include_self": include_self, "names": names, "sums": sums}
    weights, listed = weights_by_pair(graph), None if names is None else names.tolist()
    drawn = reference.draw_by_weight(graph, weights, receivers.tolist(), fanout, key, listed)
    expected = [[node] * include_self + row for node, row in zip(receivers.tolist(), drawn, strict=True)]
    assert rows(*draw_neighbours(graph, receivers, fanout, key, **options)) == expected


@settings(max_examples=4 * settings().max_examples)
@given(graph=weighted_graphs(), fanout=st.integers(1, 9), seed=st.integers(0, 2**64 - 1), include_self=st.booleans())
def test_draws_by_weight_equal_the_reference(graph: Graph, fanout: int, seed: int, include_self: bool) -> None:
    names = np.random.default_rng(seed).integers(-(2**63), 2**63, graph.num_nodes)
    for each in (None, names):
        compare_by_weight(graph, np.arange(graph.num_nodes), fanout, Key(seed), include_self=include_self, names=each)


def heavy_hub(size: int, spread: float = 3.0) -> Graph:
    """A hub whose edges have very different weights, with a ring around it."""
    plain, rng = hub_and_ring(size), np.random.default_rng(size)
    source, target = plain.edges()
    once = source < target
    return Graph.from_edges(
        source[once], target[once], size + 1, weight=rng.lognormal(0, spread, np.count_nonzero(once))
    )


@pytest.mark.parametrize("spread", [1.0, 12.0])
def test_draws_by_weight_from_long_rows_equal_the_reference(spread: float) -> None:
    graph = heavy_hub(700, spread)
    for fanout in (1, 25, 300, 699, 700, 800):
        compare_by_weight(graph, np.array([0]), fanout, Key.of(fanout))


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_any_number_of_threads_draws_the_same_by_weight(threads: int) -> None:
    graph = heavy_hub(20_000)
    nodes, sums = np.random.default_rng(0).permutation(20_001), PickTable.of(graph, by="weight").sums
    once = draw_neighbours(graph, nodes, 2, Key.of(3), sums=sums, threads=1)
    many = draw_neighbours(graph, nodes, 2, Key.of(3), sums=sums, threads=threads)
    assert all(np.array_equal(a, b) for a, b in zip(once, many, strict=True))


def test_ordered_choices_follow_the_weights() -> None:
    """Chi-square over the 60 ordered choices of 3 out of 5 with the probabilities written out."""
    weights, trials = dict(zip(range(1, 6), (1.0, 0.5, 4.0, 2.0, 0.25), strict=True)), 40_000
    graph = Graph.from_edges([0] * 5, [*weights], 6, weight=[*weights.values()])
    sums = PickTable.of(graph, by="weight").sums
    counts = Counter(
        tuple(draw_neighbours(graph, np.array([0]), 3, Key.of(seed), sums=sums, threads=1)[1].tolist())
        for seed in range(trials)
    )
    chi, total = 0.0, sum(weights.values())
    for a, b, c in itertools.permutations(weights, 3):
        first, second = weights[a] / total, weights[b] / (total - weights[a])
        expected = trials * first * second * weights[c] / (total - weights[a] - weights[b])
        chi += (counts[a, b, c] - expected) ** 2 / expected
    assert sum(counts.values()) == trials
    assert abs(chi - 59) < 5 * np.sqrt(2 * 59)


def test_nothing_to_draw() -> None:
    graph = Graph.from_edges([], [], 3)
    indptr, senders = draw_neighbours(graph, np.arange(3), 4, Key.of(0))
    assert indptr.tolist() == [0, 0, 0, 0]
    assert senders.size == 0
    assert draw_neighbours(graph, np.arange(3), 4, Key.of(0), include_self=True)[1].tolist() == [0, 1, 2]
    assert draw_neighbours(graph, np.empty(0, np.int64), 4, Key.of(0))[0].tolist() == [0]


def test_a_fan_out_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="fanout: 0 is less than 1"):
        draw_neighbours(hub_and_ring(4), np.arange(3), 0, Key.of(0))
