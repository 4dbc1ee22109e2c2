"""Whether wide sparse features are multiplied before they are averaged, which is decided by the number of entries."""

import math

import numpy as np
from scipy.sparse import csr_array, eye_array

from mggcn.graph import Graph
from mggcn.methods._fine import FineNorm
from mggcn.methods.graphsage import mean_operator
from mggcn.methods.method import GraphView
from mggcn.sampling.adjacency import propagation
from mggcn.training import DENSE_ABOVE, EVAL_BATCH, AveragedInputs

_SAMPLE = 256  # rows whose averages are computed to count their entries
_EDGE = 2  # an edge takes as long as so many entries: its sender is renumbered, too
_MARGIN = 2  # the fewer entries must be so many times fewer


def averaged_later(
    view: GraphView, hops: int, norm: FineNorm, include_self: bool, members: int
) -> AveragedInputs | None:
    """The rows ``[x | Ax | … ]`` in the form that multiplies first, or None if the averages themselves are better.

    Dropout of input values is then that of x before it is averaged, so the choice may not depend on the number of
    processes, nor on whether the data set is mapped. A GPU holds the averages.

    Args:
        view: the graph and its features.
        hops: the highest power of A.
        norm: of A, see :func:`mggcn.methods._fine.fine`.
        include_self: whether a mean includes the node itself.
        members: the input rows of a target.
    """
    if hops == 0 or view.compute.device.type != "cpu" or isinstance(view.scaled.rows(0, 1), np.ndarray):
        return None
    if isinstance(x := view.x, np.ndarray):
        return None
    training, a = view.training, _operator(view.graph, norm, include_self)
    rows = (EVAL_BATCH if training is None else training.batch_size) * members
    averaged, later = _entries_of_averages(x, a, hops, rows), _entries_of_products(x, a, hops, rows)
    if _MARGIN * later > averaged:
        return None
    reason = (
        f"features are multiplied first and averaged afterwards: about {later:,.0f} entries and edges a step, "
        f"{averaged:,.0f} with their averages"
    )
    return AveragedInputs(x, a, hops, reason)


def _operator(graph: Graph, norm: FineNorm, include_self: bool) -> csr_array:
    if norm == "mean":
        return mean_operator(graph, include_self)
    a = propagation(graph)
    return a if norm == "symmetric" else csr_array((a + eye_array(graph.num_nodes, format="csr")) * np.float32(0.5))


def _entries_of_averages(x: csr_array, a: csr_array, hops: int, rows: int) -> float:
    """Of the distinct rows ``[x | Ax | …]`` of a step, estimated from some; dense rows count as the densest sparse."""
    nodes = np.unique(np.linspace(0, x.shape[0] - 1, _SAMPLE).astype(np.int64))
    factors, count = a[nodes], x[nodes].nnz
    for _ in range(hops):
        count += (factors @ x).nnz
        factors = factors @ a
    dense = DENSE_ABOVE * (1 + hops) * x.shape[1]
    return float(_distinct(rows, x.shape[0]) * min(count / nodes.size, dense))


def _entries_of_products(x: csr_array, a: csr_array, hops: int, rows: int) -> float:
    """Of the rows of x that a step multiplies, and the edges over which it averages the products."""
    num_nodes = x.shape[0]
    reached = _distinct(rows, num_nodes)
    total = reached * x.nnz / num_nodes
    for _ in range(hops):
        edges = reached * a.nnz / num_nodes
        reached = _distinct(edges, num_nodes)
        total += _EDGE * edges + reached * x.nnz / num_nodes
    return float(total)


def _distinct(draws: float, num_nodes: int) -> float:
    """How many different nodes so many uniform draws find on average."""
    return num_nodes * -math.expm1(-draws / num_nodes)
