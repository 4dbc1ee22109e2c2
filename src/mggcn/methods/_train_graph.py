"""The sub-graph of the training nodes, on disk if the run has a cache."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mggcn.data import Draft
from mggcn.graph import Graph
from mggcn.methods.method import GraphView


def on_training_nodes(view: GraphView, nodes: NDArray[np.int64], digest: str) -> GraphView:
    """The view of the edges between training nodes, whose ``digest`` names what is kept of it."""
    if view.cache is None or view.source is None:
        return replace(view, graph=view.graph.subgraph(nodes))
    source = {**view.source, "graph": "train", "train": digest}

    def build(draft: Draft) -> None:
        indptr = draft.array("indptr", np.int64, (), view.graph.num_nodes + 1)
        indices = draft.array("indices", view.graph.indices.dtype)
        indptr.append(np.zeros(1, np.int64))
        for ends, neighbours in view.graph.subgraph_rows(nodes):
            indptr.append(ends)
            indices.append(neighbours)

    num_bytes = view.graph.indptr.nbytes + view.graph.indices.nbytes
    what = {name: value for name, value in source.items() if name != "scaling"}
    arrays = view.cache.arrays({**what, "edges": "between training nodes"}, build, num_bytes)
    graph = Graph(arrays["indptr"], arrays["indices"], view.graph.direction, checked=True)
    graph.check_bounds()
    return replace(view, graph=graph, source=source)
