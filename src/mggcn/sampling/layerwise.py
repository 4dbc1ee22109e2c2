"""Layer-wise samples: one set of nodes per layer, shared by all receivers of a batch.

FastGCN draws each layer from one distribution over the whole graph (Chen, Ma and Xiao, FastGCN: fast learning with
graph convolutional networks via importance sampling); LADIES draws it among the neighbours of the layer above (Zou and
others, Layer-dependent importance sampling for training deep and large graph convolutional networks), and so does
AS-GCN, in proportion to the contribution that the model expects of each (Huang, Zhang, Rong and Huang, Adaptive
sampling towards fast graph representation learning). Draws are independent and with replacement. A receiver aggregates
the drawn nodes that are adjacent to it, each with its factor times the importance weight (times drawn) / (draws ×
probability), so that the expected value is the sum over all of its senders. LADIES as its authors run it is biased:
it adds the batch's own nodes to every sample and scales each receiver's weights.

The rows below a block are its receivers, then the other drawn nodes, so that the row of every receiver is available.
Receivers that were not drawn themselves are there only for that reason: nothing above aggregates them, and they do not
influence the probabilities.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from mggcn._io.arrays import shared_tensor
from mggcn.block import Batch, Block, DrawnBlock, Nodes, node_ids
from mggcn.kernels.relabel import block_between
from mggcn.keys import Key, folds
from mggcn.sampling.neighbor import AdjacencySampler

Candidates = Literal["all", "neighbours"]
Floats = NDArray[np.float64]

_DIRECT = 1 << 20  # nodes; arrays with an entry for each node are then small enough for every batch


class LayerSample(NamedTuple):
    """The nodes drawn for one layer.

    Attributes:
        nodes: [k] distinct, in ascending order.
        times: [k] how often each was drawn.
        factor: [k] its importance weight, times / (draws × probability).
    """

    nodes: Nodes
    times: Nodes
    factor: Floats


DrawLayer = Callable[[Nodes, Nodes, csr_array, Key], LayerSample]


@dataclass(frozen=True, eq=False)
class LayerwiseSampler(AdjacencySampler, ABC):
    """Base class: draws the layers of a batch from the targets down, with the distribution of a subclass.

    Args:
        samples: nodes drawn per layer.
    """

    samples: int

    normalise = False

    @abstractmethod
    def draw_layer(self, targets: Nodes, nodes: Nodes, rows: csr_array, key: Key) -> LayerSample:
        """Draw a layer.

        Args:
            targets: of the batch.
            nodes: [n] drawn for the layer above; at the top, the targets.
            rows: [n, num_nodes] their rows of the adjacency.
            key: of the draws.
        """

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; each batch is drawn when the iterator reaches it."""
        return self._assemble(node_ids(targets), key, batch_size, self.draw_layer)

    def _assemble(self, targets: Nodes, key: Key, batch_size: int, draw_layer: DrawLayer) -> Iterator[Batch]:
        for start in range(0, targets.size, batch_size):
            drawn = receivers = batch_targets = targets[start : start + batch_size]
            blocks: list[Block] = []
            for layer in range(self.layers):
                rows = self.adjacency[receivers]
                drawn_rows = rows if drawn is receivers else self.adjacency[drawn]
                sample = draw_layer(batch_targets, drawn, drawn_rows, key.fold("layer", start, layer))
                block, receivers = block_of(rows, receivers, sample, normalise=self.normalise)
                drawn = sample.nodes
                blocks.insert(0, block)
            yield Batch(shared_tensor(receivers), tuple(blocks), shared_tensor(batch_targets))


@dataclass(frozen=True, eq=False)
class FastGCNSampler(LayerwiseSampler):
    """Draws each layer with probability proportional to |Â(:, u)|², the same for every layer and batch; Â: adjacency.

    Args:
        candidates: draw from ``all`` nodes (the paper), or only from the ``neighbours`` of the layer above (the
            authors' code), which draws no node that has no receiver; both are unbiased.
    """

    candidates: Candidates = "all"

    @cached_property
    def importance(self) -> Floats:
        """[num_nodes] |Â(:, u)|²."""
        return squared_columns(self.adjacency)

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; each batch is drawn when the iterator reaches it.

        Candidates ``all`` leave out nodes without neighbours that are not targets: no receiver aggregates them, but in
        the sub-graph of the training nodes there are many, and nearly all draws would fall on them.
        """
        if self.candidates == "neighbours":
            return super().batches(targets, key, batch_size)
        nodes = node_ids(targets)
        importance = np.where(np.diff(self.adjacency.indptr) > 1, self.importance, 0)
        importance[nodes] = self.importance[nodes]
        sums = np.cumsum(importance)
        return self._assemble(nodes, key, batch_size, lambda *above: draw(importance, sums, self.samples, above[-1]))

    def draw_layer(self, targets: Nodes, nodes: Nodes, rows: csr_array, key: Key) -> LayerSample:  # noqa: ARG002
        """Draw among the neighbours of the layer above."""
        senders = np.unique(rows.indices).astype(np.int64)
        return draw_among(senders, self.importance[senders], self.samples, key)


@dataclass(frozen=True, eq=False)
class LadiesSampler(LayerwiseSampler):
    """Draws each layer with probability proportional to |P(:, u)|² over the rows of the layer above; P: adjacency.

    Args:
        normalise: scale the factors of each receiver to a sum of 1, as the authors do; less variance, but biased.
        keep_targets: add the batch's targets to every sample, as if drawn once, as the authors do; biased.
    """

    normalise: bool = True
    keep_targets: bool = True

    def draw_layer(self, targets: Nodes, nodes: Nodes, rows: csr_array, key: Key) -> LayerSample:
        """Draw among the neighbours of the layer above."""
        senders, importance, total = sender_importance(rows)
        sample = draw_among(senders, importance, self.samples, key)
        if not self.keep_targets:
            return sample
        added = np.setdiff1d(targets, sample.nodes)
        nodes = np.concatenate([sample.nodes, added])
        times = np.concatenate([sample.times, np.ones_like(added)])
        order = np.argsort(nodes)
        factor = times * total / (self.samples * importance[np.searchsorted(senders, nodes)])
        return LayerSample(nodes[order], times[order], factor[order])


@dataclass(frozen=True, eq=False)
class AdaptiveSampler(LayerwiseSampler):
    """Draws each layer among the neighbours of the layer above, with probabilities from the model.

    Args:
        importance: a function of [n] nodes and the block of complete neighbourhoods between them that returns the
            importance of each row below, [n], positive for every sender. It is called when a batch is drawn, so it
            follows the training.
    """

    importance: Callable[[Tensor, Block], Tensor]

    def draw_layer(self, targets: Nodes, nodes: Nodes, rows: csr_array, key: Key) -> LayerSample:  # noqa: ARG002
        """Draw in proportion to the model's importance."""
        block, senders = block_between(nodes, rows.indptr, rows.indices, rows.shape[1], rows.data)
        with torch.no_grad():
            importance = self.importance(torch.from_numpy(senders), block).double().cpu().numpy()
        order = np.argsort(senders)
        return draw_among(senders[order], importance[order], self.samples, key)


