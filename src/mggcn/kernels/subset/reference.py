"""A uniform subset of each row by Floyd's algorithm, in plain Python: the specification of the fast kernel.

Every draw is a hash of (key, the row's name, step).
"""

from collections.abc import Sequence

from mggcn.keys import Key, below, fold


def subset(sizes: Sequence[int], names: Sequence[int], most: int, key: Key) -> list[list[int]]:
    """For each row of so many entries the places of ``most`` distinct ones, or of all where there are no more."""
    return [_places(size, min(most, size), fold(key.value, name)) for size, name in zip(sizes, names, strict=True)]


def _places(size: int, count: int, stream: int) -> list[int]:
    chosen: list[int] = []
    for step in range(count):
        last = size - count + step
        place = below(fold(stream, step), last + 1)
        chosen.append(last if place in chosen else place)
    return chosen
