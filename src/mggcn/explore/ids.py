"""Finding nodes by the beginning of their ids, whatever the case; ids are sorted once and then searched by halving."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import Dataset
from mggcn.errors import InputError

Search = Callable[[str, int], list[int]]

_LAST = {"S": b"\x7f", "U": "\U0010ffff"}  # the letter that no other sorts behind
_MOST_ALIKE = 64


def searcher(dataset: Dataset) -> Search:
    """A function from the beginning of an id, and how many to find, to node numbers in the order of their ids."""
    if dataset.node_ids is None:
        return _Numbers(dataset.num_nodes).search
    return _Sorted.of(dataset).search


def find(search: Search, dataset: Dataset, text: str) -> int:
    """The node whose id is ``text``, if only but for the case of its letters."""
    wanted = text.strip()
    found = search(wanted, _MOST_ALIKE)
    names = [str(name) for name in dataset.ids_of(found).tolist()]
    exact = [node for node, name in zip(found, names, strict=True) if name == wanted]
    alike = [node for node, name in zip(found, names, strict=True) if name.lower() == wanted.lower()]
    if not wanted or not alike:
        raise InputError(f"{dataset.name}: no node has the id {wanted!r}")
    return (exact or alike)[0]


@dataclass(frozen=True)
class _Numbers:
    """Ids that are the node numbers need no index: with 12 begin 12, 120 to 129, 1200 to 1299 and so on."""

    count: int

    def search(self, text: str, most: int) -> list[int]:
        if not (text.isascii() and text.isdigit()) or (text.startswith("0") and text != "0"):
            return []
        if len(text) > len(str(self.count)):  # int() refuses thousands of digits
            return []
        first, width = int(text), 1
        found: list[int] = []
        while first * width < self.count and len(found) < most:
            found += range(first * width, min((first + 1) * width, self.count))[:most]
            if first == 0:
                break
            width *= 10
        return found[:most]


@dataclass(frozen=True, eq=False)
class _Sorted:
    """Ids in lower case, in order, beside the node of each."""

    names: NDArray[np.generic]
    nodes: NDArray[np.intp]

    @classmethod
    def of(cls, dataset: Dataset) -> "_Sorted":
        ids = np.asarray(dataset.node_ids)
        lowered = np.char.lower(ids if ids.dtype.kind in _LAST else ids.astype(np.str_))
        nodes = np.argsort(lowered, kind="stable")
        return cls(lowered[nodes], nodes)

    def search(self, text: str, most: int) -> list[int]:
        kind, lowered = self.names.dtype.kind, text.lower()
        if kind == "S" and not lowered.isascii():
            return []
        begin = lowered.encode() if kind == "S" else lowered
        if len(begin) > self._width:
            return []
        start, stop = self._place(begin), self._place(begin + _LAST[kind] * (self._width - len(begin)), "right")  # type: ignore[operator]
        return [int(node) for node in self.nodes[start : min(stop, start + most)]]

    @property
    def _width(self) -> int:
        """The most letters of an id."""
        return self.names.dtype.itemsize // np.dtype(f"{self.names.dtype.kind}1").itemsize

    def _place(self, name: bytes | str, side: Literal["left", "right"] = "left") -> int:
        """Where a name would stand; it is given the type of the names, or all of them would be converted to its own."""
        return int(np.searchsorted(self.names, np.array(name, self.names.dtype), side))
