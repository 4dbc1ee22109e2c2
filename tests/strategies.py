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
