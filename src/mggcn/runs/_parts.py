"""The nodes that a run was trained, validated and tested on, under the user's ids, which other graphs have as well.

A run folder keeps them in ``split.npz``: the ids of each part as text, or the node numbers of a graph without ids,
which mean nothing in another graph.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mggcn.data import PARTS, Dataset, ids_without_date, read_fields
from mggcn.errors import InputError, warn_caller

if TYPE_CHECKING:
    from mggcn.runs._run import Run

SPLIT = "split.npz"
TRAIN, VAL, TEST = PARTS
NEW, UNKNOWN = "new", "unknown"
"""A node in no part of the run's split; a node of which it cannot be known, because the run folder is older."""

_BY_USE = (TRAIN, VAL, UNKNOWN, TEST, NEW)
USED = tuple(part for part in _BY_USE if part != NEW)


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
    def read(cls, path: Path) -> "SplitIds | None":
        """What :meth:`to_bytes` wrote; None if there is no such file, as in older run folders."""
        if not path.is_file():
            return None
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

    def parts_of(self, dataset: Dataset, nodes: NDArray[np.int64]) -> NDArray[np.str_]:
        """[n] train, val, test or new for nodes of a graph; of the same one if the names are numbers."""
        result = np.full(nodes.size, NEW, "U7")
        if self.are_numbers != (dataset.node_ids is None):
            return result
        known, part = self._sorted
        wanted = ids_without_date(dataset, nodes)
        nearest = np.minimum(np.searchsorted(known, wanted), known.size - 1)
        is_known = known[nearest] == wanted
        result[is_known] = np.array(PARTS)[part[nearest[is_known]]]
        return result

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.generic], NDArray[np.int8]]:
        """All names in order, and the number of the part of each."""
        known = np.concatenate(self.names)
        part = np.repeat(np.arange(len(PARTS), dtype=np.int8), [names.size for names in self.names])
        order = np.argsort(known)
        return known[order], part[order]


def parts_of(run: "Run", data: Dataset, nodes: NDArray[np.int64], root: Path | None = None) -> NDArray[np.str_]:
    """[n] what a run used nodes of any graph for, see :class:`Predictions`; an older run loads its data set."""
    return part_finder(run, data, root)(nodes)


def part_finder(run: "Run", data: Dataset, root: Path | None = None) -> Callable[[NDArray[np.int64]], NDArray[np.str_]]:
    """The function of nodes that :func:`parts_of` is, for several calls."""
    split_ids = run.split_ids
    if split_ids is None:
        try:
            split_ids = SplitIds.of(run.training_data(root))
        except (InputError, OSError) as error:
            warn_caller(f"training nodes are not recognised: an older run without its data set ({error})")
            return lambda nodes: np.full(nodes.size, UNKNOWN)
    if split_ids.are_numbers and not run.is_trained_on(data):
        return lambda nodes: np.full(nodes.size, NEW)
    return partial(split_ids.parts_of, data)


def nodes_in(run: "Run", data: Dataset, parts: Sequence[str], root: Path | None = None) -> NDArray[np.int64]:
    """The nodes of a graph that a run used for one of these parts, in order."""
    find, step = part_finder(run, data, root), 1 << 17
    starts = range(0, data.num_nodes, step)
    chunks = (np.arange(start, min(start + step, data.num_nodes)) for start in starts)
    return np.concatenate([nodes[np.isin(find(nodes), parts)] for nodes in chunks])


def most_used(parts: Sequence[NDArray[np.str_]]) -> NDArray[np.str_]:
    """The parts of nodes in several runs as one: training nodes of any run are training nodes of all."""
    result = parts[0].copy()
    for part in reversed(_BY_USE):
        result[np.any([of_run == part for of_run in parts], axis=0)] = part
    return result
