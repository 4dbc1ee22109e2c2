"""Layer-wise samples: one set of nodes per layer, shared by every receiver of a batch.

FastGCN draws each layer from one law for the whole graph (Chen, Ma and Xiao, FastGCN: fast learning with graph
convolutional networks via importance sampling); LADIES draws it among the neighbours of the layer above (Zou and
others, Layer-dependent importance sampling for training deep and large graph convolutional networks). Draws are
independent and with replacement; a receiver hears the drawn nodes that it is adjacent to, each with its factor times
the importance weight (times drawn) / (draws × probability), so that on average it hears all of its senders.

The rows below a block are its receivers and then the other drawn nodes, so that every receiver's own row is at hand.
Receivers that were not drawn themselves are there for that reason only: nothing above hears them, and they count for
no probability.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.block import Batch, Block, DrawnBlock, node_numbers
from mggcn.keys import Key, folds

Candidates = Literal["all", "neighbours"]
Floats = NDArray[np.float64]
Nodes = NDArray[np.int64]


class Drawn(NamedTuple):
    """One layer's sample.

    Attributes:
        nodes: [k] distinct, in ascending order.
        times: [k] how often each was drawn.
        factor: [k] its importance weight, times / (draws × probability).
    """

    nodes: Nodes
    times: Nodes
    factor: Floats


@dataclass(frozen=True, eq=False)
class FastGCNSampler:
    """Draws each layer with probability proportional to |Â(:, u)|², the same for every layer and batch.

    Args:
        adjacency: [num_nodes, num_nodes] the matrix Â, whose row v holds the factors of the senders that v hears.
        layers: the number of blocks.
        samples: nodes drawn per layer.
        candidates: draw from ``all`` nodes (the paper), or only from the ``neighbours`` of the layer above (the
            authors' code), which spends no draw on nodes that nobody hears; unbiased both ways.
    """

    adjacency: csr_array
    layers: int
    samples: int
    candidates: Candidates = "all"

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    @cached_property
    def importance(self) -> Floats:
        """[num_nodes] |Â(:, u)|²."""
        return squared_columns(self.adjacency)

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``."""
        chosen = node_numbers(targets)
        choose = self._among_all(chosen) if self.candidates == "all" else self._among_neighbours
        return layered_batches(self.adjacency, self.layers, chosen, key, batch_size, choose)

    def _among_all(self, targets: Nodes) -> "Choose":
        """Draws from the law for the whole graph.

        Only a node without neighbours hears itself alone; those that are no targets are left out, since no receiver
        ever hears them, and in the graph of the training nodes they are many and would take nearly every draw.
        """
        importance = np.where(np.diff(self.adjacency.indptr) > 1, self.importance, 0)
        importance[targets] = self.importance[targets]
        sums = np.cumsum(importance)
        return lambda _nodes, _rows, key: draw(importance, sums, self.samples, key)

    def _among_neighbours(self, nodes: Nodes, rows: csr_array, key: Key) -> Drawn:  # noqa: ARG002
        heard = np.zeros(rows.shape[1], bool)
        heard[rows.indices] = True
        return draw_among(np.flatnonzero(heard), self.importance[heard], self.samples, key)


@dataclass(frozen=True, eq=False)
class LadiesSampler:
    """Draws each layer with probability proportional to |P(:, u)|² over the rows of the layer above.

    Args:
        adjacency: [num_nodes, num_nodes] the matrix P, whose row v holds the factors of the senders that v hears.
        layers: the number of blocks.
        samples: nodes drawn per layer.
        normalise: scale each receiver's factors to sum to 1, as the authors do; of less variance, but biased.
    """

    adjacency: csr_array
    layers: int
    samples: int
    normalise: bool = True

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``."""
        chosen = node_numbers(targets)
        return layered_batches(
            self.adjacency, self.layers, chosen, key, batch_size, self._among_neighbours, normalise=self.normalise
        )

    def _among_neighbours(self, nodes: Nodes, rows: csr_array, key: Key) -> Drawn:  # noqa: ARG002
        importance = squared_columns(rows)
        heard = np.flatnonzero(importance)
        return draw_among(heard, importance[heard], self.samples, key)


Choose = Callable[[Nodes, csr_array, Key], Drawn]
"""Draws a layer, given the nodes drawn above it (at the top, the targets), their rows and the layer's key."""


def squared_columns(rows: csr_array) -> Floats:
    """[columns] the squared length of every column of some rows."""
    squares = np.square(rows.data, dtype=np.float64)
    return np.bincount(rows.indices, squares, minlength=rows.shape[1]).astype(np.float64, copy=False)


def draw(importance: Floats, sums: Floats, count: int, key: Key) -> Drawn:
    """Draw places independently, each with probability importance / total.

    Args:
        importance: [n] not negative, not all zero.
        sums: [n] its running sums.
        count: the number of draws.
        key: of the draws.
    """
    uniform = (folds(key.value, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    below = np.minimum(uniform * sums[-1], np.nextafter(sums[-1], 0))
    places, times = np.unique(np.searchsorted(sums, below, side="right"), return_counts=True)
    return Drawn(places, times, times * sums[-1] / (count * importance[places]))


def draw_among(nodes: Nodes, importance: Floats, count: int, key: Key) -> Drawn:
    """Draw from some nodes, of [n] importance, as :func:`draw` does."""
    drawn = draw(importance, np.cumsum(importance), count, key)
    return drawn._replace(nodes=nodes[drawn.nodes])


def layered_batches(
    adjacency: csr_array,
    layers: int,
    targets: Nodes,
    key: Key,
    batch_size: int,
    choose: Choose,
    *,
    normalise: bool = False,
) -> Iterator[Batch]:
    """Batches whose layers are drawn one below the other, each when it is asked for."""
    for start in range(0, targets.size, batch_size):
        chosen = targets[start : start + batch_size]
        heard = receivers = chosen
        blocks: list[Block] = []
        for layer in range(layers):
            rows = adjacency[receivers]
            of_heard = rows if heard is receivers else adjacency[heard]
            drawn = choose(heard, of_heard, key.fold("layer", start, layer))
            block, receivers = block_of(rows, receivers, drawn, normalise=normalise)
            heard = drawn.nodes
            blocks.insert(0, block)
        yield Batch(torch.from_numpy(receivers), tuple(blocks), torch.from_numpy(chosen))


def block_of(rows: csr_array, receivers: Nodes, drawn: Drawn, *, normalise: bool = False) -> tuple[DrawnBlock, Nodes]:
    """The block of a sample.

    Args:
        rows: [num_dst, num_nodes] the receivers' rows of the adjacency.
        receivers: [num_dst] distinct nodes.
        drawn: the sample below.
        normalise: scale each receiver's factors to sum to 1.

    Returns:
        The block, and [num_src] the nodes of its rows below: the receivers, then the other drawn nodes.
    """
    factor = np.zeros(rows.shape[1])
    factor[drawn.nodes] = drawn.factor
    of_entry = factor[rows.indices]
    kept = np.flatnonzero(of_entry)
    senders, weight = rows.indices[kept], of_entry[kept] * rows.data[kept]
    indptr = np.searchsorted(kept, rows.indptr)
    if normalise:
        row = np.repeat(np.arange(receivers.size), np.diff(indptr))
        weight /= np.bincount(row, weight, minlength=receivers.size)[row]
    nodes = np.concatenate([receivers, np.setdiff1d(drawn.nodes, receivers, assume_unique=True)])
    place = np.zeros(rows.shape[1], np.int64)
    place[nodes] = np.arange(nodes.size)
    count = np.zeros(nodes.size, np.float32)
    count[place[drawn.nodes]] = drawn.times
    block = DrawnBlock(
        nodes.size,
        torch.from_numpy(indptr),
        torch.from_numpy(place[senders]),
        torch.arange(receivers.size),
        torch.from_numpy(weight.astype(np.float32)),
        count=torch.from_numpy(count),
        draws=int(drawn.times.sum()),
    )
    return block, nodes
