"""Steps recorded once as a CUDA graph and replayed: a launch for a whole step instead of one for every kernel."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from mggcn.block import Batch, Block

_WARM_UP = 3
_MOST_SHAPES = 16

Shape = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class _Slot:
    """A recorded step and the batch whose memory it reads."""

    batch: Batch
    graph: torch.cuda.CUDAGraph


class Captured:
    """Calls a function of batches; where a shape returns, as a replay of its recording.

    The first batches of a shape run as they are, which warms the libraries up; recording itself runs nothing, so every
    batch is taken exactly once. Batches whose edges change are never recorded.
    """

    def __init__(self, take: Callable[[Batch], None]) -> None:
        self._take = take
        self._slots: dict[Shape, _Slot] = {}
        self._seen: Counter[Shape] = Counter()

    def __call__(self, batch: Batch) -> None:
        """Take one batch."""
        shape = _shape(batch)
        slot = self._slots.get(shape)
        if slot is None:
            self._seen[shape] += 1
            if self._seen[shape] <= _WARM_UP or len(self._seen) > _MOST_SHAPES:
                self._run_aside(batch)
                return
            slot = self._slots[shape] = self._record(batch)
        _fill(slot.batch, batch)
        slot.graph.replay()

    def _run_aside(self, batch: Batch) -> None:
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            self._take(batch)
        torch.cuda.current_stream().wait_stream(aside)

    def _record(self, batch: Batch) -> _Slot:
        own = _own_memory(batch)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._take(own)
        return _Slot(own, graph)


def _shape(batch: Batch) -> Shape:
    """Sizes of what changes and places of what must not: equal shapes can share a recording."""
    capacity = -1 if batch.repeats is None else batch.repeats.capacity
    sizes: list[tuple[int, ...]] = [(batch.nodes.numel(), batch.targets.numel(), capacity)]
    for block in batch.blocks:
        weight = -1 if block.weight is None else block.weight.numel()
        sizes.append((block.num_src, block.indptr.data_ptr(), block.indices.data_ptr(), block.root.data_ptr(), weight))
    return tuple(sizes)


def _own_memory(batch: Batch) -> Batch:
    nodes = batch.nodes.clone()
    targets = nodes[: batch.targets.numel()] if _targets_lead(batch) else batch.targets.clone()
    blocks = tuple(
        Block(b.num_src, b.indptr, b.indices, b.root, None if b.weight is None else b.weight.clone(), b.group)
        for b in batch.blocks
    )
    same = None if batch.repeats is None else replace(batch.repeats, packed=batch.repeats.packed.clone())
    return Batch(nodes, blocks, targets, repeats=same)


def _fill(own: Batch, batch: Batch) -> None:
    own.nodes.copy_(batch.nodes)
    if not _targets_lead(batch):
        own.targets.copy_(batch.targets)
    if own.repeats is not None and batch.repeats is not None:
        own.repeats.packed.copy_(batch.repeats.packed)
    for mine, given in zip(own.blocks, batch.blocks, strict=True):
        if mine.weight is not None and given.weight is not None:
            mine.weight.copy_(given.weight)


def _targets_lead(batch: Batch) -> bool:
    return batch.targets.data_ptr() == batch.nodes.data_ptr() and batch.targets.dtype == batch.nodes.dtype
