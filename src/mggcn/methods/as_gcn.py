"""AS-GCN: adaptive sampling towards fast graph representation learning (Huang, Zhang, Rong and Huang).

Inputs are x; blocks are one layer sample shared by the batch, drawn top-down among the neighbours of the layer above in
proportion to Σ_v Â(v, u) a(v, u) g(x(u)), where the attention a and the guess g are linear maps of the features that
the model learns; the loss has a penalty on the variance of the top layer's sums. Scores are computed on the whole
graph, with the attention.

Differs from the paper: a and g have the form of the authors' code, ReLU(…) + 1, which is never zero. The variance is
each receiver's own, where their code takes that of the batch's mean. The probabilities carry gradient to the variance
only, since the scores do not depend on them on average; in the authors' code they carry none. Neighbourhoods are whole,
where their code keeps at most 32 neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mggcn.block import Block
from mggcn.errors import InputError
from mggcn.methods.fastgcn import sampled_and_whole
from mggcn.methods.network import Network, at_least_one
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn.adaptive import AdaptiveStack
from mggcn.nn.rows import Rows
from mggcn.sampling.adaptive import AdaptiveSampler
from mggcn.sampling.adjacency import propagated, propagation
from mggcn.train import Penalised, Views
from mggcn.train.inputs import inputs_of


@dataclass(frozen=True)
class Config(Network):
    """AS-GCN's settings.

    Attributes:
        bias: add a bias to each layer; the authors' layers have none.
        samples: nodes drawn per layer.
        attention: whether the learned attention weighs the adjacency.
        variance: the factor λ of the variance in the loss.
        skip: add the paper's skip connections, from two layers below.
        precompute: aggregate the features once before training, so that the lowest layer is exact and not sampled, as
            the authors' code does on Reddit.
    """

    bias: bool = False
    samples: int = 128
    attention: bool = True
    variance: float = 0.5
    skip: bool = False
    precompute: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "samples")
        if not self.variance >= 0:
            raise InputError(f"variance: {self.variance} is less than 0")


class ASGCN(AdaptiveStack):
    """The model of AS-GCN; takes the same arguments as its base and the variance's factor in the loss."""

    factor: float = 0.0

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor | Penalised:
        """[b, out_channels] class scores, before softmax; in training with the penalty."""
        scores, variance = self.scored(x, blocks)
        return Penalised(scores, self.factor * variance) if self.training else scores


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    module = ASGCN(
        config.widths(in_channels, out_channels),
        attend=config.attention,
        skip=config.skip,
        dropout=config.dropout,
        bias=config.bias,
        aggregated=config.precompute,
        generator=generator,
    )
    module.factor = config.variance
    return module


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph: its normalised adjacency, and the model's law over it."""
    adjacency = propagation(scene.graph)
    x = propagated(adjacency, scene.x, scene.place.threads) if config.precompute else scene.x
    inputs = inputs_of([x], scene.place)
    blocks = config.layers - int(config.precompute)

    def importance(nodes: Tensor, block: Block) -> Tensor:
        found: Tensor = scene.model.importance(inputs.rows(nodes), block.to(scene.place.device))  # type: ignore[operator]
        return found

    sampler = AdaptiveSampler(adjacency, blocks, config.samples, importance)
    return sampled_and_whole(inputs, sampler, adjacency)


def defaults(dataset: str) -> dict[str, object]:
    """The weight decay of the authors' code, their settings for Reddit; for Citeseer and Pubmed the best of a few.

    Their learning rate on citation graphs is 0.001, ten times smaller than the one all methods share here.
    """
    return _SETTINGS.get(dataset.partition(":")[0], {"weight_decay": 0.0005})


_REDDIT: dict[str, object] = {"samples": 512, "precompute": True, "lr": 0.01, "weight_decay": 0.0001}
_SETTINGS: dict[str, dict[str, object]] = {
    "citeseer": {"precompute": True, "weight_decay": 0.0005},
    "pubmed": {"samples": 512, "precompute": True, "variance": 0.001, "lr": 0.02, "patience": 15},
    "reddit": _REDDIT,
    "reddit-like": _REDDIT,
}


RECIPE = Recipe(Config, model, views, defaults)
