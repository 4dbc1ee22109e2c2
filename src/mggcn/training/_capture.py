"""Training steps recorded as CUDA graphs and replayed: one launch for several steps instead of one per kernel."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor

from mggcn.block import EDGE_VALUES, Batch, Block

_log = logging.getLogger(__name__)

_WARM_UP = 3
_MAX_SHAPES = 16
_STEPS = 16  # in one recording, at most

Draws = tuple[Batch, ...]
Shape = tuple[tuple[int, ...], ...]


class _Slot:
    """Recorded steps and the batches whose memory they read; what changes has to be filled before a replay."""

    def __init__(self, draws: tuple[Draws, ...], graph: torch.cuda.CUDAGraph) -> None:
        self.draws, self.graph, self.changing = draws, graph, _all_changing(draws)


class Captured:
    """Runs a step on batches; batches of a shape that was seen before replay a recording of that shape.

    The first batches of a shape run without recording, which warms the libraries up. Recording itself computes nothing,
    so every batch is processed exactly once, in order. Batches whose edges change are never recorded.

    Batches wait for each other and replay one recording of all their steps, in an epoch first of 1, then of 2, 4 … and
    at most ``most``: the GPU is busy from the first batch on, and the host soon ahead of it.
    """

    def __init__(self, step: Callable[..., None], most: int = _STEPS) -> None:
        self._step, self._most = step, most
        self._slots: dict[tuple[int, Shape], _Slot] = {}
        self._seen: Counter[Shape] = Counter()
        self._shape: Shape = ()
        self._last: Draws = ()  # of this shape
        self._waiting: list[Draws] = []  # of this shape
        self._group = 1  # batches that the next recording has

    def __call__(self, *batches: Batch) -> None:
        """Process one batch, or several draws of it, now or together with the next ones."""
        if not _are_alike(batches, self._last):
            shape = tuple(size for batch in batches for size in _shape(batch))
            if shape != self._shape:
                self.finish()
                self._shape = shape
        self._last = batches
        seen = self._seen[self._shape]
        if seen < _WARM_UP:
            if seen or len(self._seen) < _MAX_SHAPES:
                self._seen[self._shape] += 1
            with _timed():
                self._run_on_side_stream(batches)
            return
        self._waiting.append(batches)
        if len(self._waiting) == self._group:
            self._replay(self._group)
            self._group = min(2 * self._group, self._most)

    def finish(self) -> None:
        """Process the batches that wait; to be called at the end of an epoch."""
        while self._waiting:
            self._replay(1 << (len(self._waiting).bit_length() - 1))
        self._group = 1

    def _replay(self, count: int) -> None:
        """Process the first batches that wait."""
        draws = tuple(self._waiting[:count])
        del self._waiting[:count]
        slot = self._slots.get((count, self._shape))
        if slot is None:
            with _timed():
                slot = self._slots[count, self._shape] = self._record(draws)
        torch._foreach_copy_(slot.changing, _all_changing(draws))
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
        edges = (block.indptr.data_ptr(), block.indices.data_ptr(), block.root.data_ptr())
        values = (-1 if getattr(block, name) is None else getattr(block, name).numel() for name in EDGE_VALUES)
        sizes.append((block.num_src, *edges, *values))
    return tuple(sizes)


def _are_alike(batches: Draws, others: Draws) -> bool:
    """Whether batches certainly have the shape of others, which shows faster than their shapes can be compared."""
    return len(batches) == len(others) and all(
        one.blocks is two.blocks
        and one.repeats is two.repeats is None
        and one.nodes.numel() == two.nodes.numel()
        and one.targets.numel() == two.targets.numel()
        and one.count == two.count
        for one, two in zip(batches, others, strict=True)
    )


def _clone(batch: Batch) -> Batch:
    """A copy of a batch that shares only the edges with it."""
    nodes = batch.nodes.clone()
    targets = nodes[: batch.targets.numel()] if _targets_lead(batch) else batch.targets.clone()
    blocks = tuple(
        Block(b.num_src, b.indptr, b.indices, b.root, group=b.group, **{k: v.clone() for k, v in _values(b).items()})
        for b in batch.blocks
    )
    repeats = None if batch.repeats is None else replace(batch.repeats, packed=batch.repeats.packed.clone())
    return Batch(nodes, blocks, targets, None if batch.weight is None else batch.weight.clone(), repeats, batch.count)


def _changing(batch: Batch) -> list[Tensor]:
    """What differs between batches of a shape."""
    targets = [] if _targets_lead(batch) else [batch.targets]
    repeats = [] if batch.repeats is None else [batch.repeats.packed]
    weight = [] if batch.weight is None else [batch.weight]
    return [batch.nodes, *targets, *repeats, *weight, *(v for block in batch.blocks for v in _values(block).values())]


def _values(block: Block) -> dict[str, Tensor]:
    """What a block holds for each edge beside the sender."""
    return {name: value for name in EDGE_VALUES if (value := getattr(block, name)) is not None}


def _all_changing(draws: tuple[Draws, ...]) -> list[Tensor]:
    return [tensor for batches in draws for batch in batches for tensor in _changing(batch)]


def _targets_lead(batch: Batch) -> bool:
    """Whether the targets are the first rows of ``nodes``, in the same memory."""
    return batch.targets.data_ptr() == batch.nodes.data_ptr() and batch.targets.dtype == batch.nodes.dtype
