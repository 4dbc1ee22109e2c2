"""Counter-based randomness: a random number is a hash of the numbers that identify it, not a state of a generator.

A :class:`Key` is folded with these numbers (seed, stream, epoch, target, step and trial), so a draw is the same on
every back end, with any number of threads and in any order. The hash is SplitMix64: ``fold(n)`` is the n-th output of
the generator whose state is the key.
"""

from dataclasses import dataclass

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


def below(value: int, bound: int) -> int:
    """Map a 64-bit hash to 0 … bound - 1."""
    return (value * bound) >> 64


def folds(value: int, count: int) -> NDArray[np.uint64]:
    """``fold(value, n)`` for n = 0 … count - 1."""
    return fold_each(value, np.arange(count))


def fold_each(value: int, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """``fold(value, n)`` for each of some numbers."""
    with np.errstate(over="ignore"):
        z = np.uint64(value) + np.uint64(GOLDEN) * (numbers.astype(np.uint64) + np.uint64(1))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
        return z ^ (z >> np.uint64(31))


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
        """At most so many of the nodes, those with the smallest hashes, in their order."""
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
