"""Unlabelled nodes drawn with the degrees of labelled ones."""

import numpy as np
import pytest
from numpy.typing import NDArray

from mggcn.data._background import draw_background


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


def test_the_draw_is_that_of_earlier_versions() -> None:
    degrees, y = np.arange(200) % 23, np.where(np.arange(200) % 9 == 0, 0, -1)
    assert _draw(y, degrees, 8, seed=0).tolist() == [11, 13, 60, 97, 120, 132, 139, 157]
