"""Every back end of the pick kernel against the reference, bit for bit."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels._compiled import Ints
from mggcn.kernels.pick import Explore, PickBy, PickTable, RunningSums
from mggcn.keys import Key
from tests.gpu import GPU
from tests.properties import assert_picks_are_valid
from tests.reference import pick as reference
from tests.reference.weights import weights_by_pair
from tests.strategies import graphs, weighted_graphs


def compare_on_cpu(
    graph: Graph,
    picks: int,
    key: Key,
    *,
    explore: Explore = "both",
    by: PickBy | Ints = "degree",
    names: Ints | None = None,
) -> None:
    """Compare the picks of all nodes."""
    table = PickTable.of(graph, by=by, names=names)
    drawn = table.draw(np.arange(graph.num_nodes), picks, key, explore=explore)
    np.testing.assert_array_equal(drawn, _expected(table, by, picks, key, explore))


def compare_on_gpu(
    graph: Graph,
    picks: int,
    key: Key,
    device: torch.device,
    *,
    explore: Explore = "both",
    by: PickBy = "degree",
    names: Ints | None = None,
) -> None:
    """Compare the picks of all nodes."""
    table = PickTable.of(graph, by=by, names=names)
    drawn = table.on(device).draw(torch.arange(graph.num_nodes, device=device), picks, key, explore=explore)
    expected = _expected(table, by, picks, key, explore)
    np.testing.assert_array_equal(drawn.cpu().numpy(), expected)


def _expected(table: PickTable, by: PickBy | Ints, picks: int, key: Key, explore: Explore) -> Ints:
    names = None if table.names is None else table.names.tolist()
    targets = range(table.graph.num_nodes)
    return reference.pick(table.graph, weights_of(table.graph, by), targets, picks, key, explore, names)


def weights_of(graph: Graph, by: PickBy | Ints) -> reference.Weights:
    """What each neighbour weighs, counted in the units of the table."""
    if not isinstance(by, str):
        return by.tolist()
    if by != "weight" or graph.relations is None:
        return graph.degrees.tolist() if by == "degree" else [1] * graph.num_nodes
    return weights_by_pair(graph)


@settings(max_examples=14 * settings().max_examples)
@given(graph=graphs(), picks=st.integers(1, 8), seed=st.integers(0, 2**64 - 1))
def test_cpu_equals_reference_and_picks_are_valid(graph: Graph, picks: int, seed: int) -> None:
    drawn = PickTable.of(graph).draw(np.arange(graph.num_nodes), picks, Key(seed))
    assert_picks_are_valid(graph, drawn, picks)
    compare_on_cpu(graph, picks, Key(seed))
    compare_on_cpu(graph, picks, Key(seed), names=names_of(graph))


def names_of(graph: Graph) -> np.ndarray:
    return np.random.default_rng(5).integers(-(2**63), 2**63, graph.num_nodes)


def test_picks_do_not_depend_on_the_numbers_of_nodes_with_names() -> None:
    graph = power_law(400, 1_500)
    names = names_of(graph)
    source, target = graph.edges()
    moved = Graph.from_edges(source + 100, target + 100, 500)
    picks = PickTable.of(graph, names=names).draw(np.arange(400), 5, Key.of(3))
    of_moved = PickTable.of(moved, names=np.concatenate([np.arange(100), names]))
    assert np.array_equal(of_moved.draw(np.arange(100, 500), 5, Key.of(3)), picks + 100)
    of_moved_without_names = PickTable.of(moved).draw(np.arange(100, 500), 5, Key.of(3))
    assert not np.array_equal(of_moved_without_names, PickTable.of(graph).draw(np.arange(400), 5, Key.of(3)) + 100)


@settings(max_examples=4 * settings().max_examples)
@given(graph=graphs(), picks=st.integers(1, 8), seed=st.integers(0, 2**64 - 1))
@pytest.mark.parametrize("explore", ["breadth", "depth"])
def test_breadth_and_depth_equal_the_reference(graph: Graph, picks: int, seed: int, explore: Explore) -> None:
    targets = np.arange(graph.num_nodes)
    drawn = PickTable.of(graph, by="uniform", threads=1).draw(targets, picks, Key(seed), explore=explore, threads=1)
    compare_on_cpu(graph, picks, Key(seed), explore=explore, by="uniform")
    for row in drawn.tolist():
        found = [node for node in row[1:] if node != row[0]]
        open_members = [row[0]] * len(found) if explore == "breadth" else [row[0], *found][:-1]
        assert all(node in graph.row(member) for member, node in zip(open_members, found, strict=False))


def power_law(num_nodes: int, num_edges: int, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    ends = np.minimum((num_nodes * rng.random((2, num_edges)) ** 3).astype(np.int64), num_nodes - 1)
    return Graph.from_edges(ends[0], ends[1], num_nodes)


@pytest.mark.parametrize("by", ["degree", "weight"])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_number_of_threads_gives_the_same_picks(threads: int, by: PickBy) -> None:
    graph = power_law(5_000, 40_000) if by == "degree" else weighted(5_000, 40_000, "directed")
    targets = np.random.default_rng(1).permutation(5_000)
    table = PickTable.of(graph, by=by, threads=threads)
    once = PickTable.of(graph, by=by, threads=1).draw(targets, 5, Key.of(3), threads=1)
    assert np.array_equal(table.draw(targets, 5, Key.of(3), threads=threads), once)


def test_a_target_has_the_same_picks_in_any_company() -> None:
    graph = power_law(500, 4_000)
    table = PickTable.of(graph)
    together = table.draw(np.arange(500), 4, Key.of(9))
    alone = np.concatenate([table.draw(np.array([v]), 4, Key.of(9)) for v in range(500)])
    assert np.array_equal(together, alone)


@pytest.mark.parametrize("explore", ["both", "breadth", "depth"])
def test_targets_drawn_together_run_out_of_candidates_at_different_steps(explore: Explore) -> None:
    graph = power_law(300, 250)
    drawn = PickTable.of(graph).draw(np.arange(300), 6, Key.of(2), explore=explore)
    assert np.unique((drawn[:, 1:] != drawn[:, :1]).sum(axis=1)).size > 3
    compare_on_cpu(graph, 6, Key.of(2), explore=explore)


def test_seed_epoch_and_target_each_change_the_picks() -> None:
    table = PickTable.of(power_law(500, 8_000))
    targets = np.arange(500)
    draws = [table.draw(targets, 4, Key.of(seed).fold("picks", epoch)) for seed in (0, 1) for epoch in (0, 1)]
    for i, one in enumerate(draws):
        for other in draws[:i]:
            assert (one != other).any(axis=1).mean() > 0.5


def test_wide_sums_are_kept_in_64_bits() -> None:
    graph = power_law(50, 300)
    weights = np.full(50, 2**30, np.int64)
    table = PickTable.of(graph, by=weights)
    assert table.sums.dtype == np.int64
    compare_on_cpu(graph, 5, Key.of(0), by=weights)


def test_hub_with_a_long_row() -> None:
    graph = Graph.from_edges([0] * 20_000 + [1, 2], [*range(1, 20_001), 2, 3], 20_001)
    drawn = PickTable.of(graph).draw(np.arange(0, 20_001, 997), 6, Key.of(4))
    assert_picks_are_valid(graph, drawn, 6)


def test_isolated_nodes_have_no_picks() -> None:
    drawn = PickTable.of(Graph.from_edges([], [], 3)).draw(np.arange(3), 4, Key.of(0))
    assert drawn.tolist() == [[0] * 5, [1] * 5, [2] * 5]


def test_no_targets() -> None:
    assert PickTable.of(power_law(9, 20)).draw(np.empty(0, np.int64), 3, Key.of(0)).shape == (0, 4)


def test_fewer_than_one_pick_is_refused() -> None:
    with pytest.raises(InputError, match="picks: 0 is less than 1"):
        PickTable.of(power_law(9, 20)).draw(np.arange(3), 0, Key.of(0))


@pytest.mark.parametrize("explore", ["both", "breadth", "depth"])
@pytest.mark.parametrize("direction", ["both", "out"])
@pytest.mark.parametrize(("num_nodes", "num_edges", "picks"), [(1, 0, 2), (9, 30, 7), (33, 40, 4), (100, 600, 3)])
def test_gpu_equals_reference(direction: str, num_nodes: int, num_edges: int, picks: int, explore: Explore) -> None:
    ends = np.random.default_rng(num_edges).integers(0, num_nodes, (2, num_edges))
    graph = Graph.from_edges(*ends, num_nodes, direction=direction)
    compare_on_gpu(graph, picks, Key(2**64 - 5), GPU, explore=explore)
    compare_on_gpu(graph, picks, Key(2**64 - 5), GPU, explore=explore, names=names_of(graph))


def test_gpu_lists_candidates_when_trials_run_out() -> None:
    clique = [(i, j) for i in range(6) for j in range(i)]
    graph = Graph.from_edges(*np.array([*clique, (0, 6), (1, 7), (7, 8)]).T, 9)
    table = PickTable.of(graph)
    drawn = table.on(GPU).draw(torch.arange(2, 4, device=GPU), 7, Key.of(0))
    assert np.array_equal(drawn.cpu().numpy(), table.draw(np.arange(2, 4), 7, Key.of(0)))


@pytest.mark.parametrize("batch_size", [1, 7, 40, 64])
def test_gpu_lays_rows_out_batch_by_batch(batch_size: int) -> None:
    table = PickTable.of(power_law(40, 120))
    targets = np.random.default_rng(0).permutation(40)
    rows = table.on(GPU).draw_rows(torch.from_numpy(targets).to(GPU), 3, Key.of(1), batch_size).cpu().numpy()
    picks = table.draw(targets, 3, Key.of(1))
    expected = [picks[start : start + batch_size].T.reshape(-1) for start in range(0, 40, batch_size)]
    assert np.array_equal(rows, np.concatenate(expected))


def test_more_picks_than_sums_have_room_for_are_refused() -> None:
    with pytest.raises(InputError, match="picks: 4,097 are more than 4,096"):
        PickTable.of(power_law(9, 20)).draw(np.arange(3), 4097, Key.of(0))


@settings(max_examples=8 * settings().max_examples)
@given(graph=weighted_graphs(), picks=st.integers(1, 8), seed=st.integers(0, 2**64 - 1))
@pytest.mark.parametrize("explore", ["both", "breadth", "depth"])
def test_picks_by_weight_equal_the_reference(graph: Graph, picks: int, seed: int, explore: Explore) -> None:
    compare_on_cpu(graph, picks, Key(seed), explore=explore, by="weight")


def weighted(num_nodes: int, num_edges: int, direction: str, spread: float = 1.0) -> Graph:
    rng = np.random.default_rng(num_edges)
    ends = rng.integers(0, num_nodes, (2, num_edges))
    weight = rng.lognormal(sigma=spread, size=num_edges)
    return Graph.from_edges(*ends, num_nodes, direction=direction, weight=weight)


@pytest.mark.parametrize("explore", ["both", "breadth", "depth"])
@pytest.mark.parametrize("direction", ["both", "out", "directed"])
def test_gpu_picks_by_weight_equal_the_reference(direction: str, explore: Explore) -> None:
    compare_on_gpu(weighted(33, 60, direction), 4, Key(2**64 - 5), GPU, explore=explore, by="weight")


def test_gpu_lists_candidates_by_weight_when_trials_run_out() -> None:
    clique = np.array([(i, j) for i in range(6) for j in range(i)])
    graph = Graph.from_edges(*clique.T, 7, weight=np.arange(1, 16) / 7)
    table = PickTable.of(graph, by="weight")
    drawn = table.on(GPU).draw(torch.arange(2, 4, device=GPU), 5, Key.of(0))
    assert np.array_equal(drawn.cpu().numpy(), table.draw(np.arange(2, 4), 5, Key.of(0)))


def test_weights_of_one_give_uniform_picks_bit_for_bit() -> None:
    graph = power_law(400, 3_000)
    ones = Graph.from_edges(*graph.edges(), 400, weight=np.ones(graph.num_stored))
    by_weight = PickTable.of(ones, by="weight")
    assert by_weight.sums.dtype == np.int32
    uniform = PickTable.of(graph, by="uniform").draw(np.arange(400), 5, Key.of(1))
    assert np.array_equal(by_weight.draw(np.arange(400), 5, Key.of(1)), uniform)


def test_picks_by_weight_of_a_graph_without_weights_are_uniform() -> None:
    graph = power_law(400, 3_000)
    assert np.array_equal(PickTable.of(graph, by="weight").sums, PickTable.of(graph, by="uniform").sums)


@pytest.mark.parametrize("spread", [0.5, 3.0, 12.0])
def test_the_rounding_of_weights_is_within_its_bound(spread: float) -> None:
    graph = weighted(60, 900, "both", spread)
    running = RunningSums(graph, "weight")
    sums, unit = np.concatenate([*running]), 2.0**-running.exponent
    for node in range(60):
        bounds = slice(*graph.indptr[node : node + 2])
        weights, drawn = graph.neighbour_weights(node, node + 1).astype(np.float64), np.diff(sums[bounds], prepend=0)
        assert drawn.min() >= 1
        error = np.abs(drawn / drawn.sum() - weights / weights.sum())
        assert error.max() <= weights.size * unit / weights.sum() + 1e-15


def test_weights_below_the_unit_can_still_be_drawn() -> None:
    graph = Graph.from_edges([0, 2], [1, 3], 4, weight=[1e30, 1e-30])
    table = PickTable.of(graph, by="weight")
    assert table.draw(np.arange(4), 1, Key.of(0))[:, 1].tolist() == [1, 0, 3, 2]
