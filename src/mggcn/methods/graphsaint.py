"""GraphSAINT: graph sampling based inductive learning method (Zeng and others), with its random walk sampler.

Inputs are x. Each step draws the sub-graph that random walks induce, and every layer runs on it. A neighbour's factor
is its share of the mean over the whole neighbourhood, over how often it is drawn where the receiver is; a target's loss
is divided by how often the target is drawn. Scores come from the whole graph.

Differs from the paper's equation: by default layers set a node's own row beside the aggregate, as the authors' code
does; ``conv`` gcn is the equation. Differs from that code: no normalisation of hidden rows, and the mean counts the
node itself. Roots are training nodes also where the training graph holds others.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from mggcn.methods.network import Network, at_least_one, stacked
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import CONVS
from mggcn.sampling import WholeGraphSampler
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.saint import SaintSampler
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of


@dataclass(frozen=True)
class Config(Network):
    """GraphSAINT's settings; ``batch_size`` has no effect.

    Attributes:
        conv: of each layer: ``gcn`` is the paper's equation, ``mean`` sets a node's own row beside the aggregate.
        roots: of the walks of one sub-graph.
        walk: the steps of each walk.
        presample: sub-graphs are drawn beforehand until they hold each training node so often, on average.
    """

    conv: Literal["gcn", "mean"] = "mean"
    roots: int = 300
    walk: int = 2
    presample: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "roots", "walk", "presample")


def defaults(dataset: str) -> dict[str, object]:
    """The convolution of lower validation loss; for Reddit the authors' walks."""
    name = dataset.partition(":")[0]
    found: dict[str, object] = {"conv": "gcn"} if name in ("cora", "reddit-like") else {}
    if name in ("reddit", "reddit-like"):
        found |= {"roots": 2000, "walk": 4, "lr": 0.01}
    return found


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    return stacked(config, CONVS[config.conv], in_channels, out_channels, generator)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph; sub-graphs are counted when training begins."""
    inputs = inputs_of([scene.x], scene.place)
    key = scene.key.fold("presample")
    walks = SaintSampler(scene.graph, config.layers, config.roots, config.walk, config.presample, key)
    whole = WholeGraphSampler(propagation(scene.graph, "row"), config.layers)
    return Views(View(inputs, walks), View(inputs, whole))


RECIPE = Recipe(Config, model, views, defaults)
