"""Differences of accuracies in pairs of runs, and whether they can be chance."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mggcn.experiments._paired import Difference, difference, paired
from mggcn.training import packed_bits
from tests.records import record
from tests.reference import paired as reference

Right = NDArray[np.bool_]


def runs(*, seeds: int, nodes: int, of_nodes: float, of_seeds: float, noise: float, gain: float = 0.0) -> Any:
    """Functions that draw a pair of methods whose rates differ by node and seed; ``gain`` is the first's advantage."""

    def draw(generator: np.random.Generator) -> tuple[Right, Right]:
        rates = generator.uniform(0.3, 0.9, nodes)
        pair = []
        for advantage in (gain, 0.0):
            rate = rates + of_nodes * generator.choice([-1, 1], nodes) + of_seeds * generator.normal(size=(seeds, 1))
            threshold = generator.random((seeds, nodes)) if noise else generator.random(nodes)
            pair.append(np.broadcast_to(threshold < rate + advantage, (seeds, nodes)))
        return pair[0], pair[1]

    return draw


def test_the_variances_are_the_references() -> None:
    generator = np.random.default_rng(0)
    one, other = generator.random((4, 37)) < 0.8, generator.random((4, 37)) < 0.6
    of_nodes, of_seeds, of_both = reference.variances(one, other)
    found = paired([(one, other)])
    of_nodes += 1 / 37**2
    variance = of_nodes + max(of_seeds - of_both, 0)
    assert found.mean == pytest.approx(one.mean() - other.mean())
    assert found.error == pytest.approx(math.sqrt(variance))
    assert found.freedom == pytest.approx(3 * (variance / of_seeds) ** 2)
    assert (found.seeds, found.splits, found.nodes) == (4, 1, 37)
    low, high = found.interval()
    assert (low + high) / 2 == pytest.approx(found.mean)
    assert found.p == pytest.approx(2 * stats.t.cdf(-abs(found.mean) / found.error, found.freedom))


def test_without_differences_between_seeds_it_is_the_bootstrap_over_nodes() -> None:
    one, other = (np.tile(np.random.default_rng(seed).random(500) < 0.8, (3, 1)) for seed in (0, 1))
    found = paired([(one, other)])
    assert found.error == pytest.approx(reference.error_of_nodes(one, other), rel=0.02)
    assert math.isinf(found.freedom)


def test_equal_runs_do_not_differ() -> None:
    right = np.random.default_rng(0).random((3, 50)) < 0.8
    found = paired([(right, right)])
    assert (found.mean, found.p, found.mcnemar) == (0, 1, 1)


def test_five_percent_more_of_the_nodes_is_a_difference() -> None:
    one = np.random.default_rng(0).random((3, 1000)) < 0.8
    other = one.copy()
    other[:, np.flatnonzero(one.all(axis=0))[:50]] = False
    found = paired([(one, other)])
    low, high = found.interval()
    assert found.mean == pytest.approx(0.05)
    assert 0.03 < low < high < 0.07
    assert found.p < 1e-9
    assert found.mcnemar == 2 * 0.5**50


def test_a_few_nodes_are_no_proof() -> None:
    one = np.ones((3, 1000), bool)
    for count, is_proof in ((4, False), (20, True)):
        other = one.copy()
        other[:, :count] = False
        assert (paired([(one, other)]).p < 0.05) == is_proof
        assert (paired([(one, other)]).mcnemar < 0.05) == is_proof


def test_equal_signs_of_three_seeds_are_no_proof() -> None:
    one = np.zeros((3, 100_000), bool)
    for seed, count in enumerate((100, 200, 900)):
        one[seed, :count] = True
    assert paired([(one, np.zeros_like(one))]).p > 0.05


@pytest.mark.parametrize(
    "scene",
    [
        runs(seeds=3, nodes=300, of_nodes=0.1, of_seeds=0, noise=1),
        runs(seeds=3, nodes=300, of_nodes=0.1, of_seeds=0, noise=0),
        runs(seeds=3, nodes=300, of_nodes=0.0, of_seeds=0.1, noise=1),
        runs(seeds=3, nodes=300, of_nodes=0.1, of_seeds=0.05, noise=1),
        runs(seeds=5, nodes=300, of_nodes=0.0, of_seeds=0.02, noise=1),
        runs(seeds=20, nodes=300, of_nodes=0.0, of_seeds=0.03, noise=1),
    ],
    ids=["noise of nodes", "equal seeds", "seeds differ", "nodes and seeds differ", "five seeds", "twenty seeds"],
)
def test_chance_is_called_a_difference_about_five_times_in_a_hundred(scene: Any) -> None:
    generator = np.random.default_rng(0)
    found = [paired([scene(generator)]) for _ in range(1000)]
    assert 0.015 < np.mean([one.p < 0.05 for one in found]) < 0.075


