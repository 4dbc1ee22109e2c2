from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mggcn.kernels._compiled import Ints
from mggcn.kernels.neighbors import subset
from mggcn.keys import Key
from tests.reference import subset as reference


def compare_on_cpu(sizes: Ints, names: Ints, most: int, key: Key) -> None:
    """Compare the entries drawn from rows of some sizes."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    indptr, drawn = subset(starts, names, most, key)
    expected = reference.subset(sizes.tolist(), names.tolist(), most, key)
    np.testing.assert_array_equal(np.diff(indptr), [len(row) for row in expected])
    entries = [int(start) + index for start, row in zip(starts, expected, strict=False) for index in row]
    np.testing.assert_array_equal(drawn, entries)


@given(sizes=st.lists(st.integers(0, 9), max_size=6), most=st.integers(1, 5), seed=st.integers(0, 2**64 - 1))
def test_cpu_equals_reference(sizes: list[int], most: int, seed: int) -> None:
    compare_on_cpu(np.array(sizes, np.int64), np.arange(len(sizes)) * 7, most, Key(seed))


def test_every_subset_is_equally_likely() -> None:
    draws = 6_000
    rows = reference.subset([5] * draws, range(draws), 2, Key.of(1))
    counts = dict.fromkeys(combinations(range(5), 2), 0)
    for row in rows:
        counts[tuple(sorted(row))] += 1
    assert max(abs(count / draws - 1 / 10) for count in counts.values()) < 0.02


def test_short_rows_are_taken_whole() -> None:
    assert [sorted(row) for row in reference.subset([0, 1, 3], [0, 1, 2], 3, Key.of(0))] == [[], [0], [0, 1, 2]]
