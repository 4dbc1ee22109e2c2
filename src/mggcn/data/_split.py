"""Split: the nodes for training, validation and test, and splits that are drawn at random."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mggcn._io.arrays import checksum, read_only
from mggcn.errors import InputError
from mggcn.graph import node_numbers, numbers_or_mask

UNLABELLED = -1
PARTS = ("train", "val", "test")
NO_SPLIT = (None, None, None)
VAL_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Split:
    """The nodes for training, for selecting the epoch, and for measuring the result: int64, disjoint, none empty.

    The arrays are read-only, and copies of arrays that can be written to.
    """

    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]
    num_nodes: int | None = field(default=None, kw_only=True)  # the length of the masks it was made from
    seed: int | None = field(default=None, kw_only=True)  # of a random split; None for one that came with the data
    shares: tuple[float, ...] = field(default=(), kw_only=True)  # of a random split: of train, val and test

    def __post_init__(self) -> None:
        seen: dict[str, NDArray[np.int64]] = {}
        for part, nodes in self.parts().items():
            if not isinstance(nodes, np.ndarray):
                raise InputError(f"split: {part} must be an array, not {type(nodes).__name__}: use mggcn.Split.of")
            if nodes.size == 0:
                raise InputError(f"split: {part} is empty")
            if nodes.ndim != 1 or not np.issubdtype(nodes.dtype, np.integer):
                raise InputError(
                    f"split: {part} must be a vector of node numbers, not {nodes.dtype} of shape {nodes.shape}"
                )
            values, counts = np.unique(nodes, return_counts=True)
            if counts.max() > 1:
                raise InputError(f"split: {part} lists node {values[counts > 1][0]} more than once")
            for other, previous in seen.items():
                shared = np.intersect1d(values, previous, assume_unique=True)
                if shared.size:
                    raise InputError(
                        f"split: {other} and {part} overlap in {shared.size} nodes, first node {shared[0]}"
                    )
            seen[part] = values
            object.__setattr__(self, part, read_only(nodes))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)  # copies and unpickled arrays can be written to
        self.__post_init__()

    @property
    def checksums(self) -> dict[str, str]:
        """The checksum of each part."""
        return {part: checksum(nodes) for part, nodes in self.parts().items()}

    def parts(self) -> dict[str, NDArray[np.int64]]:
        """The nodes of each part by its name: train, val, test."""
        return {"train": self.train, "val": self.val, "test": self.test}

    @classmethod
    def of(cls, train: ArrayLike, val: ArrayLike, test: ArrayLike) -> "Split":
        """Build a split from node numbers or boolean masks: lists, ranges, arrays or tensors."""
        vectors = [
            numbers_or_mask(nodes, f"split: {part}") for part, nodes in zip(PARTS, (train, val, test), strict=True)
        ]
        lengths = sorted({vector.size for vector in vectors if vector.dtype == bool})
        if len(lengths) > 1:
            raise InputError(f"split: masks of different lengths, {lengths[0]} and {lengths[-1]}")
        return cls(*map(node_numbers, vectors), num_nodes=lengths[0] if lengths else None)

    @classmethod
    def stratified(cls, y: NDArray[np.int64], seed: int = 0, shares: Sequence[float] = (0.6, 0.2, 0.2)) -> "Split":
        """Divide the labelled nodes of each class at random into train, val and test in the given shares."""
        parts = divide(y, np.flatnonzero(y != UNLABELLED), seed, shares[:2])
        return cls(*parts, seed=seed, shares=tuple(shares))


def divide(
    y: NDArray[np.int64], nodes: NDArray[np.int64], seed: int, shares: Sequence[float]
) -> list[NDArray[np.int64]]:
    """Divide ``nodes`` at random, class by class, into parts of the given shares and a last part of the others."""
    rng = np.random.default_rng(seed)
    parts = [nodes[:0]] * (len(shares) + 1)
    for label in np.unique(y[nodes]):
        members = rng.permutation(nodes[y[nodes] == label])
        cuts = np.round(np.cumsum(shares) * members.size).astype(np.int64)
        parts = [np.append(part, chunk) for part, chunk in zip(parts, np.split(members, cuts), strict=True)]
    return [np.sort(part) for part in parts]


def check_part(part: str, nodes: NDArray[np.int64], y: NDArray[np.int64]) -> None:
    """Raise InputError unless every node in this part of a split exists and has a label in ``y``."""
    bad = nodes[(nodes < 0) | (nodes >= y.size)]
    if bad.size:
        raise InputError(f"split: {part} holds node {bad[0]}, out of range for {y.size} nodes")
    unlabelled = nodes[y[nodes] == UNLABELLED]
    if unlabelled.size:
        raise InputError(f"split: {part} holds node {unlabelled[0]}, which has no label (its y is {UNLABELLED})")


def named_parts(
    get: Callable[[str], NDArray[Any] | None], num_nodes: int, origin: str = ""
) -> tuple[list[NDArray[np.int64] | None], list[str]]:
    """The nodes of train, val and test from arrays with the names of :data:`PART_KEYS`, and a note on several splits.

    Args:
        get: returns the array of a name, None if there is none.
        num_nodes: the number of nodes.
        origin: stands before the names in errors.
    """
    parts, several = [], []
    for keys in _KEYS:
        given: dict[str, NDArray[np.int64]] = {}
        for key in keys:
            value = get(key)
            if value is None:
                continue
            if key.endswith("_mask"):
                if value.ndim == 2 and value.shape[1]:
                    several += [f"{key} ({value.shape[1]} columns)"] * (value.shape[1] > 1)
                    value = value[:, 0]
                if value.dtype != bool:
                    raise InputError(f"{origin}{key} must be booleans, not {value.dtype} {list(value.shape)}")
            given[key] = node_numbers(value, num_nodes, f"{origin}{key}")
        for (one, nodes), (other, same) in pairwise(given.items()):
            if not np.array_equal(np.sort(nodes), np.sort(same)):
                raise InputError(f"{origin}{one} and {origin}{other} are different nodes; remove one of the two")
        parts.append(next(iter(given.values()), None))
    return parts, [f"several splits in {', '.join(several)}: column 0 is used"] if several else []


_KEYS = (
    ("train_mask", "train_idx"),
    ("val_mask", "val_idx", "valid_mask", "valid_idx"),
    ("test_mask", "test_idx"),
)
PART_KEYS = tuple(chain.from_iterable(_KEYS))
"""The names of arrays that hold a part of a split: masks, and node numbers."""


def complete_split(y: NDArray[np.int64], parts: Sequence[NDArray[Any] | None], seed: int) -> tuple[Split, str]:
    """Return the split into train, val and test with a note on what was drawn at random.

    If all ``parts`` are None, the labelled nodes are divided 60/20/20. If only val is None, a stratified share of the
    training nodes becomes the validation part.
    """
    if all(part is None for part in parts):
        try:
            return Split.stratified(y, seed), f"60/20/20 split of seed {seed}"
        except InputError as error:
            raise InputError(f"{np.sum(y != UNLABELLED)} labelled nodes, no 60/20/20 split ({error})") from None
    train, val, test = (np.empty(0, np.int64) if part is None else part for part in parts)
    if parts[1] is not None:
        return Split(train, val, test), ""
    Split(train, np.array([UNLABELLED]), test)  # checks both parts before nodes move between them
    check_part("train", train, y)
    val, train = divide(y, train, seed, [VAL_SHARE])
    return Split(train, val, test), f"validation: {val.size} training nodes held out by seed {seed}"
