"""Random graphs for hypothesis."""

import numpy as np
from hypothesis import strategies as st

from mggcn.graph import Graph


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 12, directions: tuple[str, ...] = ("both", "in", "out")) -> Graph:
    """Small graphs of any shape: empty, isolated nodes, several components, stars, near-cliques; directed or not."""
    num_nodes = draw(st.integers(1, max_nodes))
    node = st.integers(0, num_nodes - 1)
    edges = np.array(draw(st.lists(st.tuples(node, node), max_size=3 * max_nodes)), np.int64).reshape(-1, 2)
    return Graph.from_edges(edges[:, 0], edges[:, 1], num_nodes, direction=draw(st.sampled_from(directions)))


@st.composite
def weighted_graphs(
    draw: st.DrawFn, max_nodes: int = 12, directions: tuple[str, ...] = ("both", "in", "out", "directed")
) -> Graph:
    """Small graphs whose edges have weights, and perhaps types; parallel edges occur."""
    num_nodes = draw(st.integers(1, max_nodes))
    node, weight = st.integers(0, num_nodes - 1), st.sampled_from([0, 1, 2, 0.1, 0.5, 1 / 3, 7, 1e-3, 12.25, 1e6])
    kinds = draw(st.integers(0, 3))
    edge = st.tuples(node, node, weight, st.integers(0, max(kinds - 1, 0)))
    columns = np.array(draw(st.lists(edge, max_size=3 * max_nodes)), np.float64).reshape(-1, 4).T
    source, target, kind = columns[[0, 1, 3]].astype(np.int64)
    options = {"edge_type": kind, "types": [f"kind {number}" for number in range(kinds)]} if kinds else {}
    direction = draw(st.sampled_from(directions))
    return Graph.from_edges(source, target, num_nodes, direction=direction, weight=columns[2], **options)
