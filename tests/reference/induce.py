"""Which picks of a target are neighbours, S(v) ∩ N(u) for every u in S(v): the specification."""

import numpy as np
from numpy.typing import NDArray

from mggcn.graph import Graph


def induce(graph: Graph, picks: NDArray[np.integer]) -> NDArray[np.bool_]:
    """[b, s, s] from [b, s] picks: entry (t, i, j) is True if node j of set t is in N(node i).

    Columns of padding are False, so that no node of a set counts twice; a row of padding equals the row of its target.
    """
    b, s = picks.shape
    out = np.zeros((b, s, s), bool)
    for t in range(b):
        for i in range(s):
            for j in range(s):
                is_padding = j > 0 and picks[t, j] == picks[t, 0]
                out[t, i, j] = not is_padding and picks[t, j] in graph.row(int(picks[t, i]))
    return out
