"""Training steps recorded as CUDA graphs and replayed: one launch for several steps instead of one per kernel."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mggcn.block import Batch, Block

_log = logging.getLogger(__name__)

_WARM_UP = 3
_MAX_SHAPES = 16
_STEPS = 8  # in one recording

Draws = tuple[Batch, ...]
Shape = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class _Slot:
    """Recorded steps and the batches whose memory they read."""

    draws: tuple[Draws, ...]
    graph: torch.cuda.CUDAGraph


class Captured:
    """Runs a step on batches; batches of a shape that was seen before replay a recording of that shape.

    The first batches of a shape run without recording, which warms the libraries up. Recording itself computes nothing,
    so every batch is processed exactly once, in order. Batches whose edges change are never recorded.

    The first ``_STEPS`` batches of an epoch replay a recording of one step each, which keeps the GPU busy while later
    ones wait until there are ``_STEPS`` of them; these replay one recording of as many steps.

    Args:
        step: processes one batch, or several draws of it.
    """

    def __init__(self, step: Callable[..., None]) -> None:
        self._step = step
        self._slots: dict[tuple[int, Shape], _Slot] = {}
        self._seen: Counter[Shape] = Counter()
        self._shape: Shape = ()
        self._waiting: list[Draws] = []  # of this shape
        self._count = 0  # batches since the last call of finish

    def __call__(self, *batches: Batch) -> None:
        """Process one batch, or several draws of it, now or together with the next ones."""
        shape = tuple(size for batch in batches for size in _shape(batch))
        if shape != self._shape:
            self.finish()
            self._shape = shape
        if shape in self._seen or len(self._seen) < _MAX_SHAPES:
            self._seen[shape] += 1
        if self._seen[shape] <= _WARM_UP:
            with _timed():
                self._run_on_side_stream(batches)
            return
        self._count += 1
        if self._count <= _STEPS:
            self._replay((batches,))
            return
        self._waiting.append(batches)
        if len(self._waiting) == _STEPS:
            self._replay(tuple(self._waiting))
            self._waiting.clear()

    def finish(self) -> None:
        """Process the batches that wait; to be called at the end of an epoch."""
        for batches in self._waiting:
            self._replay((batches,))
        self._waiting.clear()
        self._count = 0

    def _replay(self, draws: tuple[Draws, ...]) -> None:
        slot = self._slots.get((len(draws), self._shape))
        if slot is None:
            with _timed():
                slot = self._slots[len(draws), self._shape] = self._record(draws)
        pairs = [
            pair
            for buffers, batches in zip(slot.draws, draws, strict=True)
            for buffer, batch in zip(buffers, batches, strict=True)
            for pair in zip(_changing(buffer), _changing(batch), strict=True)
        ]
        targets, sources = ([pair[side] for pair in pairs] for side in (0, 1))
        torch._foreach_copy_(targets, sources)
        slot.graph.replay()

    def _run_on_side_stream(self, batches: Draws) -> None:
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._step(*batches)
        torch.cuda.current_stream().wait_stream(stream)

    def _record(self, draws: tuple[Draws, ...]) -> _Slot:
        buffers = tuple(tuple(_clone(batch) for batch in batches) for batches in draws)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            for batches in buffers:
                self._step(*batches)
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


def _changing(batch: Batch) -> list[Tensor]:
    """What differs between batches of a shape."""
    targets = [] if _targets_lead(batch) else [batch.targets]
    repeats = [] if batch.repeats is None else [batch.repeats.packed]
    weights = [batch.weight, *(block.weight for block in batch.blocks)]
    return [batch.nodes, *targets, *repeats, *(weight for weight in weights if weight is not None)]


def _targets_lead(batch: Batch) -> bool:
    """Whether the targets are the first rows of ``nodes``, in the same memory."""
    return batch.targets.data_ptr() == batch.nodes.data_ptr() and batch.targets.dtype == batch.nodes.dtype
