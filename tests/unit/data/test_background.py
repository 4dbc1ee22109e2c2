"""Unlabelled nodes drawn with the degrees of labelled ones."""

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from mggcn.data._background import draw_background
from mggcn.keys import Key, fold


def _draw(y: NDArray[np.int64], degrees: NDArray[np.int64], count: int, seed: int, **options: int) -> NDArray[np.int64]:
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    return draw_background(indptr, np.flatnonzero(y >= 0), count, seed, **options)


def test_degrees_are_distributed_like_those_of_labelled_nodes() -> None:
    rng = np.random.default_rng(0)
    degrees = np.concatenate([np.full(30, 100), np.full(10, 3), rng.choice([1, 3, 100], 3000)])
    y = np.where(np.arange(degrees.size) < 40, 0, -1)
    drawn = _draw(y, degrees, 200, seed=1)
    assert np.unique(degrees[drawn], return_counts=True)[0].tolist() == [3, 100]
    assert np.unique(degrees[drawn], return_counts=True)[1].tolist() == [50, 150]
    assert (y[drawn] == -1).all()
    assert np.unique(drawn).size == drawn.size
    assert np.array_equal(drawn, _draw(y, degrees, 200, seed=1))
    assert not np.array_equal(drawn, _draw(y, degrees, 200, seed=2))


def test_too_few_nodes_of_a_degree_are_all_drawn() -> None:
    degrees = np.array([8, 8, 1, 1, 9, 1, 1])
    y = np.array([0, 0, 0, 0, -1, -1, -1])
    assert _draw(y, degrees, 4, seed=0).tolist() == [4, 5, 6]


@pytest.mark.parametrize("block", [1, 7, 999, 1000])
def test_blocks_of_nodes_give_the_same_draw(block: int) -> None:
    rng = np.random.default_rng(3)
    degrees = rng.integers(0, 200, 1000)
    y = np.where(rng.random(1000) < 0.05, 1, -1)
    assert np.array_equal(_draw(y, degrees, 120, seed=4, block=block), _draw(y, degrees, 120, seed=4))


def test_the_smallest_hashes_of_similar_degree_are_drawn() -> None:
    degrees, y = np.arange(200) % 23, np.where(np.arange(200) % 9 == 0, 0, -1)
    key = Key.of(0).fold("draw").value
    labelled = Counter(int(degree).bit_length() for degree in degrees[y >= 0])
    expected, total, before = [], 0, 0
    for bits in sorted(labelled):
        total += labelled[bits]
        wanted = round(total / sum(labelled.values()) * 40) - before
        before += wanted
        pool = [node for node in range(200) if y[node] < 0 and int(degrees[node]).bit_length() == bits]
        expected += sorted(pool, key=lambda node: fold(key, node))[:wanted]
    drawn = _draw(y, degrees, 40, seed=0)
    assert drawn.tolist() == sorted(expected)


def test_nodes_stay_drawn_while_the_graph_grows() -> None:
    rng = np.random.default_rng(5)
    ids = np.sort(rng.permutation(10**6)[:4000]).astype("S8")
    degrees, y = rng.integers(1, 60, ids.size), np.where(rng.random(ids.size) < 0.05, 0, -1)
    is_old = (rng.random(ids.size) < 0.8) | (y >= 0)

    def drawn(kept: NDArray[np.bool_]) -> set[bytes]:
        indptr = np.concatenate([[0], np.cumsum(degrees[kept])])
        return set(ids[kept][draw_background(indptr, np.flatnonzero(y[kept] >= 0), 300, 7, ids[kept])].tolist())

    before, after = drawn(is_old), drawn(np.ones(ids.size, bool))
    assert len(before) == len(after) == 300
    assert after - before <= set(ids[~is_old].tolist()), "only new nodes take the place of others"
    assert 0.1 < len(after - before) / 300 < 0.3, "as many as there are new nodes, 20 %"
