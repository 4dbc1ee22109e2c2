"""From the users' ids to node numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset.dataset import Dataset
from mggcn.errors import InputError


def nodes_of(dataset: Dataset, ids: Sequence[str]) -> NDArray[np.int64]:
    """See :meth:`mggcn.dataset.Dataset.nodes_of`."""
    if dataset.node_ids is None:
        return np.array([_node_number(text, dataset.num_nodes) for text in ids], dtype=np.int64)
    known = dataset.ids_of(np.arange(dataset.num_nodes)).astype(str).tolist()
    node_of = {text: node for node, text in enumerate(known)}
    for text in ids:
        if text not in node_of:
            raise InputError(f"{dataset.name}: no node has the id {str(text)!r}")
    return np.array([node_of[text] for text in ids], dtype=np.int64)


def _node_number(text: str, num_nodes: int) -> int:
    digits = text.lstrip("0") or text[-1:]
    if not text.isascii() or not text.isdigit() or len(digits) > len(str(num_nodes)) or int(digits) >= num_nodes:
        raise InputError(f"node {text[:40]!r} is not a number from 0 to {num_nodes - 1}")
    return int(digits)
