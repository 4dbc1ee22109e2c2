"""Block and Batch: what a sampler produces and a model consumes.

A block is the bipartite adjacency of one layer: for each row that the layer computes (a receiver, PyG's target), it
lists the rows of the layer below that are aggregated (its senders, PyG's sources). Fine, coarse and skip aggregation,
and all other methods in this package, differ only in their blocks.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.keys import Key

Nodes = NDArray[np.int64]

EDGE_VALUES = ("weight", "edge_weight", "edge_type")
"""The fields of a block that may hold a value for each of its edges."""


@dataclass(frozen=True, eq=False)
class Block:
    """The edges of one layer, as compressed sparse rows (CSR): one row per receiver.

    Attributes:
        num_src: the number of rows of the layer below.
        indptr: [num_dst + 1] the start of each receiver's senders in ``indices``.
        indices: [num_edges] the senders, as rows of the layer below.
        root: [num_dst] the row of the layer below that holds the receiver itself.
        weight: [num_edges] the factors of a weighted sum, which may require gradients; None for the mean.
        group: when set, every receiver t has exactly ``group`` senders, the rows t, t + num_dst, t + 2·num_dst …, and
            its root is row t, so that a dense reduction over [group, num_dst, channels] can be used.
        edge_weight: [num_edges] float32 the weight of the graph's edge between sender and receiver or, in a skip block,
            of the edge by which the pick came; 1 for a node and itself. None unless the sampler was asked for it.
        edge_type: [num_edges] int64 the relation of that edge in the row of the receiver (of the node that the pick
            came by), see :class:`mggcn.graph.EdgeSchema`; the number of relations for a node and itself.
    """

    num_src: int
    indptr: Tensor
    indices: Tensor
    root: Tensor
    weight: Tensor | None = None
    group: int | None = None
    edge_weight: Tensor | None = None
    edge_type: Tensor | None = None

    @property
    def num_dst(self) -> int:
        """The number of receivers."""
        return self.root.numel()

    @cached_property
    def receivers(self) -> Tensor:
        """[num_edges] the receiver of each edge."""
        rows = torch.arange(self.num_dst, device=self.indices.device)
        return torch.repeat_interleave(rows, self.indptr.diff(), output_size=self.indices.numel())

    @cached_property
    def edge_index(self) -> Tensor:
        """[2, num_edges] int64: the senders as rows of the layer below, and the receivers 0 … num_dst - 1.

        This is PyG's convention for bipartite graphs: ``conv((x, x[block.root]), block.edge_index)``.
        """
        return torch.stack([self.indices.long(), self.receivers])

    @cached_property
    def factors(self) -> Tensor:
        """[num_edges] the factors of the sum over senders: ``weight``, or those of the mean."""
        if self.weight is not None:
            return self.weight.detach()
        counts = self.indptr.diff()
        mean = 1 / counts.clamp(min=1).float()
        return torch.repeat_interleave(mean, counts, output_size=self.indices.numel())

    @cached_property
    def transposed(self) -> tuple[Tensor, Tensor, Tensor]:
        """The same sums sorted by sender (CSC).

        Returns:
            [num_src + 1] the start of each sender's edges; then the receiver and the factor of each of those edges.
        """
        if self.indices.device.type == "cpu":
            arrays = (self.factors.numpy(), self.indices.numpy(), self.indptr.numpy())
            by_sender = csr_array(arrays, (self.num_dst, self.num_src)).tocsc()
            parts = (by_sender.indptr, by_sender.indices, by_sender.data)
            return tuple(torch.from_numpy(part) for part in parts)  # type: ignore[return-value]
        senders, order = torch.sort(self.indices, stable=True)
        every = torch.arange(self.num_src + 1, dtype=senders.dtype, device=senders.device)
        return torch.searchsorted(senders, every), self.receivers[order], self.factors[order]

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Block":
        """The block on a device: this one if it is there, else a copy."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
        moved: dict[str, Any] = {name: value.to(device, non_blocking=non_blocking) for name, value in tensors.items()}
        return self if all(moved[name] is value for name, value in tensors.items()) else replace(self, **moved)


@dataclass(frozen=True, eq=False)
class DrawnBlock(Block):
    """A block whose senders are a layer sample, drawn with replacement and shared by all receivers.

    Attributes:
        count: [num_src] the number of times each row of the layer below was drawn.
        draws: the total number of draws.
    """

    count: Tensor = field(kw_only=True)
    draws: int = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Repeats:
    """Which rows of a batch hold the same node: n rows that refer to at most c distinct nodes.

    Attributes:
        packed: [2 · c + 1 + 2 · n] int32 (int64 only above 2**31 nodes), the four properties below in one tensor, so
            that one copy moves them all.
        capacity: c; it is the same for all batches of a size, so that shapes stay fixed.
        count: n.
    """

    packed: Tensor
    capacity: int
    count: int

    @property
    def nodes(self) -> Tensor:
        """[c] the distinct nodes, padded with zeros."""
        return self.packed[: self.capacity]

    @property
    def indptr(self) -> Tensor:
        """[c + 1] the start of each distinct node's rows in ``order``."""
        return self.packed[self.capacity : 2 * self.capacity + 1]

    @property
    def index(self) -> Tensor:
        """[n] the index of each row's node in ``nodes``."""
        return self.packed[2 * self.capacity + 1 : 2 * self.capacity + 1 + self.count]

    @property
    def order(self) -> Tensor:
        """[n] the rows, sorted by node."""
        return self.packed[2 * self.capacity + 1 + self.count :]


