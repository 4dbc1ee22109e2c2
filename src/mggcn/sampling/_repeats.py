"""Finds the rows of each batch that hold the same node, for all batches of an epoch at once on the drawing device."""

import torch
from torch import Tensor

from mggcn.block import Repeats

_ROUND = 256


def find_repeats(rows: Tensor, batch_rows: int, num_nodes: int, least: int = 0) -> list[Repeats]:
    """Find the repeated rows of every batch of an epoch; ``rows`` [n] has their nodes, batch after batch.

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
    packed = torch.zeros(num_batches, rest + 2 * batch_rows, dtype=torch.int32, device=rows.device)
    packed[:, capacity:rest] = batch_rows
    packed[-1, capacity:rest] = last
    cells, start = packed.view(-1), batch * packed.shape[1]
    order = order - position + offset
    cells.scatter_(0, start + local, (keys % num_nodes).int())
    pointer = start + capacity + torch.where(is_first, local, capacity)
    cells.scatter_(0, pointer, torch.where(is_first, offset, size).int())
    cells.scatter_(0, start + rest + order, local.int())
    cells.scatter_(0, start + rest + size + offset, order.int())
    sizes = [batch_rows] * (num_batches - 1) + [last]
    return [Repeats(row[: rest + 2 * n], capacity, n) for row, n in zip(packed, sizes, strict=True)]
