"""A uniform subset of each row by Floyd's algorithm, in plain Python: the specification of the fast kernel.

Every draw is a hash of (key, the row's name, step).
"""

from collections.abc import Sequence

from mggcn.keys import Key, fold
from tests.reference import below


def subset(sizes: Sequence[int], names: Sequence[int], most: int, key: Key) -> list[list[int]]:
    """For each row size, the positions of ``most`` distinct entries, or of all entries if there are no more."""
    return [_positions(size, min(most, size), fold(key.value, name)) for size, name in zip(sizes, names, strict=True)]


def _positions(size: int, count: int, stream: int) -> list[int]:
    positions: list[int] = []
    for step in range(count):
        last = size - count + step
        position = below(fold(stream, step), last + 1)
        positions.append(last if position in positions else position)
    return positions