def sender_importance(rows: csr_array, direct: int = _DIRECT) -> tuple[Nodes, Floats, float]:
    """The columns that have an entry in some rows, their squared lengths, and the sum of these."""
    if rows.shape[1] <= direct:
        squares = squared_columns(rows)
        senders = np.flatnonzero(squares)
        return senders, squares[senders], squares.sum()
    senders, column = np.unique(rows.indices, return_inverse=True)
    squares = np.bincount(column, np.square(rows.data, dtype=np.float64), senders.size).astype(np.float64, copy=False)
    return senders[squares > 0].astype(np.int64), squares[squares > 0], squares.sum()


def values_at(
    wanted: NDArray[Any], nodes: Nodes, values: NDArray[Any], num_nodes: int, direct: int = _DIRECT
) -> NDArray[Any]:
    """The values [n] of distinct ``nodes`` [n] for each wanted node, 0 for other nodes.

    In a graph of more than ``direct`` nodes they are searched, so that no batch allocates an entry for every node.
    """
    if num_nodes <= direct:
        of_node: NDArray[Any] = np.zeros(num_nodes, values.dtype)
        of_node[nodes] = values
        return np.asarray(of_node[wanted])
    order = np.argsort(nodes)
    nearest = order[np.minimum(np.searchsorted(nodes, wanted, sorter=order), nodes.size - 1)]
    return np.where(nodes[nearest] == wanted, values[nearest], 0).astype(values.dtype, copy=False)


def squared_columns(rows: csr_array) -> Floats:
    """[columns] the squared length of every column."""
    squares = np.square(rows.data, dtype=np.float64)
    return np.bincount(rows.indices, squares, minlength=rows.shape[1]).astype(np.float64, copy=False)


def draw(importance: Floats, sums: Floats, count: int, key: Key) -> LayerSample:
    """Draw indices independently, each with probability importance [n] / total; ``sums`` [n] are its running sums."""
    uniform = (folds(key.value, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    below = np.minimum(uniform * sums[-1], np.nextafter(sums[-1], 0))
    indices, times = np.unique(np.searchsorted(sums, below, side="right"), return_counts=True)
    return LayerSample(indices, times, times * sums[-1] / (count * importance[indices]))


def draw_among(nodes: Nodes, importance: Floats, count: int, key: Key) -> LayerSample:
    """Draw from ``nodes`` [n] with the given importance [n], as :func:`draw` does."""
    sample = draw(importance, np.cumsum(importance), count, key)
    return sample._replace(nodes=nodes[sample.nodes])


def block_of(
    rows: csr_array, receivers: Nodes, sample: LayerSample, *, normalise: bool = False
) -> tuple[DrawnBlock, Nodes]:
    """The block between a layer sample and its receivers, and the nodes of its rows below.

    These are the receivers, then the other drawn nodes. ``rows`` [num_dst, num_nodes] are the receivers' rows of the
    adjacency.
    """
    entry_factor = values_at(rows.indices, sample.nodes, sample.factor, rows.shape[1])
    kept = np.flatnonzero(entry_factor)
    senders, weight = rows.indices[kept], entry_factor[kept] * rows.data[kept]
    indptr = np.searchsorted(kept, rows.indptr)
    if normalise:
        row = np.repeat(np.arange(receivers.size), np.diff(indptr))
        weight /= np.bincount(row, weight, minlength=receivers.size)[row]
    nodes = np.concatenate([receivers, np.setdiff1d(sample.nodes, receivers, assume_unique=True)])
    count = np.zeros(nodes.size, np.float32)
    count[values_at(sample.nodes, nodes, np.arange(nodes.size), rows.shape[1])] = sample.times
    block = DrawnBlock(
        nodes.size,
        torch.from_numpy(indptr),
        torch.from_numpy(values_at(senders, nodes, np.arange(nodes.size), rows.shape[1])),
        torch.arange(receivers.size),
        torch.from_numpy(weight.astype(np.float32)),
        count=torch.from_numpy(count),
        draws=int(sample.times.sum()),
    )
    return block, nodes
