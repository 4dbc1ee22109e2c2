"""The nodes that a caller names, their known labels, and the part of a run's split that each is in.

A run folder keeps the ids of each part in ``split.npz``, because other graphs have them as well: as text, or as the
node numbers of a graph without ids, which mean nothing in another graph.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mggcn.data import PARTS, UNLABELLED, Dataset, ids_without_date, read_fields
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import node_numbers

if TYPE_CHECKING:
    from mggcn.runs._run import Run

SPLIT = "split.npz"
TRAIN, VAL, TEST, NEW = range(len(PARTS) + 1)
PART_NAMES = (*PARTS, "new")
"""The parts in the order of their use: a node that is in several for several runs is in the first of them."""

_AT_ONCE = 1 << 17


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


def labels_in(dataset: Dataset, classes: tuple[str, ...], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """[n] the labels of nodes as indices into ``classes``; -1 for unlabelled nodes and for other classes."""
    index = {name: label for label, name in enumerate(classes)}
    labels = np.array([*(index.get(name, UNLABELLED) for name in dataset.classes), UNLABELLED], np.int64)
    return labels[dataset.y[nodes]]  # the label -1 selects the last entry


@dataclass(frozen=True, eq=False)
class SplitIds:
    """The ids of the nodes in each part of a split.

    Attributes:
        names: train, val and test in this order: text, or node numbers if the data set has no ids.
    """

    names: tuple[NDArray[np.generic], ...]

    @classmethod
    def of(cls, dataset: Dataset) -> "SplitIds":
        """The ids of a data set's split."""
        return cls(tuple(ids_without_date(dataset, nodes) for nodes in dataset.require_split().parts().values()))

    @classmethod
    def read(cls, path: Path) -> "SplitIds":
        """What :meth:`to_bytes` wrote."""
        fields = read_fields(path, PARTS)
        for part, names in fields.items():
            if names.ndim != 1 or names.dtype.kind not in "iuUS":
                raise InputError(f"{path}: {part}: must be a vector of ids, not {names.dtype} of shape {names.shape}")
        return cls(tuple(fields[part] for part in PARTS))

    def to_bytes(self) -> bytes:
        """The content of ``split.npz``."""
        content = io.BytesIO()
        train, val, test = self.names
        np.savez_compressed(content, train=train, val=val, test=test)
        return content.getvalue()

    @property
    def are_numbers(self) -> bool:
        """Whether the names are node numbers, which only the same graph has."""
        return self.names[0].dtype.kind in "iu"

    def parts_of(self, dataset: Dataset, nodes: NDArray[np.int64]) -> NDArray[np.int8]:
        """[n] the index in :data:`PART_NAMES` of nodes of a graph; of the same one if the names are numbers."""
        result = np.full(nodes.size, NEW, np.int8)
        if self.are_numbers != (dataset.node_ids is None):
            return result
        known, part = self._sorted
        wanted = ids_without_date(dataset, nodes)
        nearest = np.minimum(np.searchsorted(known, wanted), known.size - 1)
        is_known = known[nearest] == wanted
        result[is_known] = part[nearest[is_known]]
        return result

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.generic], NDArray[np.int8]]:
        """All names in order, and the number of the part of each."""
        known = np.concatenate(self.names)
        part = np.repeat(np.arange(len(PARTS), dtype=np.int8), [names.size for names in self.names])
        order = np.argsort(known)
        return known[order], part[order]


def parts_of(runs: Sequence["Run"], data: Dataset, nodes: NDArray[np.int64]) -> NDArray[np.int8]:
    """[n] what runs used nodes of any graph for: a training node of one of them is a training node of all."""
    result = np.full(nodes.size, NEW, np.int8)
    for run in runs:
        if run.split_ids.are_numbers and not run.is_trained_on(data):
            continue
        for start in range(0, nodes.size, _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            np.minimum(result[rows], run.split_ids.parts_of(data, nodes[rows]), out=result[rows])
    return result
