"""What is known of edges, in words: "sent 10 to a17", "pays from a17, weight 2.5"."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mggcn.data import Dataset
from mggcn.graph import EdgeSchema, Graph

End = Literal["to", "from", "with"]


def words_of(schema: EdgeSchema, number: int, weight: float, other: object = "it") -> str:
    """An edge of a relation as one of its ends sees it, with the name of the ``other``."""
    kind = schema.types[number // (2 if schema.directed else 1)] if schema.types else ""
    end: End = ("from", "to")[number % 2] if schema.directed else "with"
    if kind or end == "with":
        return f"{kind or 'edge'} {end} {other}" + (f", weight {weight:.4g}" if schema.weighted else "")
    if schema.weighted:
        return f"{'sent' if end == 'to' else 'received'} {weight:.4g} {end} {other}"
    return f"edge {end} {other}"


def between(graph: Graph, node: int, other: int) -> tuple[str, ...]:
    """The edges between a node and another, as the node sees them; none if nothing is known of edges."""
    if graph.relations is None:
        return ()
    entries = graph.relations_of(node)
    start, stop = np.searchsorted(entries.indices, [other, other + 1])
    numbers = np.zeros(entries.indices.size, np.uint16) if entries.number is None else entries.number
    rows = zip(numbers[start:stop].tolist(), entries.weights()[start:stop].tolist(), strict=True)
    return tuple(words_of(graph.schema, number, weight) for number, weight in rows)


def heaviest(data: Dataset, node: int, others: NDArray[np.bool_]) -> str:
    """The heaviest edge of a node with one of ``others``, a mask of all nodes, in words; empty if there is none."""
    graph = data.graph
    entries = graph.relations_of(node)
    weights = np.where(others[entries.indices], entries.weights(), 0)
    if not weights.any():
        return ""
    first = int(weights.argmax())
    number = 0 if entries.number is None else int(entries.number[first])
    (name,) = data.ids_of([int(entries.indices[first])]).tolist()
    return words_of(graph.schema, number, float(weights[first]), name)


def group_words(name: str, schema: EdgeSchema) -> str:
    """The neighbours that a group of relations leads to, by the group's name in :meth:`EdgeSchema.groups`."""
    kind, _, way = name.rpartition(" ") if schema.directed and schema.types and " " in name else ("", "", name)
    if way in ("in", "out") and (schema.directed and name not in schema.types):
        return f"{f'{kind!r} ' if kind else ''}{'senders' if way == 'in' else 'receivers'}"
    return f"{name!r} neighbours"
