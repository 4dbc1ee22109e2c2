"""Search for nodes by the beginning of their ids, ignoring case."""

import numpy as np
from numpy.typing import NDArray

from mggcn.data import Dataset
from mggcn.errors import InputError

_LAST = {"S": b"\x7f", "U": "\U0010ffff"}  # the last letter in sorting order
_MAX_ALIKE = 64


class IdIndex:
    """The ids of a data set in lower case, sorted once; ids that are node numbers need no table."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        if dataset.node_ids is not None:
            ids = np.asarray(dataset.node_ids)
            lowered = np.char.lower(ids if ids.dtype.kind in _LAST else ids.astype(np.str_))
            self._nodes = np.argsort(lowered, kind="stable")
            self._names: NDArray[np.generic] = lowered[self._nodes]

    def search(self, text: str, limit: int) -> list[int]:
        """The numbers of at most ``limit`` nodes whose ids begin with ``text``, in the order of their ids."""
        return self._numbers(text, limit) if self._dataset.node_ids is None else self._sorted(text, limit)

    def find(self, text: str) -> int:
        """The node with this id, an exact match first, else one that differs only in case."""
        wanted = text.strip()
        nodes = self.search(wanted, _MAX_ALIKE) if wanted else []
        names = [str(name) for name in self._dataset.ids_of(nodes).tolist()]
        exact = [node for node, name in zip(nodes, names, strict=True) if name == wanted]
        alike = [node for node, name in zip(nodes, names, strict=True) if name.lower() == wanted.lower()]
        if not alike:
            raise InputError(f"{self._dataset.name}: no node has the id {wanted!r}")
        return (exact or alike)[0]

    def _numbers(self, text: str, limit: int) -> list[int]:
        """Node numbers by their first digits: 12, then 120 to 129, then 1200 to 1299 and so on."""
        count = self._dataset.num_nodes
        if not (text.isascii() and text.isdigit()) or (text.startswith("0") and text != "0"):
            return []
        if len(text) > len(str(count)):  # int() refuses thousands of digits
            return []
        first, width = int(text), 1
        nodes: list[int] = []
        while first * width < count and len(nodes) < limit:
            nodes += range(first * width, min((first + 1) * width, count))[:limit]
            if first == 0:
                break
            width *= 10
        return nodes[:limit]

    def _sorted(self, text: str, limit: int) -> list[int]:
        dtype = self._names.dtype
        width = dtype.itemsize // np.dtype(f"{dtype.kind}1").itemsize  # letters of the longest id
        lowered = text.lower()
        if len(lowered) > width or (dtype.kind == "S" and not lowered.isascii()):
            return []
        begin = lowered.encode() if dtype.kind == "S" else lowered
        end = begin + _LAST[dtype.kind] * (width - len(begin))  # type: ignore[operator]
        # Bounds have the dtype of the names; otherwise numpy would convert all names.
        start = np.searchsorted(self._names, np.array(begin, dtype))
        stop = np.searchsorted(self._names, np.array(end, dtype), "right")
        return [int(node) for node in self._nodes[start : min(stop, start + limit)]]
