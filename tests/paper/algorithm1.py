"""Algorithm 1 of the paper by enumeration: the exact distribution over whole pick sequences, the tests' oracle."""

from collections.abc import Sequence
from fractions import Fraction

from mggcn.graph import Graph


def sequences(graph: Graph, weights: Sequence[int], target: int, picks: int) -> dict[tuple[int, ...], Fraction]:
    """Every sequence of picks that Algorithm 1 can return for a target, with its exact probability."""
    found: dict[tuple[int, ...], Fraction] = {}
    _extend(graph, weights, [target], picks, Fraction(1), found)
    return found


def _extend(
    graph: Graph,
    weights: Sequence[int],
    chosen: list[int],
    left: int,
    probability: Fraction,
    found: dict[tuple[int, ...], Fraction],
) -> None:
    candidates = sorted({int(w) for u in chosen for w in graph.row(u)} - set(chosen))
    if left == 0 or not candidates:
        found[tuple(chosen)] = probability
        return
    total = sum(int(weights[w]) for w in candidates)
    for w in candidates:
        _extend(graph, weights, [*chosen, w], left - 1, probability * Fraction(int(weights[w]), total), found)
