"""Enumeration draws from the same distribution as the kernel, or the comparison would mean nothing."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from benchmarks.speed.pick import draw_by_listing, draw_by_search
from mggcn.graph import Graph
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key

LISTINGS = [draw_by_listing, partial(draw_by_listing, keep=True), draw_by_search]


@pytest.mark.parametrize("listing", LISTINGS)
def test_enumeration_draws_by_the_kernels_law(listing: Callable[..., Any]) -> None:
    graph = Graph.from_edges([0, 0, 0, 1, 1, 3, 4, 5], [1, 2, 3, 2, 4, 5, 5, 6], 7)
    table = PickTable.of(graph)
    draws = 20_000
    counts = []
    for draw in (listing, PickTable.draw):
        rows = np.concatenate([draw(table, np.zeros(1, np.int64), 3, Key.of(n)) for n in range(draws)])
        assert np.all(rows[:, 0] == 0)
        counts.append(np.bincount(rows[:, 1:] @ np.array([49, 7, 1]), minlength=343))
    listed, drawn = counts
    possible = listed + drawn > 0
    spread = (listed[possible] - drawn[possible]) ** 2 / (listed[possible] + drawn[possible])
    degrees = np.count_nonzero(possible) - 1
    assert spread.sum() < degrees + 5 * np.sqrt(2 * degrees)


@pytest.mark.parametrize("listing", LISTINGS)
def test_an_exhausted_component_is_padded_with_its_target(listing: Callable[..., Any]) -> None:
    table = PickTable.of(Graph.from_edges([0], [1], 3))
    rows = listing(table, np.array([0, 1, 2]), 3, Key.of(0))
    assert rows.tolist() == [[0, 1, 0, 0], [1, 0, 1, 1], [2, 2, 2, 2]]
