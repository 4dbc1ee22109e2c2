"""Block and Batch: all that samplers say and models hear.

A block is one layer's bipartite adjacency: which rows of the layer below reach each receiver. Fine, coarse and skip
aggregation, and every other method of the literature, differ only in their blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.keys import Key


@dataclass(frozen=True, eq=False)
class Block:
    """One layer's edges, in compressed sparse rows over the receivers.

    Attributes:
        num_src: rows of the layer below.
        indptr: [num_dst + 1] where each receiver's senders start.
        indices: [num_edges] the senders, as rows of the layer below.
        root: [num_dst] each receiver's own row in the layer below.
        weight: [num_edges] factors of a weighted sum, which may carry gradient; None asks for the mean.
        group: when set, every receiver t has so many senders, the rows t, t + num_dst, t + 2·num_dst …, and its own row
            is t, so that a dense reduction over [group, num_dst, width] does the work.
    """

    num_src: int
    indptr: Tensor
    indices: Tensor
    root: Tensor
    weight: Tensor | None = None
    group: int | None = None

    @property
    def num_dst(self) -> int:
        """The number of receivers."""
        return self.root.numel()

    @cached_property
    def edge_index(self) -> Tensor:
        """[2, num_edges] senders and receivers, as PyTorch Geometric's bipartite convolutions take them."""
        rows = torch.arange(self.num_dst, device=self.indices.device)
        receivers = torch.repeat_interleave(rows, self.indptr.diff(), output_size=self.indices.numel())
        return torch.stack([self.indices.long(), receivers])

    @cached_property
    def transposed(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The edges by sender: [num_src + 1] where each one's start, then the place here and the receiver of each."""
        places = np.arange(self.indices.numel())
        rows = csr_array((places, self.indices.cpu().numpy(), self.indptr.cpu().numpy()), (self.num_dst, self.num_src))
        by_sender = rows.tocsc()
        return by_sender.indptr, by_sender.data, by_sender.indices

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Block":
        """The same block on a device."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        moved: dict[str, Any] = {
            name: value.to(device, non_blocking=non_blocking)
            for name, value in values.items()
            if isinstance(value, Tensor)
        }
        return replace(self, **moved)


@dataclass(frozen=True, eq=False)
class DrawnBlock(Block):
    """A block whose senders are a layer sample, drawn with replacement and shared by all receivers.

    Attributes:
        count: [num_src] how often each row below was drawn.
        draws: how many in all.
    """

    count: Tensor = field(kw_only=True)
    draws: int = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Repeats:
    """Which rows of a batch are the same node, in a fixed shape: c distinct nodes, some of them unused, behind n rows.

    Attributes:
        packed: [2 · c + 1 + 2 · n] int32, all that follows end to end, so that one copy moves it.
        capacity: c.
        count: n.
    """

    packed: Tensor
    capacity: int
    count: int

    @property
    def nodes(self) -> Tensor:
        """[c] the distinct nodes, then zeros."""
        return self.packed[: self.capacity]

    @property
    def indptr(self) -> Tensor:
        """[c + 1] where each node's rows start in ``order``."""
        return self.packed[self.capacity : 2 * self.capacity + 1]

    @property
    def place(self) -> Tensor:
        """[n] each row's place among the distinct nodes."""
        return self.packed[2 * self.capacity + 1 : 2 * self.capacity + 1 + self.count]

    @property
    def order(self) -> Tensor:
        """[n] the rows, node by node."""
        return self.packed[2 * self.capacity + 1 + self.count :]


@dataclass(frozen=True, eq=False, kw_only=True)
class HistoryBlock(Block):
    """A block of a few drawn edges beside all of them, for a convolution that remembers old rows of every node.

    Attributes:
        num_nodes: of the graph.
        nodes: [num_src] the node behind each row of the layer below.
        noise: [num_edges] the factors of the drawn edges for a term of mean zero, such as dropout's.
        all_indptr: [num_dst + 1] where all the senders of each receiver start.
        all_nodes: [e] these senders, as nodes.
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
    """What a model needs to score some targets; complete when built.

    Attributes:
        nodes: [n] the node behind each input row; a node may stand in several rows.
        blocks: one per layer that aggregates, the lowest first.
        targets: [b] the nodes that the last block's receivers (or, without blocks, the input rows) stand for.
        weight: [b] each target's factor in the sum that is the batch's loss; None asks for the mean.
        repeats: which rows are the same node, where the sampler found out; None where it did not.
    """

    nodes: Tensor
    blocks: tuple[Block, ...]
    targets: Tensor
    weight: Tensor | None = None
    repeats: Repeats | None = None

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on a device."""
        return Batch(
            self.nodes.to(device),
            tuple(block.to(device) for block in self.blocks),
            self.targets.to(device),
            None if self.weight is None else self.weight.to(device),
            None if self.repeats is None else replace(self.repeats, packed=self.repeats.packed.to(device)),
        )


class Sampler(Protocol):
    """Turns targets into batches."""

    @property
    def device(self) -> torch.device:
        """Where it draws; targets on that device save it a copy."""
        ...

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; as a rule in their order, ``batch_size`` at a time, each exactly once.

        A sampler of sub-graphs makes batches of its own size, and one of random sub-graphs may pass over some targets.
        Costly random draws happen in the call itself, so that a caller can overlap them with other work; the returned
        iterator only assembles batches.
        """
        ...


def node_numbers(targets: NDArray[np.int64] | Tensor) -> NDArray[np.int64]:
    """Targets as a fresh array on the host."""
    return np.array(targets.cpu().numpy() if isinstance(targets, Tensor) else targets, np.int64)
