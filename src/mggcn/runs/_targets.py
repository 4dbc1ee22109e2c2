"""The nodes that a caller names."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mggcn.data import Dataset
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import node_numbers


def targets_of(data: Dataset, nodes: ArrayLike | None, ids: Iterable[object] | None) -> NDArray[np.int64]:
    """The node numbers that a caller names by numbers, a mask or ids; all without copies if by neither."""
    if nodes is not None and ids is not None:
        raise InputError(f"{data.name}: nodes and ids both name nodes; give one of them")
    if isinstance(ids, str):
        raise InputError(f"{data.name}: ids: must be a list of ids, not the text {ids!r}")
    if ids is not None:
        targets = data.nodes_of([str(name) for name in ids])
    else:
        with prefix_errors(data.name):
            targets = np.arange(data.num_current) if nodes is None else node_numbers(nodes, data.num_nodes)
    if targets.size == 0:
        raise InputError(f"{data.name}: no nodes to predict")
    return targets