@dataclass(frozen=True, eq=False, kw_only=True)
class HistoryBlock(Block):
    """A block of drawn edges together with all edges, for a convolution that stores earlier rows of every node.

    Attributes:
        num_nodes: the number of nodes of the graph.
        nodes: [num_src] the node of each row of the layer below.
        noise: [num_edges] the factors of the drawn edges for a term of mean zero, such as the noise of dropout.
        all_indptr: [num_dst + 1] the start of each receiver's senders in ``all_nodes``.
        all_nodes: [e] all senders, as nodes.
        all_weight: [e] their factors.
    """

    num_nodes: int
    nodes: Tensor
    noise: Tensor
    all_indptr: Tensor
    all_nodes: Tensor
    all_weight: Tensor


@dataclass(frozen=True, eq=False)
class Batch:
    """Everything a model needs to score some targets.

    Attributes:
        nodes: [n] the node of each input row; a node may occur in several rows.
        blocks: one per layer that aggregates, the lowest layer first.
        targets: [b] the nodes of the last block's receivers or, without blocks, of the input rows.
        weight: [b] each target's factor in the loss, which is then a weighted sum; None for the mean.
        repeats: which rows hold the same node, if the sampler has determined it.
        count: the number of targets of the whole batch, if these are a share of them; see
            :class:`mggcn.training._ranks.Shares`.
    """

    nodes: Tensor
    blocks: tuple[Block, ...]
    targets: Tensor
    weight: Tensor | None = None
    repeats: Repeats | None = None
    count: int | None = None

    @property
    def whole_count(self) -> int:
        """The number of targets of the whole batch."""
        return self.targets.numel() if self.count is None else self.count

    def to(self, device: torch.device | str) -> "Batch":
        """The batch on a device: this one if it is there, else a copy."""
        nodes = self.nodes.to(device)
        if nodes is self.nodes:
            return self
        return Batch(
            nodes,
            tuple(block.to(device) for block in self.blocks),
            self.targets.to(device),
            None if self.weight is None else self.weight.to(device),
            None if self.repeats is None else replace(self.repeats, packed=self.repeats.packed.to(device)),
            self.count,
        )


class Sampler(ABC):
    """Draws batches for targets. A sampler of your own needs ``batches`` and, unless it is a CPUSampler, ``device``.

    What it can do is declared by keywords of the class, ``class Walks(CPUSampler, draws_per_target=True)``, so that a
    misspelt one is an error. Sub-classes inherit it.

    Attributes:
        draws_per_target: what is drawn for a target does not depend on the rest of the batch: several ranks can then
            train with it, each with its share of every batch.
        one_batch: all targets are in one batch: training does not shuffle them.
    """

    draws_per_target: ClassVar[bool] = False
    one_batch: ClassVar[bool] = False

    def __init_subclass__(cls, *, draws_per_target: bool | None = None, one_batch: bool | None = None) -> None:
        super().__init_subclass__()
        cls.draws_per_target = cls.draws_per_target if draws_per_target is None else draws_per_target
        cls.one_batch = cls.one_batch if one_batch is None else one_batch

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """The device on which the sampler draws; targets that are already there need no copy."""

    def sizes(self) -> dict[int, int]:
        """Sizes that earlier batches fixed on a GPU; a resumed run fills them in. Most samplers have none."""
        return {}

    @abstractmethod
    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """Make one pass over ``targets``.

        Usually the batches contain the targets in order, ``batch_size`` at a time, each exactly once. A sampler of sub-
        graphs may choose its batch sizes itself, and one of random sub-graphs may leave out some targets. Expensive
        random draws belong in the call itself, which the training loop overlaps with other work; the iterator only
        assembles batches.

        Args:
            targets: [n] node numbers.
            key: of the random draws of this pass.
            batch_size: targets per batch.
        """


class CPUSampler(Sampler):
    """Base class of the samplers that draw on the CPU."""

    device = torch.device("cpu")


def node_ids(targets: Nodes | Tensor) -> Nodes:
    """Copy targets to a new array on the host."""
    return np.array(targets.cpu().numpy() if isinstance(targets, Tensor) else targets, np.int64)


def split_targets(targets: Nodes | Tensor, batch_size: int) -> list[Nodes]:
    """Copy targets to the host and cut them into arrays of ``batch_size``."""
    nodes = node_ids(targets)
    return [nodes[start : start + batch_size] for start in range(0, nodes.size, batch_size)]
