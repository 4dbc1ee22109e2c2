"""Training steps recorded once as a CUDA graph and replayed: one launch per step instead of one per kernel."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from mggcn.block import Batch, Block

_log = logging.getLogger(__name__)

_WARM_UP = 3
_MAX_SHAPES = 16

Shape = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class _Slot:
    """A recorded step and the batches whose memory it reads."""

    batches: tuple[Batch, ...]
    graph: torch.cuda.CUDAGraph


class Captured:
    """Runs a step on batches; batches of a shape that was seen before replay the recording of that shape.

    The first batches of a shape run without recording, which warms the libraries up. Recording itself computes nothing,
    so every batch is processed exactly once. Batches whose edges change are never recorded.

    Args:
        step: processes one batch, or several draws of it.
    """

    def __init__(self, step: Callable[..., None]) -> None:
        self._step = step
        self._slots: dict[Shape, _Slot] = {}
        self._seen: Counter[Shape] = Counter()

    def __call__(self, *batches: Batch) -> None:
        """Process one batch, or several draws of it."""
        shape = tuple(size for batch in batches for size in _shape(batch))
        slot = self._slots.get(shape)
        if slot is None:
            self._seen[shape] += 1
            if len(self._seen) > _MAX_SHAPES:
                self._run_on_side_stream(batches)
                return
            with _timed():
                if self._seen[shape] <= _WARM_UP:
                    self._run_on_side_stream(batches)
                    return
                slot = self._slots[shape] = self._record(batches)
        for buffer, batch in zip(slot.batches, batches, strict=True):
            _fill(buffer, batch)
        slot.graph.replay()

    def _run_on_side_stream(self, batches: tuple[Batch, ...]) -> None:
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._step(*batches)
        torch.cuda.current_stream().wait_stream(stream)

    def _record(self, batches: tuple[Batch, ...]) -> _Slot:
        buffers = tuple(_clone(batch) for batch in batches)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._step(*buffers)
        return _Slot(buffers, graph)


@contextmanager
def _timed() -> Iterator[None]:
    """Log the time until a step is in the GPU's queue, which is long while libraries and kernels are loaded."""
    started = time.perf_counter()
    yield
    seconds = time.perf_counter() - started
    _log.debug("a first step or its recording: %.3f s", seconds, extra={"phase": "capture", "seconds": seconds})


def _shape(batch: Batch) -> Shape:
    """Sizes of what may change and memory addresses of what must not: equal shapes can share a recording."""
    capacity = -1 if batch.repeats is None else batch.repeats.capacity
    sizes: list[tuple[int, ...]] = [(batch.nodes.numel(), batch.targets.numel(), capacity, batch.whole_count)]
    for block in batch.blocks:
        weight = -1 if block.weight is None else block.weight.numel()
        sizes.append((block.num_src, block.indptr.data_ptr(), block.indices.data_ptr(), block.root.data_ptr(), weight))
    return tuple(sizes)


def _clone(batch: Batch) -> Batch:
    """A copy of a batch that shares only the edges with it."""
    nodes = batch.nodes.clone()
    targets = nodes[: batch.targets.numel()] if _targets_lead(batch) else batch.targets.clone()
    blocks = tuple(
        Block(b.num_src, b.indptr, b.indices, b.root, None if b.weight is None else b.weight.clone(), b.group)
        for b in batch.blocks
    )
    repeats = None if batch.repeats is None else replace(batch.repeats, packed=batch.repeats.packed.clone())
    return Batch(nodes, blocks, targets, None if batch.weight is None else batch.weight.clone(), repeats, batch.count)


def _fill(buffer: Batch, batch: Batch) -> None:
    buffer.nodes.copy_(batch.nodes)
    if not _targets_lead(batch):
        buffer.targets.copy_(batch.targets)
    if buffer.weight is not None and batch.weight is not None:
        buffer.weight.copy_(batch.weight)
    if buffer.repeats is not None and batch.repeats is not None:
        buffer.repeats.packed.copy_(batch.repeats.packed)
    for ours, theirs in zip(buffer.blocks, batch.blocks, strict=True):
        if ours.weight is not None and theirs.weight is not None:
            ours.weight.copy_(theirs.weight)


def _targets_lead(batch: Batch) -> bool:
    """Whether the targets are the first rows of ``nodes``, in the same memory."""
    return batch.targets.data_ptr() == batch.nodes.data_ptr() and batch.targets.dtype == batch.nodes.dtype
