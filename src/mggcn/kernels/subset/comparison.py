"""Compares the back end of drawn entries with its reference, bit for bit; raises AssertionError if they differ."""

import numpy as np

from mggcn.kernels._compiled import Ints
from mggcn.kernels.subset import reference, subset
from mggcn.keys import Key


def on_cpu(sizes: Ints, names: Ints, most: int, key: Key) -> None:
    """Compare the entries drawn from rows of some sizes."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    indptr, drawn = subset(starts, names, most, key)
    expected = reference.subset(sizes.tolist(), names.tolist(), most, key)
    np.testing.assert_array_equal(np.diff(indptr), [len(row) for row in expected])
    entries = [int(start) + index for start, row in zip(starts, expected, strict=False) for index in row]
    np.testing.assert_array_equal(drawn, entries)
