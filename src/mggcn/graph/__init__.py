"""Graphs in compressed sparse rows, whose edges may have directions, weights and types."""

from mggcn.graph._building import Changes, edge_types, edge_weights
from mggcn.graph._checks import balance
from mggcn.graph._entries import (
    EDGE_PARTS,
    MOST_TYPES,
    Direction,
    EdgePart,
    EdgeSchema,
    Entries,
    Grouping,
    IntArray,
    Joiner,
    starts_of_groups,
    ways,
)
from mggcn.graph._graph import Graph
from mggcn.graph._numbers import as_array, index_dtype, node_numbers, numbers_or_mask

__all__ = [
    "EDGE_PARTS",
    "MOST_TYPES",
    "Changes",
    "Direction",
    "EdgePart",
    "EdgeSchema",
    "Entries",
    "Graph",
    "Grouping",
    "IntArray",
    "Joiner",
    "as_array",
    "balance",
    "edge_types",
    "edge_weights",
    "index_dtype",
    "node_numbers",
    "numbers_or_mask",
    "starts_of_groups",
    "ways",
]