def test_a_true_difference_is_in_its_interval() -> None:
    generator = np.random.default_rng(0)
    scene = runs(seeds=5, nodes=500, of_nodes=0.1, of_seeds=0.02, noise=1, gain=0.05)
    found = [paired([scene(generator)]).interval() for _ in range(300)]
    assert np.mean([low < 0.05 < high for low, high in found]) > 0.92
    assert np.mean([low > 0 for low, _ in found]) > 0.3


def test_splits_count_as_runs() -> None:
    generator = np.random.default_rng(0)
    found = []
    for _ in range(300):
        population = generator.random((2, 1000)) < 0.75
        splits = []
        for _ in range(5):
            nodes = generator.permutation(1000)[:200]
            rates = np.where(population[:, None, nodes], 0.95, 0.05) + generator.normal(0, 0.02, (2, 3, 1))
            one, other = generator.random((2, 3, 200)) < rates
            splits.append((one, other))
        found.append(paired(splits, shared=0.2))
    assert 0.015 < np.mean([each.p < 0.05 for each in found]) < 0.075
    assert (found[0].seeds, found[0].splits, found[0].nodes) == (3, 5, 1000)


def test_more_shared_nodes_are_less_evidence() -> None:
    generator = np.random.default_rng(0)
    splits = [(generator.random((2, 200)) < 0.8, generator.random((2, 200)) < 0.75) for _ in range(4)]
    errors = [paired(splits, shared).error for shared in (0.0, 0.2, 1.0)]
    assert errors == sorted(errors)
    assert errors[0] < 0.8 * errors[2]


def run(seed: int, right: list[int] | None, split_seed: int | None = None, digest: str = "d", **changes: Any) -> Any:
    bits = np.array(right or [], bool)
    hits = int(bits.sum())
    return record(
        seed=seed,
        split_seed=split_seed,
        dataset={"name": "x", "digest": digest, "split": [2, 1, bits.size]},
        test_confusion=[[hits, bits.size - hits], [0, 0]],
        test_right=None if right is None else packed_bits(bits),
        **changes,
    )


def test_records_are_paired_in_the_order_of_their_seeds() -> None:
    one = [run(7, [1, 1, 1, 0]), run(3, [1, 1, 0, 0]), run(9, [1, 1, 1, 1]), run(8, [0, 0, 0, 1])]
    other = [run(0, [0, 1, 0, 0]), run(1, [1, 1, 1, 0]), run(2, [0, 1, 1, 0])]
    found = difference(one, other)
    assert isinstance(found, Difference)
    ours = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1]]) > 0
    assert found == paired([(ours, np.array([[0, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0]]) > 0)])
    assert difference(one, [other[0], run(1, None), other[2]]) is None
    assert difference(one, [replace(each, dataset={"name": "x", "digest": "e"}) for each in other]) is None
    unknown = [run(seed, [1, 0], digest="") for seed in range(3)]
    assert difference(unknown, unknown) is None
    assert difference(one[:2], other) is None, "two pairs say too little of other seeds"


def test_records_of_several_splits() -> None:
    one = [run(0, [1, 1, 1, 0], split_seed=split, digest=f"d{split}") for split in (0, 1, 2)]
    other = [run(0, [0, 1, 1, 0], split_seed=split, digest=f"d{split}") for split in (1, 0, 2, 3)]
    found = difference(one, other)
    assert found is not None
    assert (found.mean, found.seeds, found.splits, found.nodes) == (0.25, 1, 3, 12)
    pair = (np.array([[1, 1, 1, 0]]) > 0, np.array([[0, 1, 1, 0]]) > 0)
    assert found == paired([pair, pair, pair], shared=4 / 7)
    assert difference(one[:2], other) is None
