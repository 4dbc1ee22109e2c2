"""Which picks of a target neighbour each other, S(v) ∩ N(u) for every u in S(v): the specification."""

import numpy as np
from numpy.typing import NDArray

from mggcn.graph import Graph


def induce(graph: Graph, picks: NDArray[np.integer]) -> NDArray[np.bool_]:
    """[b, s, s] from [b, s] picks: entry (t, i, j) says that node j of set t is in N(node i).

    Columns of padding are empty, so that a set counts no node twice; a row of padding repeats its target's row.
    """
    b, s = picks.shape
    out = np.zeros((b, s, s), bool)
    for t in range(b):
        for i in range(s):
            for j in range(s):
                is_padding = j > 0 and picks[t, j] == picks[t, 0]
                out[t, i, j] = not is_padding and picks[t, j] in graph.row(int(picks[t, i]))
    return out
