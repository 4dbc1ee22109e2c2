"""The grains fine, coarse and skip: from sets of picks to blocks.

Rows are (target, node) pairs: with b targets, row ``i·b + t`` is the i-th member of S(target t), so the targets come
first. Pairs are never merged across targets, because a coarse layer computes a different value for the same node in
the set of another target.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn._io.arrays import shared_tensor
from mggcn.block import EDGE_VALUES, Block
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.edges import EdgeData, edge_data
from mggcn.kernels.pick import induce

Grain = Literal["fine", "coarse", "near", "skip"]
Padding = Literal["target", "none"]


def schedule(layers: int, *, has_fine: bool = True, has_skip: bool = True) -> tuple[Grain, ...]:
    """The paper's grains for a number of layers: fine first, skip last, coarse between.

    For ablations, a coarse layer can replace the fine layer, or the skip layer (``near``, computed for targets only).
    """
    if layers < 1:
        raise InputError(f"layers: {layers} is less than 1")
    first: Grain = "fine" if has_fine else "coarse"
    last: Grain = "skip" if has_skip else "near"
    if layers == 1:
        return ("fine",) if has_fine else (last,)
    middle: list[Grain] = ["coarse"] * (layers - 2)
    return (first, *middle, last)


def coarse(
    graph: Graph,
    picks: NDArray[Any],
    *,
    include_self: bool = False,
    edges: bool = False,
    threads: int | None = None,
) -> Block:
    """Every member u of every S(v) aggregates S(v) ∩ N(u): the paper's coarse-grained aggregator.

    A row of padding is a copy of its target and has the same senders.

    Args:
        graph: that defines N(u).
        picks: [b, s] members of S(v), the target first, short rows padded with the target.
        include_self: make u a sender of itself, for convolutions that do not read the receiver's root row.
        edges: look up the weight and the relation of each edge.
        threads: of the kernel; all cores when None.
    """
    b, s = picks.shape
    reached = induce(graph, picks, threads=threads).transpose(1, 0, 2)  # [s, b, s]
    if include_self:
        itself = np.where(picks == picks[:, :1], 0, np.arange(s))  # for rows of padding the target, once
        np.put_along_axis(reached, itself.T[:, :, None], True, axis=2)
    _, target, member = np.nonzero(reached)
    indptr = np.zeros(b * s + 1, np.int64)
    np.cumsum(reached.sum(axis=2).reshape(-1), out=indptr[1:])
    senders = member * b + target
    block = Block(b * s, torch.from_numpy(indptr), torch.from_numpy(senders), torch.arange(b * s))
    if not edges:
        return block
    receivers = np.repeat(picks.T.reshape(-1), np.diff(indptr))
    return with_edges(block, edge_data(graph, receivers, picks[target, member], threads=threads))


def near(block: Block, b: int) -> Block:
    """Restrict a coarse block over b targets to the targets as receivers, which aggregate S(v) ∩ N(v)."""
    end = int(block.indptr[b])
    values = {name: value[:end] for name in EDGE_VALUES if (value := getattr(block, name)) is not None}
    return replace(block, indptr=block.indptr[: b + 1], indices=block.indices[:end], root=block.root[:b], **values)


def skip(picks: NDArray[Any], *, include_target: bool = True, padding: Padding = "target") -> Block:
    """Every target aggregates all of S(v), neighbours of it or not: the paper's skip connection.

    Args:
        picks: [b, s] members of S(v), the target first, short rows padded with the target.
        include_target: whether the mean includes the target itself (the paper) or not (the authors' code).
        padding: ``target`` counts each row of padding as one more copy of the target; ``none`` leaves it out.
    """
    return with_skip_weight(whole_groups(*picks.shape), shared_tensor(picks), include_target, padding)


def with_arrivals(
    block: Block, graph: Graph, picks: NDArray[Any], came_by: NDArray[Any], *, threads: int | None = None
) -> Block:
    """Add to the skip block of [b, s] picks the weight and the relation of the edge by which each pick came.

    ``came_by`` [b, s] are the nodes at the other ends of these edges.
    """
    return with_edges(block, edge_data(graph, came_by.reshape(-1), picks.reshape(-1), threads=threads))


def with_edges(block: Block, found: EdgeData) -> Block:
    """Add the weight and the relation of each edge to a block."""
    weight, relation = torch.from_numpy(found.weight), torch.from_numpy(found.relation.astype(np.int64))
    return replace(block, edge_weight=weight, edge_type=relation)


def weighed(block: Block) -> Block:
    """Multiply the factors of a block by the weights of its edges, so that those of each receiver add up to 1 again.

    The mean over senders becomes the mean weighted by ``edge_weight``, in which a node itself weighs 1. Receivers whose
    factors are all zero keep them.
    """
    if block.edge_weight is None:
        raise InputError("weigh: the block has no weights of edges")
    factors = block.factors.double() * block.edge_weight
    total = factors.new_zeros(block.num_dst).index_add_(0, block.receivers, factors)
    factors /= torch.where(total == 0, 1, total)[block.receivers]
    return replace(block, weight=factors.float())


def with_skip_weight(block: Block, picks: Tensor, include_target: bool, padding: Padding) -> Block:
    """Add the weights that leave out the target or the padding, if any, to the skip block of [b, s] picks."""
    if include_target and padding == "target":
        return block
    counts = torch.ones(picks.shape, device=picks.device)
    counts[:, 0] = float(include_target)
    if padding == "none":
        counts[:, 1:] = (picks[:, 1:] != picks[:, :1]).float()
    weight = counts / counts.sum(dim=1, keepdim=True).clamp(min=1)
    return replace(block, weight=weight.view(-1))


@lru_cache(maxsize=8)
def whole_groups(b: int, s: int) -> Block:
    """The skip block of b targets with s members each, which is the same for all batches of this size."""
    senders = torch.arange(b * s).view(s, b).T.reshape(-1)
    return Block(b * s, torch.arange(0, b * s + 1, s), senders, torch.arange(b), group=s)


def rows(picks: NDArray[Any]) -> Tensor:
    """The node of each row: [b, s] picks to [b·s], targets first."""
    return shared_tensor(np.ascontiguousarray(picks.T)).view(-1)
