"""AS-GCN: adaptive sampling towards fast graph representation learning (Huang, Zhang, Rong and Huang).

Inputs are x; blocks are one layer sample shared by the batch, drawn top-down among the neighbours of the layer above in
proportion to Σ_v Â(v, u) a(v, u) g(x(u)), where the attention a and the estimate g are linear maps of the features that
the model learns; the loss has a penalty on the variance of the top layer's sums. Scores are computed on the whole
graph, with the attention.

Differs from the paper: a and g have the form of the authors' code, ReLU(…) + 1, which is never zero. Only the variance
has a gradient with respect to the probabilities, since the scores do not depend on them on average; in the authors'
code there is none.

Differs from the authors' code: nodes are drawn in proportion to the paper's sum, while the code takes the length of a
sender's column of Â times one attention for the sum of all receivers, with the two learned numbers exchanged. The
variance is that of each receiver, there that of the batch's mean. Citation graphs are trained on the whole graph, there
on the sub-graph of the training nodes (``training_graph=train``). Neighbourhoods are whole, there of at most 32
neighbours. Weight decay is on all weights, there on the first layer's. The last, smaller batch is used, there it is
left out. Training stops early and keeps the best epoch by validation nodes; the code trains 300 epochs, has no
validation nodes and prints the accuracy of the test nodes after each. On Pubmed it adds the identity to Â, as
``add_identity`` does; ``precompute`` it has on Reddit only, while here it is also used on Pubmed.

Reference: Huang, Zhang, Rong and Huang: Adaptive Sampling Towards Fast Graph Representation Learning, NeurIPS 2018.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from mggcn.block import Block
from mggcn.methods._network import Network
from mggcn.methods.fastgcn import sampled_and_whole
from mggcn.methods.method import GraphView
from mggcn.nn.adaptive import AdaptiveStack
from mggcn.nn.rows import Rows
from mggcn.sampling.adjacency import propagated, propagation
from mggcn.sampling.layerwise import AdaptiveSampler
from mggcn.training import Count, NonNegative, Penalised, Views


@dataclass(frozen=True)
class ASGCN(Network):
    """AS-GCN: graph convolutions over layers sampled with learned probabilities.

    Attributes:
        bias: add a bias to each layer; the authors' layers have none.
        samples: nodes drawn per layer.
        attention: whether the adjacency is multiplied by the learned attention.
        variance: the factor λ of the variance in the loss.
        skip: add the paper's skip connections, from two layers below.
        precompute: aggregate the features once before training, so that the lowest layer is exact and not sampled, as
            the authors' code does on Reddit.
        add_identity: use I + Â instead of Â, as the authors' code does on Pubmed.
    """

    bias: bool = False
    samples: Count = 128
    attention: bool = True
    variance: NonNegative = 0.5
    skip: bool = False
    precompute: bool = False
    add_identity: bool = False

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """Convolutions whose factors are learned together with the sampler's probabilities."""
        module = PenalisedStack(
            self.widths(in_channels, out_channels),
            attend=self.attention,
            skip=self.skip,
            dropout=self.dropout,
            bias=self.bias,
            aggregated=self.precompute,
            generator=generator,
        )
        module.factor = self.variance
        return module

    def prepare(self, view: GraphView) -> Views:
        """The normalised adjacency, and a sampler that takes its probabilities from the model."""
        adjacency = propagation(view.graph)
        if self.add_identity:
            adjacency.setdiag(adjacency.diagonal() + 1)
        inputs = view.inputs(propagated(adjacency, view.x, view.threads) if self.precompute else view.x)
        blocks = self.layers - int(self.precompute)

        def importance(nodes: Tensor, block: Block) -> Tensor:
            values: Tensor = view.model.importance(inputs.rows(nodes), block.to(view.compute.device))  # type: ignore[operator]
            return values

        return sampled_and_whole(view, inputs, AdaptiveSampler(adjacency, blocks, self.samples, importance), adjacency)


class PenalisedStack(AdaptiveStack):
    """The model of AS-GCN; in training it adds the variance of the top layer's sums, times ``factor``, to the loss."""

    factor: float = 0.0

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor | Penalised:
        """[b, out_channels] class scores, before softmax; in training with the penalty."""
        scores, variance = self.scored(x, blocks)
        return Penalised(scores, self.factor * variance) if self.training else scores

    def hidden(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[b, channels] what the last layer's weights multiply: the scores if these weights were the identity."""
        last, weight = len(self.layers) - 1, cast("Tensor", self.layers[-1].weight)
        swapped = {f"layers.{last}.weight": torch.eye(weight.shape[0], device=weight.device)}
        if self.bias is not None:
            swapped[f"bias.{last}"] = weight.new_zeros(weight.shape[0])
        rows: Tensor = torch.func.functional_call(self, swapped, (x, blocks))
        return rows
