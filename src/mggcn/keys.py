"""Counter-based randomness: a random number is a hash of the numbers that identify it, not a state of a generator.

A :class:`Key` is folded with these numbers (seed, stream, epoch, target, step and trial), so a draw is the same on
every back end, with any number of threads and in any order. The hash is SplitMix64: ``fold(n)`` is the n-th output of
the generator whose state is the key.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB


def fold(value: int, n: int) -> int:
    """Hash the 64-bit ``value`` with the counter ``n``."""
    z = (value + GOLDEN * (n + 1)) & MASK
    z = ((z ^ (z >> 30)) * MIX_1) & MASK
    z = ((z ^ (z >> 27)) * MIX_2) & MASK
    return z ^ (z >> 31)


def folds(value: int, count: int) -> NDArray[np.uint64]:
    """``fold(value, n)`` for n = 0 … count - 1."""
    return fold_each(value, np.arange(count))


def fold_each(value: int | NDArray[np.uint64], numbers: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
    """``fold(value, n)`` for each number; ``value`` is one for all of them, or an array with one for each."""
    with np.errstate(over="ignore"):
        z: NDArray[np.uint64] = np.asarray(value, np.uint64) + np.uint64(GOLDEN) * (
            numbers.astype(np.uint64) + np.uint64(1)
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
        return z ^ (z >> np.uint64(31))


def numbers_of(texts: NDArray[np.bytes_]) -> NDArray[np.int64]:
    """A 64-bit hash of each text, which does not depend on the width of the array."""
    width = -(-texts.dtype.itemsize // 8) * 8
    words = np.ascontiguousarray(texts, f"S{width}").view("<u8").reshape(texts.size, -1)
    hashes = np.zeros(texts.size, np.uint64)
    for column in words.T:
        hashes = np.where(column != 0, fold_each(hashes, column), hashes)
    return hashes.view(np.int64)


@dataclass(frozen=True)
class Key:
    """A 64-bit key that identifies a stream of random numbers."""

    value: int

    @classmethod
    def of(cls, seed: int) -> "Key":
        """The key of a user's seed."""
        return cls(fold(0, seed))

    def fold(self, *names: int | str) -> "Key":
        """The key of a part of this stream, identified by numbers or short words."""
        value = self.value
        for name in names:
            value = fold(value, int.from_bytes(name.encode(), "little") if isinstance(name, str) else name)
        return Key(value)

    def select(self, nodes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """The ``most`` nodes with the smallest hashes, or all if there are fewer, in their order."""
        if nodes.size <= most:
            return nodes
        return nodes[np.sort(np.argpartition(fold_each(self.value, nodes), most)[:most])]

    def generator(self) -> np.random.Generator:
        """A numpy generator, for draws that need not be identical on all back ends."""
        return np.random.Generator(np.random.Philox(key=self.value))

    @property
    def torch_seed(self) -> int:
        """A seed for torch's generators, which accept 63 bits."""
        return self.value >> 1
