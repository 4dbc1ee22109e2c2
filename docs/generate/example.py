"""The two small graphs that the documentation explains things with, and what the code says about them."""

from dataclasses import dataclass

import numpy as np

from mggcn.graph import Graph
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key

PICKS, SEED = 4, 3


@dataclass(frozen=True)
class Example:
    """A graph that fits into a picture.

    Attributes:
        names: a letter for each node, the target's first.
        edges: as pairs of letters.
        places: where each node stands in a picture that is 100 wide.
        height: of that picture.
    """

    names: str
    edges: tuple[str, ...]
    places: tuple[tuple[float, float], ...]
    height: float

    @property
    def graph(self) -> Graph:
        """The graph, node 0 the target."""
        source, target = ([self.names.index(pair[end]) for pair in self.edges] for end in (0, 1))
        return Graph.from_edges(source, target, len(self.names))

    def letters(self, nodes: list[int]) -> str:
        """Nodes as text."""
        return ", ".join(self.names[node] for node in nodes)


TWELVE = Example(
    "vabcdefghijk",
    ("va", "vb", "vc", "vd", "ac", "bd", "ce", "cf", "df", "dg", "eh", "fh", "fi", "gj", "hk", "ik"),
    (
        (22, 50), (7, 24), (7, 76), (35, 20), (38, 76), (56, 8), (58, 45), (63, 84), (75, 24), (79, 58), (90, 86),
        (94, 36),
    ),
    94,
)  # fmt: skip
"""For the grains: large enough for picks three hops away."""
SIX = Example(
    "vabcde",
    ("va", "vb", "ab", "ac", "bc", "be", "cd"),
    ((12, 30), (38, 10), (38, 50), (64, 28), (90, 14), (70, 52)),
    62,
)
"""For the exact sampler: small enough to list everything that can happen."""


def members() -> list[int]:
    """S(v) of the larger graph's target, as the kernel draws it, the target first."""
    drawn = PickTable.of(TWELVE.graph).draw(np.array([0]), PICKS, Key.of(SEED), threads=1)
    return [int(node) for node in drawn[0]]
