"""Which rows of each batch are the same node, found for a whole epoch at once on the device that drew it."""

import torch
from torch import Tensor

from mggcn.block import Repeats

_ROUND = 256


def find_repeats(rows: Tensor, batch_rows: int, num_nodes: int, least: int = 0) -> list[Repeats]:
    """Sort out every batch of an epoch.

    Args:
        rows: [n] the node behind each row, batch after batch.
        batch_rows: rows of every batch but the last, which may be shorter.
        num_nodes: of the graph.
        least: of the capacity, so that shapes stay the same from epoch to epoch.
    """
    num_keys = -(-rows.numel() // batch_rows) * num_nodes
    whole = torch.int32 if num_keys <= torch.iinfo(torch.int32).max else torch.int64
    place = torch.arange(rows.numel(), device=rows.device)
    batch = place // batch_rows
    keys, order = torch.sort((batch * num_nodes + rows).to(whole), stable=True)
    is_first = torch.ones_like(keys, dtype=torch.bool)
    is_first[1:] = keys[1:] != keys[:-1]
    rank = torch.cumsum(is_first, 0)
    before = rank[::batch_rows] - 1
    local = rank - 1 - before[batch]
    counts = torch.diff(before, append=rank[-1:])
    capacity = max(least, -(-int(counts.max()) // _ROUND) * _ROUND)
    offset = place - batch * batch_rows
    size = (rows.numel() - batch * batch_rows).clamp(max=batch_rows)
    num_batches, last = before.numel(), rows.numel() - (before.numel() - 1) * batch_rows
    rest = 2 * capacity + 1
    packed = torch.zeros(num_batches, rest + 2 * batch_rows, dtype=torch.int32, device=rows.device)
    packed[:, capacity:rest] = batch_rows
    packed[-1, capacity:rest] = last
    cells, line = packed.view(-1), batch * packed.shape[1]
    order = order - place + offset
    cells.scatter_(0, line + local, (keys % num_nodes).int())
    start = line + capacity + torch.where(is_first, local, capacity)
    cells.scatter_(0, start, torch.where(is_first, offset, size).int())
    cells.scatter_(0, line + rest + order, local.int())
    cells.scatter_(0, line + rest + size + offset, order.int())
    sizes = [batch_rows] * (num_batches - 1) + [last]
    return [Repeats(line[: rest + 2 * n], capacity, n) for line, n in zip(packed, sizes, strict=True)]
