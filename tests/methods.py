"""Every method with settings with which it trains in moments on small data."""

from mggcn.methods import METHODS

SMALL_SETTINGS: dict[str, dict[str, object]] = {
    **{name: {} for name in METHODS},
    # The first step moves no embedding, as contexts start at 0, and one walk from each of few nodes is one step.
    **{name: {"walks": 3, "length": 8, "dim": 8} for name in ("deepwalk", "node2vec")},
    "random-forest": {"trees": 5, "threads": 1},
    "lightgbm": {"trees": 5, "min_leaf": 2, "threads": 1},
    "graphsaint": {"presample": 2, "roots": 10},
    "mg-gcn": {"portfolio": "none"},
    "mg-gcn as a portfolio": {},
    "gcn full": {"batches": "full"},
    "cluster-gcn in parts": {"parts": 6, "parts_per_batch": 2},
    "fastgcn over all nodes": {"candidates": "all", "precompute": False},
}
"""By the name of the method, which words on its settings may follow."""
