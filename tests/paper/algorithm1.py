"""Algorithm 1 of the paper by enumeration: the exact distribution over whole pick sequences, the tests' oracle."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from mggcn.graph import Graph

Weights = Sequence[int] | Mapping[tuple[int, int], int]
"""Of each node; or of each edge, as (node, neighbour), where a candidate has that of its edge with the first of S."""


def sequences(graph: Graph, weights: Weights, target: int, picks: int) -> dict[tuple[int, ...], Fraction]:
    """Every sequence of picks that Algorithm 1 can return for a target, with its exact probability."""
    found: dict[tuple[int, ...], Fraction] = {}
    _extend(graph, weights, [target], picks, Fraction(1), found)
    return found


def _extend(
    graph: Graph,
    weights: Weights,
    chosen: list[int],
    left: int,
    probability: Fraction,
    found: dict[tuple[int, ...], Fraction],
) -> None:
    candidates = sorted({int(w) for u in chosen for w in graph.row(u)} - set(chosen))
    if left == 0 or not candidates:
        found[tuple(chosen)] = probability
        return
    shares = [_weight(graph, weights, chosen, w) for w in candidates]
    for w, share in zip(candidates, shares, strict=True):
        _extend(graph, weights, [*chosen, w], left - 1, probability * Fraction(share, sum(shares)), found)


def _weight(graph: Graph, weights: Weights, chosen: list[int], candidate: int) -> int:
    if not isinstance(weights, Mapping):
        return int(weights[candidate])
    return weights[next(u for u in chosen if candidate in graph.row(u)), candidate]
