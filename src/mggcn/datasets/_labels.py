"""Labels and splits as files contain them: checked, and a missing split or validation part drawn at random."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import UNLABELLED, Split, check_part
from mggcn.errors import InputError

VAL_SHARE = 0.2

Nodes = NDArray[np.int64]


def class_numbers(y: NDArray[Any] | None, num_nodes: int, field: str) -> Nodes:
    """Return ``y`` as [num_nodes] int64; all nodes are unlabelled if it is None. ``field`` names it in errors."""
    if y is None:
        return np.full(num_nodes, UNLABELLED, dtype=np.int64)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (num_nodes,):
        raise InputError(f"{field} must have shape [{num_nodes}], one class per node, not {list(y.shape)}")
    if y.dtype.kind not in "iu":
        raise InputError(f"{field} must hold integers, not {y.dtype}")
    return y.astype(np.int64)


def complete_split(y: Nodes, parts: Sequence[Nodes | None], seed: int) -> tuple[Split, str]:
    """Return the split into train, val and test with a note on what was drawn at random.

    If all ``parts`` are None, the labelled nodes are divided 60/20/20. If only val is None, a stratified share of the
    training nodes becomes the validation part.
    """
    if all(part is None for part in parts):
        try:
            return Split.stratified(y, seed), f"60/20/20 split of seed {seed}"
        except InputError as error:
            raise InputError(f"{np.sum(y != UNLABELLED)} labelled nodes, no 60/20/20 split ({error})") from None
    empty = np.empty(0, np.int64)
    train, val, test = (empty if part is None else part for part in parts)
    if parts[1] is not None:
        return Split(train, val, test), ""
    check_part("train", train, y)
    Split(train, np.array([UNLABELLED]), test)  # checks the two parts before nodes move from one to another
    train, val = _hold_out(y, train, seed)
    return Split(train, val, test), f"validation: {val.size} training nodes held out by seed {seed}"


def _hold_out(y: Nodes, train: Nodes, seed: int) -> tuple[Nodes, Nodes]:
    rng = np.random.default_rng(seed)
    held_out = []
    for label in np.unique(y[train]):
        nodes = rng.permutation(train[y[train] == label])
        held_out.append(nodes[: round(VAL_SHARE * nodes.size)])
    val = np.sort(np.concatenate(held_out))
    return np.setdiff1d(train, val), val
