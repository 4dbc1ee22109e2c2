"""From the users' ids to node numbers."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.keys import numbers_of

COPY = "@"
"""What separates the id of a copy from its date."""
_IDS_AT_ONCE = 1 << 18  # addresses as text take 168 bytes each
_ADDRESS = re.compile("0x[0-9a-f]{40}", re.IGNORECASE)


def nodes_of(dataset: Dataset, ids: Sequence[str]) -> NDArray[np.int64]:
    """See :meth:`mggcn.data.Dataset.nodes_of`."""
    nodes, missing = find_nodes(dataset, ids)
    if missing and dataset.node_ids is None:
        raise InputError(f"node {missing[0][:40]!r} is not a number from 0 to {dataset.num_nodes - 1}")
    if missing:
        raise InputError(f"{dataset.name}: no node has the id {str(missing[0])!r}")
    return nodes


def find_nodes(dataset: Dataset, ids: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the node numbers of the ids that exist, and the ids that do not; addresses match in any case."""
    if dataset.node_ids is None:
        numbers = [int(text) if re.fullmatch("[0-9]{1,19}", text) else dataset.num_nodes for text in ids]
        found = [number if number < dataset.num_nodes else None for number in numbers]
    else:
        exact, folded = _nodes_by_id(dataset, ids)
        names = ((text, _folded(text)) for text in ids)
        found = [exact.get(text, exact.get(in_lower, folded.get(in_lower))) for text, in_lower in names]
    missing = [text for text, node in zip(ids, found, strict=True) if node is None]
    return np.array([node for node in found if node is not None], dtype=np.int64), missing


def _nodes_by_id(dataset: Dataset, ids: Sequence[str]) -> tuple[dict[str, int], dict[str, int]]:
    """The nodes of the ids that are asked for: by the id as it is stored, and in lower case if it is an address."""
    folded = {_folded(text) for text in ids}
    wanted, exact, by_folded = folded.union(ids), {}, {}
    for start in range(0, dataset.num_nodes, _IDS_AT_ONCE):
        nodes = np.arange(start, min(start + _IDS_AT_ONCE, dataset.num_nodes))
        for node, text in enumerate(dataset.ids_of(nodes).astype(str).tolist(), start):
            if text in wanted:
                exact[text] = node
            if (in_lower := _folded(text)) in folded:
                by_folded[in_lower] = node
    return exact, by_folded


def ids_without_date(dataset: Dataset, nodes: NDArray[np.int64]) -> NDArray[np.generic]:
    """Return the ids of nodes, those of copies as of earlier dates without the date; text unless they are numbers."""
    ids = dataset.ids_of(nodes)
    if dataset.node_ids is None:
        return ids
    ids = ids.astype(str)
    is_copy = nodes >= dataset.num_nodes - dataset.copies
    ids[is_copy] = [text.rpartition(COPY)[0] for text in ids[is_copy].tolist()]
    return ids


def names_in_draws(dataset: Dataset) -> NDArray[np.int64] | None:
    """[num_nodes] the number of each node in hashes of random draws, which depends on its id only.

    An id that is an integer is its own number. None without ids: the number of a node is then its position.
    """
    if dataset.node_ids is None:
        return None
    names = np.empty(dataset.num_nodes, np.int64)
    for start in range(0, dataset.num_nodes, _IDS_AT_ONCE):
        names[start : start + _IDS_AT_ONCE] = numbers_of_ids(dataset.node_ids[start : start + _IDS_AT_ONCE])
    return names


def numbers_of_ids(ids: NDArray[np.generic]) -> NDArray[np.int64]:
    """The number of each id in hashes of random draws."""
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64)
    return numbers_of(ids.astype(np.bytes_) if ids.dtype.kind == "S" else np.char.encode(ids.astype(str), "utf-8"))


def _folded(text: str) -> str:
    """An Ethereum address in lower case, because upper case is only a checksum; other text as it is."""
    return text.lower() if _ADDRESS.fullmatch(text) else text
