"""The split of data that came with none, or with no validation part."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import UNLABELLED, Split
from mggcn.errors import InputError

VAL_SHARE = 0.2

Nodes = NDArray[np.int64]


def complete(y: Nodes, parts: Sequence[Nodes | None], seed: int) -> tuple[Split, str]:
    """Make a split of train, val and test as given (None: not published) and say in words what was added.

    With none of them the labelled nodes are divided 60/20/20; without a validation part a stratified share of the
    training nodes becomes it.
    """
    train, val, test = parts
    if train is None and val is None and test is None:
        try:
            return Split.stratified(y, seed), f"60/20/20 split of seed {seed}"
        except InputError as error:
            raise InputError(f"{np.sum(y != UNLABELLED)} labelled nodes, no 60/20/20 split ({error})") from None
    empty = np.empty(0, np.int64)
    train, test = (empty if part is None else part for part in (train, test))
    if val is None:
        _check_training(y, train)
        Split(train, np.array([UNLABELLED]), test)
        train, val = _hold_out(y, train, seed)
        return Split(train, val, test), f"validation: {val.size} training nodes held out by seed {seed}"
    return Split(train, val, test), ""


def _check_training(y: Nodes, train: Nodes) -> None:
    bad = train[(train < 0) | (train >= y.size)]
    if bad.size:
        raise InputError(f"split: train holds node {bad[0]}, out of range for {y.size} nodes")
    unlabelled = train[y[train] == UNLABELLED]
    if unlabelled.size:
        raise InputError(f"split: train holds node {unlabelled[0]}, which has no label")


def _hold_out(y: Nodes, train: Nodes, seed: int) -> tuple[Nodes, Nodes]:
    rng = np.random.default_rng(seed)
    held = []
    for label in np.unique(y[train]):
        nodes = rng.permutation(train[y[train] == label])
        held.append(nodes[: round(VAL_SHARE * nodes.size)])
    val = np.sort(np.concatenate(held))
    return np.setdiff1d(train, val), val
