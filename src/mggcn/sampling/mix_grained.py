"""Batches for MG-GCN: picks by Algorithm 1, then a coarse block per middle layer and a skip block.

On a GPU one launch draws all picks of an epoch, and batches have fixed shapes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn._io.arrays import shared_tensor
from mggcn.block import Batch, Block, CPUSampler, Repeats, Sampler
from mggcn.kernels.edges import arrivals
from mggcn.kernels.pick import DevicePickTable, Explore, PickTable, induce_on
from mggcn.keys import Key
from mggcn.sampling import grains
from mggcn.sampling.adjacency import unequal_weights

_MERGE_FROM = 8192  # rows of a batch
_ROUND = 256


@dataclass(frozen=True, eq=False)
class MixGrainedSampler(CPUSampler, draws_per_target=True):
    """Draws S(v) for every target and makes blocks from it.

    Args:
        table: the prepared graph.
        picks: the paper's M.
        layers: the number of layers of the model; the first, fine layer needs no block.
        include_target: whether the skip mean includes the target.
        padding: how missing picks are counted, see :func:`mggcn.sampling.grains.skip`.
        fixed_key: draw with this key in every pass instead of the pass's key, so that the picks stay the same.
        threads: of the kernels; all cores when None. The result does not depend on it.
        coarse_self: whether every row is a sender of itself in coarse blocks, see :func:`mggcn.sampling.grains.coarse`.
        has_fine: whether the first layer is fine, see :func:`mggcn.sampling.grains.schedule`.
        has_skip: whether the last layer is a skip connection.
        explore: whose neighbours are picked, see :meth:`mggcn.kernels.pick.PickTable.draw`.
        edges: whether blocks have ``edge_weight`` and ``edge_type``: in coarse blocks those of the edges between the
            picks, in the skip block those of the edge by which each pick came; of the graph of the table.
        weigh: whether means are weighted by ``edge_weight``, see :func:`mggcn.sampling.grains.weighed`; where all edges
            weigh 1 nothing changes.
    """

    table: PickTable
    picks: int
    layers: int = 2
    include_target: bool = True
    padding: grains.Padding = "target"
    fixed_key: Key | None = None
    threads: int | None = None
    coarse_self: bool = False
    has_fine: bool = True
    has_skip: bool = True
    explore: Explore = "both"
    edges: bool = False
    weigh: bool = False

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; all picks are drawn in the call."""
        if isinstance(targets, Tensor):
            targets = targets.cpu().numpy()
        if self._schedule == ("fine",):
            members = targets[:, None]
        else:
            key = self.fixed_key or key
            members = self.table.draw(targets, self.picks, key, explore=self.explore, threads=self.threads)
        return self._assemble(targets, members, batch_size)

    def _assemble(self, targets: NDArray[np.int64], members: NDArray[Any], batch_size: int) -> Iterator[Batch]:
        for start in range(0, targets.size, batch_size):
            part = members[start : start + batch_size]
            batch_targets = shared_tensor(targets[start : start + batch_size])
            yield Batch(grains.rows(part), self.blocks(part), batch_targets)

    def came_by(self, picks: NDArray[Any]) -> NDArray[Any]:
        """[b, 1 + picks] the node next to which each pick was drawn, see :func:`mggcn.kernels.edges.arrivals`."""
        found = arrivals(self.table.graph, picks, explore=self.explore, threads=self.threads)
        return np.take_along_axis(picks, found, axis=1)

    def blocks(self, picks: NDArray[Any], came_by: NDArray[Any] | None = None) -> tuple[Block, ...]:
        """The blocks of a batch, one per layer that is not fine, from its [b, 1 + picks] picks.

        ``came_by`` is that of whole sets of picks, if some picks are left out of these.
        """
        blocks: dict[grains.Grain, Block] = {}
        graph, threads = self.table.graph, self.threads
        weigh, edges = self._weighs, self.edges or self._weighs
        if "coarse" in self._schedule or "near" in self._schedule:
            block = grains.coarse(graph, picks, include_self=self.coarse_self, edges=edges, threads=threads)
            blocks["coarse"] = grains.weighed(block) if weigh else block
            blocks["near"] = grains.near(blocks["coarse"], picks.shape[0])
        if "skip" in self._schedule:
            block = grains.skip(picks, include_target=self.include_target, padding=self.padding)
            if edges:
                came_by = self.came_by(picks) if came_by is None else came_by
                block = grains.with_arrivals(block, graph, picks, came_by, threads=threads)
            blocks["skip"] = grains.weighed(block) if weigh else block
        return tuple(blocks[grain] for grain in self._schedule if grain != "fine")

    @cached_property
    def _weighs(self) -> bool:
        return self.weigh and unequal_weights(self.table.graph) is not None

    @property
    def _schedule(self) -> tuple[grains.Grain, ...]:
        return grains.schedule(self.layers, has_fine=self.has_fine, has_skip=self.has_skip)


