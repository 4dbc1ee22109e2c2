"""The rejection scheme draws from Algorithm 1's distribution, by chi-square over whole sequences."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from mggcn.graph import Graph
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from tests.paper.algorithm1 import sequences
from tests.reference import pick as reference

DRAWS = 20_000


def star() -> tuple[Graph, int, int]:
    return Graph.from_edges([0, 0, 0, 0, 1, 1], [1, 2, 3, 4, 5, 6], 7), 0, 3


def star_from_a_leaf() -> tuple[Graph, int, int]:
    return Graph.from_edges([0] * 6, range(1, 7), 7), 3, 3


def triangles() -> tuple[Graph, int, int]:
    return Graph.from_edges([0, 1, 2, 2, 3, 4, 4], [1, 2, 0, 3, 4, 2, 5], 6), 0, 4


def hub_beside_a_clique() -> tuple[Graph, int, int]:
    clique = [(i, j) for i in range(4) for j in range(i)]
    spokes = [(3, 4)] + [(4, leaf) for leaf in range(5, 9)]
    return Graph.from_edges(*np.array(clique + spokes).T, 9), 0, 3


def two_components() -> tuple[Graph, int, int]:
    return Graph.from_edges([0, 1, 2, 4, 5], [1, 2, 3, 5, 6], 7), 1, 5


def exhausted_clique_with_two_ways_out() -> tuple[Graph, int, int]:
    """After five picks nearly every trial is rejected, so the last one comes from the list of candidates."""
    clique = [(i, j) for i in range(6) for j in range(i)]
    ways_out = [(0, 6), (1, 7), (7, 8)]
    return Graph.from_edges(*np.array(clique + ways_out).T, 9), 2, 6


def directed() -> tuple[Graph, int, int]:
    return Graph.from_edges([0, 0, 1, 2, 2, 3, 1], [1, 2, 2, 3, 0, 4, 4], 5, direction="out"), 0, 3


CASES = [
    star,
    star_from_a_leaf,
    triangles,
    hub_beside_a_clique,
    two_components,
    exhausted_clique_with_two_ways_out,
    directed,
]


def assert_same_distribution(observed: Counter[tuple[int, ...]], expected: dict[tuple[int, ...], Fraction]) -> None:
    assert set(observed) <= set(expected), "a sequence that Algorithm 1 cannot return"
    total = observed.total()
    common = [s for s, p in expected.items() if p * total >= 5]
    rare = [s for s in expected if s not in set(common)]
    pairs = [(observed[s], float(expected[s]) * total) for s in common]
    if rare:
        pairs.append((sum(observed[s] for s in rare), float(sum(expected[s] for s in rare)) * total))
    statistic = sum((o - e) ** 2 / e for o, e in pairs)
    assert chi2.sf(statistic, len(pairs) - 1) > 1e-3 or len(pairs) == 1


@pytest.mark.parametrize("weighting", ["degree", "uniform"])
@pytest.mark.parametrize("case", CASES)
def test_kernel_draws_algorithm_1(case, weighting: str) -> None:
    graph, target, picks = case()
    weights = graph.degrees if weighting == "degree" else np.ones(graph.num_nodes, np.int64)
    table = PickTable.of(graph, by=weights)
    drawn = Counter(
        _trim(table.draw(np.array([target]), picks, Key.of(epoch), threads=1)[0].tolist()) for epoch in range(DRAWS)
    )
    assert_same_distribution(drawn, sequences(graph, weights.tolist(), target, picks))


@pytest.mark.parametrize("case", CASES)
def test_kernel_draws_by_weight(case) -> None:
    plain, target, picks = case()
    source, target_ends = plain.edges()
    weight = np.random.default_rng(3).integers(1, 9, source.size)
    graph = Graph.from_edges(source, target_ends, plain.num_nodes, direction=plain.direction, weight=weight)
    of_edges = graph.neighbour_weights().astype(int)
    weights = {
        pair: int(w) for pair, w in zip(zip(*map(np.ndarray.tolist, graph.edges()), strict=True), of_edges, strict=True)
    }
    table = PickTable.of(graph, by="weight")
    drawn = Counter(
        _trim(table.draw(np.array([target]), picks, Key.of(epoch), threads=1)[0].tolist()) for epoch in range(DRAWS)
    )
    assert_same_distribution(drawn, sequences(graph, weights, target, picks))


def test_reference_draws_algorithm_1() -> None:
    graph, target, picks = triangles()
    weights = graph.degrees.tolist()
    drawn = Counter(
        tuple(reference.pick_one(graph, weights, target, picks, Key.of(epoch))) for epoch in range(DRAWS // 4)
    )
    assert_same_distribution(drawn, sequences(graph, weights, target, picks))


def test_the_test_notices_uniform_draws() -> None:
    """The chi-square test has the power to tell degree-weighted picks from uniform ones."""
    graph, target, picks = star()
    table = PickTable.of(graph, by="uniform")
    drawn = Counter(_trim(table.draw(np.array([target]), picks, Key.of(e), threads=1)[0].tolist()) for e in range(2000))
    with pytest.raises(AssertionError):
        assert_same_distribution(drawn, sequences(graph, graph.degrees.tolist(), target, picks))


def test_targets_and_epochs_are_independent() -> None:
    """Two targets with the same neighbourhood agree in their first pick no more often than chance says."""
    graph = Graph.from_edges([0, 0, 0, 1, 1, 1], [2, 3, 4, 2, 3, 4], 5)
    table = PickTable.of(graph)
    first = np.array([table.draw(np.array([0, 1]), 1, Key.of(7).fold(e), threads=1)[:, 1] for e in range(DRAWS)])
    assert abs((first[:, 0] == first[:, 1]).mean() - 1 / 3) < 0.015
    assert abs((first[1:, 0] == first[:-1, 0]).mean() - 1 / 3) < 0.015


def _trim(row: list[int]) -> tuple[int, ...]:
    return (row[0], *(node for node in row[1:] if node != row[0]))
