"""The explorer's answers about a run and its nodes, which the server sends as JSON."""

from msgspec import Struct


class ClassStyle(Struct, frozen=True):
    """A class with its colour, and a shape for readers who cannot distinguish the colours."""

    name: str
    colour: str
    shape: str


class About(Struct, frozen=True):
    """The run, and a few nodes to start with."""

    dataset: str
    source: str
    method: str
    seed: int
    test_accuracy: float
    num_nodes: int
    num_edges: int
    classes: list[ClassStyle]
    picks: int
    redraws: bool
    examples: list[str]


class Node(Struct, frozen=True):
    """One node: ``label`` is its true class and ``split`` its part of the split, each None if unknown."""

    id: str
    number: int
    degree: int
    split: str | None
    label: int | None
    predicted: int
    probabilities: list[float]


class Feature(Struct, frozen=True):
    """A feature's value, the medians of the predicted and of the true class, and the difference to the predicted one's.

    ``difference`` is in standard deviations of the training nodes.
    """

    name: str
    value: float
    median: float
    median_of_label: float | None
    difference: float


class FeatureList(Struct, frozen=True):
    """The features that differ most, and the number of all features."""

    predicted: int
    label: int | None
    total: int
    features: list[Feature]


class PickedNode(Struct, frozen=True):
    """A node, the share of the draws in which it was picked, and its distance from the target in the shortest walk."""

    id: str
    label: int | None
    degree: int
    hops: int
    share: float


class Link(Struct, frozen=True):
    """An edge between two shown nodes, as indices, and the share of the draws in which it was walked."""

    source: int
    target: int
    share: float


class PickGraph(Struct, frozen=True):
    """Picks over many draws: the target first, then the picked nodes, the most frequent first."""

    draws: int
    total: int
    nodes: list[PickedNode]
    links: list[Link]


class Influence(Struct, frozen=True):
    """How much a pick raises the probability of the predicted and of the true class.

    ``order`` is its position among the picks; all numbers are means over the ``draws`` that picked it.
    """

    id: str
    label: int | None
    draws: int
    order: float
    change: float
    change_of_label: float | None


class InfluenceList(Struct, frozen=True):
    """The influence of each pick by leave-one-out over S(v), the largest change first."""

    draws: int
    predicted: int
    probability: float
    label: int | None
    picks: list[Influence]


class Neighbour(Struct, frozen=True):
    """A neighbour with its true and its predicted class."""

    id: str
    degree: int
    label: int | None
    predicted: int
    probability: float


class NeighbourList(Struct, frozen=True):
    """The first neighbours, and the number of all neighbours."""

    total: int
    direction: str
    neighbours: list[Neighbour]