@dataclass(frozen=True, eq=False)
class DeviceMixGrainedSampler(Sampler, draws_per_target=True):
    """Draws the same picks as :class:`mggcn.sampling.MixGrainedSampler`, on the GPU that holds the table.

    Batches of at least ``merge_from`` rows contain ``repeats``; for smaller batches, and for scoring, finding the
    repeats costs more than it saves. Coarse blocks list all members of S(v) and give those outside N(u) the weight
    zero, so that shapes stay fixed. ``capacities`` holds the room for distinct rows that earlier batches of a size
    needed; a run that is resumed starts with it.
    """

    table: DevicePickTable
    picks: int
    layers: int = 2
    include_target: bool = True
    padding: grains.Padding = "target"
    fixed_key: Key | None = None
    coarse_self: bool = False
    explore: Explore = "both"
    merge_from: int | None = _MERGE_FROM
    _fixed: dict[tuple[str, int], Block] = field(default_factory=dict, repr=False)
    capacities: dict[int, int] = field(default_factory=dict, repr=False)

    @property
    def device(self) -> torch.device:
        """The GPU that holds the table."""
        return self.table.indices.device

    def sizes(self) -> dict[int, int]:
        """The capacities."""
        return self.capacities

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; all picks are drawn in the call."""
        nodes = targets if isinstance(targets, Tensor) else shared_tensor(targets)
        nodes = nodes.to(self.device, self.table.indices.dtype)
        if self.layers == 1:
            return self._slices(nodes, nodes.numel(), batch_size, 1)
        rows = self.table.draw_rows(nodes, self.picks, self.fixed_key or key, batch_size, explore=self.explore)
        repeats: list[Repeats] = []
        num_rows = batch_size * (1 + self.picks)
        if self.merge_from is not None and num_rows >= self.merge_from and nodes.numel():
            least = self.capacities.get(batch_size, 0)
            repeats = find_repeats(rows, num_rows, self.table.indptr.numel() - 1, least)
            self.capacities[batch_size] = repeats[0].capacity
        return self._slices(rows, nodes.numel(), batch_size, 1 + self.picks, repeats)

    def _slices(
        self, rows: Tensor, count: int, batch_size: int, size: int, repeats: Sequence[Repeats] = ()
    ) -> Iterator[Batch]:
        if rows.is_cuda:
            rows.record_stream(torch.cuda.current_stream())
            for part in repeats:
                part.packed.record_stream(torch.cuda.current_stream())
        stay = self.layers <= 2 and self.include_target and self.padding == "target"
        blocks: tuple[Block, ...] | None = None
        for number, nodes in enumerate(torch.split(rows, batch_size * size) if count else ()):
            b = nodes.numel() // size
            if blocks is None or not stay or b != batch_size:
                blocks = self._blocks(nodes.view(size, b))
            yield Batch(nodes, blocks, nodes[:b], repeats=repeats[number] if repeats else None)

    def _blocks(self, members: Tensor) -> tuple[Block, ...]:
        schedule = grains.schedule(self.layers)
        coarse = [self._coarse(members)] * schedule.count("coarse") if "coarse" in schedule else []
        return (*coarse, self._skip(members)) if "skip" in schedule else tuple(coarse)

    def _skip(self, members: Tensor) -> Block:
        s, b = members.shape
        block = self._fixed.get(("skip", b))
        if block is None:
            block = self._fixed["skip", b] = grains.whole_groups(b, s).to(members.device)
        return grains.with_skip_weight(block, members.T, self.include_target, self.padding)

    def _coarse(self, members: Tensor) -> Block:
        s, b = members.shape
        block = self._fixed.get(("coarse", b))
        if block is None:
            row = torch.arange(s * b, device=members.device)
            senders = (row[:, None] % b + b * torch.arange(s, device=members.device)).view(-1)
            indptr = torch.arange(0, s * b * s + 1, s, device=members.device)
            block = self._fixed["coarse", b] = Block(s * b, indptr, senders, row)
        table = self.table
        reached = induce_on(table.indptr, table.indices, table.symmetric, members).float()  # [s · b, s]
        if self.coarse_self:
            itself = torch.where(members == members[:1], 0, torch.arange(s, device=members.device)[:, None])
            reached.scatter_(1, itself.view(-1, 1), 1.0)
        weight = reached / reached.sum(dim=1, keepdim=True).clamp(min=1)
        return replace(block, weight=weight.view(-1))


def find_repeats(rows: Tensor, batch_rows: int, num_nodes: int, least: int = 0) -> list[Repeats]:
    """Find the rows that hold the same node in every batch of an epoch; ``rows`` [n] has the nodes, batch after batch.

    Batches have ``batch_rows`` rows; the last one may have fewer. ``least`` is the smallest capacity allowed, so that
    shapes stay the same from epoch to epoch.
    """
    num_keys = -(-rows.numel() // batch_rows) * num_nodes
    dtype = torch.int32 if num_keys <= torch.iinfo(torch.int32).max else torch.int64
    position = torch.arange(rows.numel(), device=rows.device)
    batch = position // batch_rows
    keys, order = torch.sort((batch * num_nodes + rows).to(dtype), stable=True)
    is_first = torch.ones_like(keys, dtype=torch.bool)
    is_first[1:] = keys[1:] != keys[:-1]
    rank = torch.cumsum(is_first, 0)
    before = rank[::batch_rows] - 1
    local = rank - 1 - before[batch]
    counts = torch.diff(before, append=rank[-1:])
    capacity = max(least, -(-int(counts.max()) // _ROUND) * _ROUND)
    offset = position - batch * batch_rows
    size = (rows.numel() - batch * batch_rows).clamp(max=batch_rows)
    num_batches, last = before.numel(), rows.numel() - (before.numel() - 1) * batch_rows
    rest = 2 * capacity + 1
    width = torch.int32 if num_nodes <= torch.iinfo(torch.int32).max else torch.int64
    packed = torch.zeros(num_batches, rest + 2 * batch_rows, dtype=width, device=rows.device)
    packed[:, capacity:rest] = batch_rows
    packed[-1, capacity:rest] = last
    cells, start = packed.view(-1), batch * packed.shape[1]
    order = order - position + offset
    cells.scatter_(0, start + local, (keys % num_nodes).to(width))
    pointer = start + capacity + torch.where(is_first, local, capacity)
    cells.scatter_(0, pointer, torch.where(is_first, offset, size).to(width))
    cells.scatter_(0, start + rest + order, local.to(width))
    cells.scatter_(0, start + rest + size + offset, order.to(width))
    sizes = [batch_rows] * (num_batches - 1) + [last]
    return [Repeats(row[: rest + 2 * n], capacity, n) for row, n in zip(packed, sizes, strict=True)]
