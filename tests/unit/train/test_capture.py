"""Which batches share a recorded step, and what is copied into its memory; the recording itself needs a GPU."""

from dataclasses import dataclass, replace

import pytest
import torch

from mggcn.block import Batch
from mggcn.dataset import Dataset
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from mggcn.sampling import DeviceMixGrainedSampler
from mggcn.train.capture import _WARM_UP, Captured, _clone, _Slot
from tests.gpu import GPU


@dataclass
class Replayed:
    """In the place of a CUDA graph: a step on the memory that it was recorded with."""

    step: object
    batches: tuple[Batch, ...]

    def replay(self) -> None:
        self.step(*self.batches)


class OnHost(Captured):
    """Records and replays without CUDA."""

    def _run_on_side_stream(self, batches: tuple[Batch, ...]) -> None:
        self._step(*batches)

    def _record(self, batches: tuple[Batch, ...]) -> _Slot:
        buffers = tuple(_clone(batch) for batch in batches)
        return _Slot(buffers, Replayed(self._step, buffers))


def drawn(small: Dataset, sampler: DeviceMixGrainedSampler, seed: int) -> list[Batch]:
    return list(sampler.batches(small.split.train, Key.of(seed), 10))


@pytest.mark.parametrize("draws", [1, 2])
@pytest.mark.parametrize("merge_from", [None, 1])
def test_every_draw_of_a_batch_reaches_the_step(small: Dataset, merge_from: int | None, draws: int) -> None:
    sampler = DeviceMixGrainedSampler(PickTable.of(small.graph).on(GPU), 3, layers=3, merge_from=merge_from)
    seen: list[tuple[Batch, ...]] = []
    captured = OnHost(lambda *batches: seen.append(tuple(_clone(batch) for batch in batches)))
    calls: list[tuple[Batch, ...]] = []
    for epoch in range(3):
        calls += zip(*(drawn(small, sampler, 9 * draw + epoch) for draw in range(draws)), strict=True)
    for batches in calls:
        captured(*batches)
    assert len(captured._slots) == 1
    assert len(seen) == len(calls) > _WARM_UP
    for given, got in zip(calls, seen, strict=True):
        for batch, copied in zip(given, got, strict=True):
            assert torch.equal(batch.nodes, copied.nodes)
            assert torch.equal(batch.targets, copied.targets)
            assert (batch.repeats is None) == (copied.repeats is None) == (merge_from is None)
            if batch.repeats is not None:
                assert torch.equal(batch.repeats.packed, copied.repeats.packed)
            for block, same in zip(batch.blocks, copied.blocks, strict=True):
                assert (block.weight is None) == (same.weight is None)
                assert block.weight is None or torch.equal(block.weight, same.weight)
                assert block.indices is same.indices


def test_the_second_draw_of_another_shape_has_a_recording_of_its_own(small: Dataset) -> None:
    sampler = DeviceMixGrainedSampler(PickTable.of(small.graph).on(GPU), 3)
    captured = OnHost(lambda *_: None)
    one, two = drawn(small, sampler, 0)[0], drawn(small, sampler, 1)[0]
    shorter = replace(two, targets=two.targets[:5].clone())
    for twin in (two, shorter):
        for _ in range(_WARM_UP + 1):
            captured(one, twin)
    for _ in range(_WARM_UP + 1):
        captured(one)
    assert len(captured._slots) == 3
    assert sorted(len(slot.batches) for slot in captured._slots.values()) == [1, 2, 2]
