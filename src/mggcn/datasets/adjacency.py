"""Large undirected graphs built by counting sort, at about a fifth of the memory that sorting pairs takes."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from mggcn.errors import InputError
from mggcn.graph import Graph, IntArray, index_dtype


def undirected(source: IntArray, target: IntArray, num_nodes: int) -> Graph:
    """The graph that :meth:`Graph.from_edges` gives for direction ``both``."""
    for side, ends in (("source", source), ("target", target)):
        if ends.size and (ends.min() < 0 or ends.max() >= num_nodes):
            bad = np.flatnonzero((ends < 0) | (ends >= num_nodes))[0]
            raise InputError(f"edges: {side} {ends[bad]} of edge {bad} is out of range for {num_nodes} nodes")
    # Sums of booleans are "or", so duplicates merge.
    one_way = coo_array((np.ones(source.size, bool), (source, target)), shape=(num_nodes, num_nodes)).tocsr()
    both = one_way + one_way.T.tocsr()
    both.sort_indices()
    rows: NDArray[np.int32] = np.repeat(np.arange(num_nodes, dtype=both.indices.dtype), np.diff(both.indptr))
    keep = both.indices != rows
    indptr = np.zeros(num_nodes + 1, np.int64)
    np.cumsum(np.bincount(rows[keep], minlength=num_nodes), out=indptr[1:])
    return Graph(indptr, both.indices[keep].astype(index_dtype(num_nodes), copy=False), checked=True)
