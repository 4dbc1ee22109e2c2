"""AS-GCN: adaptive sampling towards fast graph representation learning (Huang, Zhang, Rong and Huang).

Inputs are x; blocks are one layer sample shared by the batch, drawn top-down among the neighbours of the layer above in
proportion to Σ_v Â(v, u) a(v, u) g(x(u)), where the attention a and the estimate g are linear maps of the features that
the model learns; the loss has a penalty on the variance of the top layer's sums. Scores are computed on the whole
graph, with the attention. Â is the symmetric normalisation of the weights of edges.

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
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from mggcn.block import Block, DrawnBlock
from mggcn.graph import EdgePart
from mggcn.methods.method import WEIGHTS, GraphView, Network
from mggcn.nn.conv import Layer, Linear, aggregate, dropout
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

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS

    bias: bool = False
    samples: Count = 128
    attention: bool = True
    variance: NonNegative = 0.5
    skip: bool = False
    precompute: bool = False
    add_identity: bool = False

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """Convolutions whose factors are learned together with the sampler's probabilities."""
        return AdaptiveStack(self, in_channels, out_channels, generator)

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

        sampler = AdaptiveSampler(adjacency, blocks, self.samples, importance)
        return view.sampled(inputs, sampler, adjacency, blocks)


class AdaptiveStack(Layer, accepts_rows=True):
    """Graph convolutions whose factors are learned together with the sampler's probabilities.

    A linear map of the input features gives every node two numbers, one as a receiver and one as a sender. The
    attention of receiver v to sender u is a(v, u) = ReLU(receiver(v) + sender(u)) + 1, a factor of the adjacency;
    g(u) = ReLU(sender(u)) + 1 is the sampler's estimate of the size of a sender's hidden row.
    """

    def __init__(
        self, settings: ASGCN, in_channels: int, out_channels: int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.settings, widths = settings, settings.widths(in_channels, out_channels)
        self.layers = nn.ModuleList(Linear(a, b, generator=generator) for a, b in pairwise(widths))
        self.bias = nn.ParameterList(torch.zeros(b) for b in widths[1:]) if settings.bias else None
        self.sampling = Linear(in_channels, 2, generator=generator)

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor | Penalised:
        """[b, out_channels] class scores, before softmax; in training with the penalty."""
        scores, variance = self.scored(x, blocks)
        return Penalised(scores, self.settings.variance * variance) if self.training else scores

    def hidden(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[b, channels] what the last layer's weights multiply: the scores if these weights were the identity."""
        last, weight = len(self.layers) - 1, cast("Tensor", self.layers[-1].weight)
        swapped = {f"layers.{last}.weight": torch.eye(weight.shape[0], device=weight.device)}
        if self.bias is not None:
            swapped[f"bias.{last}"] = weight.new_zeros(weight.shape[0])
        rows: Tensor = torch.func.functional_call(self, swapped, (x, blocks))
        return rows

    def importance(self, x: Rows, block: Block) -> Tensor:
        """[num_src] the importance of each sender of whole neighbourhoods: the sum of its factors times g."""
        numbers: Tensor = self.sampling(x)
        return _importance(numbers, self._with_attention(block, numbers))

    def scored(self, x: Rows, blocks: Sequence[Block]) -> tuple[Tensor, Tensor]:
        """[b, out_channels] class scores, and the variance of their sums over the top layer's sample, 0 if none."""
        joined = torch.cat([self.layers[0].weight, self.sampling.weight], dim=1)  # type: ignore[list-item]
        rows, numbers = torch.tensor_split(x.matmul(joined), [joined.shape[1] - 2], dim=1)
        rows, skipped, variance = rows.contiguous(), None, rows.new_zeros(())
        out = rows
        if self.settings.precompute:
            out = self._with_bias(rows, 0)
            rows, skipped = self._above(0, out, rows)
        for layer, block in enumerate(blocks, start=int(self.settings.precompute)):
            weighted = self._with_attention(block, numbers)
            direct = aggregate(rows, weighted)
            out = self._with_bias(direct if skipped is None else direct + aggregate(skipped, weighted), layer)
            if layer + 1 == len(self.layers):
                return out, _variance(rows, numbers, weighted, direct)
            rows, skipped = self._above(layer, out, direct)
            numbers = numbers.index_select(0, block.root)
        return out, variance

    def _with_bias(self, out: Tensor, layer: int) -> Tensor:
        return out if self.bias is None else out + self.bias[layer]

    def _above(self, layer: int, out: Tensor, direct: Tensor) -> tuple[Tensor, Tensor | None]:
        """The rows that the next layer sums: its products with the activated and with the skipping rows."""
        if layer + 1 == len(self.layers):
            return out, None
        linear = self.layers[layer + 1]
        hidden = dropout(out.relu(), self.settings.dropout, self.training)
        return linear(hidden), linear(direct) if self.settings.skip else None

    def _with_attention(self, block: Block, numbers: Tensor) -> Block:
        """The block with its weights multiplied by the attention, from [num_src, 2] numbers."""
        if not self.settings.attention or block.weight is None:
            return block
        receivers = numbers[:, 0].index_select(0, block.root).index_select(0, block.receivers)
        attention = torch.relu(receivers + numbers[:, 1].index_select(0, block.indices)) + 1
        return replace(block, weight=block.weight * attention)


def _importance(numbers: Tensor, block: Block) -> Tensor:
    """[num_src] the sum of each sender's weights times g."""
    estimate = torch.relu(numbers[:, 1]) + 1
    if block.weight is None:
        raise TypeError("importance needs a block with weights")
    return estimate * torch.zeros_like(estimate).index_add(0, block.indices, block.weight.to(estimate.dtype))


def _variance(rows: Tensor, numbers: Tensor, block: Block, total: Tensor) -> Tensor:
    """The empirical variance of a drawn layer's sums, averaged over receivers and channels.

    A receiver's sum is the mean over n draws of z = a(v, u) Â(v, u) h(u) / q(u), so its variance is that of z over n.
    The block holds the probabilities q as numbers; this function restores their gradient. As the draws follow q, its
    normalising constant changes like the mean, over the draws, of the change of importance. ``rows`` [num_src,
    channels] are the senders h, ``numbers`` [num_src, 2] are of every node, ``total`` [num_dst, channels] are the sums.
    """
    if not isinstance(block, DrawnBlock) or block.weight is None:
        return total.new_zeros(())
    importance = _importance(numbers, block)
    change = importance / importance.detach().clamp_min(torch.finfo(importance.dtype).tiny)
    change = change * block.draws / (block.count @ change)  # 1 at every drawn row, with the gradient of log q
    shared = (block.count * change).clamp_min(1e-9).index_select(0, block.indices)
    squares = aggregate(rows.square(), replace(block, weight=block.weight.square() / shared))
    return (squares - total.square() / block.draws).mean()
