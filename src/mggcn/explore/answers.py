"""What the explorer says about a node: plain values that become JSON."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ClassInfo:
    """A class, its colour, and a shape as a second sign."""

    name: str
    colour: str
    shape: str


@dataclass(frozen=True)
class About:
    """The run: what it is, and a few nodes to begin with."""

    dataset: str
    source: str
    method: str
    seed: int
    test_accuracy: float
    num_nodes: int
    num_edges: int
    classes: list[ClassInfo]
    picks: int
    redraws: bool
    examples: list[str]


@dataclass(frozen=True)
class Share:
    """How probable a class is."""

    label: int
    probability: float


@dataclass(frozen=True)
class Node:
    """One node: ``label`` is its true class, ``split`` the part of the split it is in, None where there is none."""

    id: str
    number: int
    degree: int
    split: str | None
    label: int | None
    predicted: int
    shares: list[Share]


@dataclass(frozen=True)
class Feature:
    """A feature's value, the medians of the predicted and the true class, and how far it is from the predicted one's.

    ``difference`` counts standard deviations of the training nodes.
    """

    name: str
    value: float
    median: float
    median_of_label: float | None
    difference: float


@dataclass(frozen=True)
class FeatureList:
    """The features that differ most, of so many in all."""

    predicted: int
    label: int | None
    total: int
    features: list[Feature]


@dataclass(frozen=True)
class Picked:
    """A node that was picked in some share of the draws, ``hops`` edges from the target in the shortest walk."""

    id: str
    label: int | None
    degree: int
    hops: int
    share: float


@dataclass(frozen=True)
class Link:
    """An edge between two shown nodes, as places in the list, walked in some share of the draws."""

    source: int
    target: int
    share: float


@dataclass(frozen=True)
class PickGraph:
    """Picks over many draws: the target first, then the picked nodes, the most frequent first."""

    draws: int
    total: int
    nodes: list[Picked]
    links: list[Link]


@dataclass(frozen=True)
class Influence:
    """How much a pick raises the probability of the predicted and of the true class.

    ``order`` is its place among the picks, averaged like the rest over the ``draws`` it was in.
    """

    id: str
    label: int | None
    draws: int
    order: float
    change: float
    change_of_label: float | None


@dataclass(frozen=True)
class InfluenceList:
    """Leave-one-out over S(v), the largest change first."""

    draws: int
    predicted: int
    probability: float
    label: int | None
    picks: list[Influence]


@dataclass(frozen=True)
class Neighbour:
    """A neighbour, its true and its predicted class."""

    id: str
    degree: int
    label: int | None
    predicted: int
    probability: float


@dataclass(frozen=True)
class NeighbourList:
    """The first neighbours of so many."""

    total: int
    direction: str
    neighbours: list[Neighbour]
