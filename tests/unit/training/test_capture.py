"""Which batches share a recorded step, and what is copied into its memory; the recording itself needs a GPU."""

from dataclasses import dataclass, replace

import pytest
import torch

from mggcn.block import Batch
from mggcn.data._dataset import Dataset
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from mggcn.sampling.mix_grained import DeviceMixGrainedSampler
from mggcn.sampling.neighbor import RowSampler
from mggcn.training._capture import _MAX_SHAPES, _WARM_UP, Captured, Draws, _clone, _Slot
from tests.gpu import GPU


@dataclass
class Replayed:
    """In the place of a CUDA graph: steps on the memory that they were recorded with."""

    step: object
    draws: tuple[Draws, ...]

    def replay(self) -> None:
        for batches in self.draws:
            self.step(*batches)


class OnHost(Captured):
    """Records and replays without CUDA."""

    def _run_on_side_stream(self, batches: Draws) -> None:
        self._step(*batches)

    def _record(self, draws: tuple[Draws, ...]) -> _Slot:
        buffers = tuple(tuple(_clone(batch) for batch in batches) for batches in draws)
        return _Slot(buffers, Replayed(self._step, buffers))


def drawn(small: Dataset, sampler: DeviceMixGrainedSampler, seed: int) -> list[Batch]:
    return list(sampler.batches(small.split.train, Key.of(seed), 10))


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("draws", [1, 2])
@pytest.mark.parametrize("merge_from", [None, 1])
def test_every_draw_of_a_batch_reaches_the_step_in_order(
    small: Dataset, merge_from: int | None, draws: int, steps: int
) -> None:
    sampler = DeviceMixGrainedSampler(PickTable.of(small.graph).on(GPU), 3, layers=3, merge_from=merge_from)
    seen: list[tuple[Batch, ...]] = []
    captured = OnHost(lambda *batches: seen.append(tuple(_clone(batch) for batch in batches)), steps)
    calls: list[tuple[Batch, ...]] = []
    for epoch in range(3):
        calls += zip(*(drawn(small, sampler, 9 * draw + epoch) for draw in range(draws)), strict=True)
    for batches in calls:
        captured(*batches)
    captured.finish()
    assert {count for count, _ in captured._slots} == {1, steps}
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
    captured.finish()
    assert len(captured._slots) == 3
    assert sorted(len(slot.draws[0]) for slot in captured._slots.values()) == [1, 2, 2]


def test_later_batches_of_an_epoch_wait_for_each_other_but_not_for_another_shape(small: Dataset) -> None:
    sampler = DeviceMixGrainedSampler(PickTable.of(small.graph).on(GPU), 3)
    seen: list[int] = []
    captured = OnHost(lambda batch: seen.append(batch.targets.numel()), 3)
    whole = drawn(small, sampler, 0)[0]
    part = replace(whole, targets=whole.targets[:5].clone())
    for _ in range(_WARM_UP):
        captured(whole)
    lengths = []
    for _ in range(11):
        captured(whole)
        lengths.append(len(seen) - _WARM_UP)
    assert lengths == [1, 1, 3, 3, 3, 6, 6, 6, 9, 9, 9]
    captured(part)
    assert seen == [10] * (_WARM_UP + 11) + [5]
    captured(whole)
    assert seen[-1] == 10


def test_only_so_many_shapes_are_recorded(small: Dataset) -> None:
    seen: list[Batch] = []
    captured = OnHost(seen.append)
    batch = drawn(small, DeviceMixGrainedSampler(PickTable.of(small.graph).on(GPU), 3), 0)[0]
    shapes = [replace(batch, count=100 + number) for number in range(_MAX_SHAPES + 2)]
    for _ in range(_WARM_UP + 1):
        for shape in shapes:
            captured(shape)
    captured.finish()
    assert len(captured._slots) == _MAX_SHAPES
    assert len(seen) == len(shapes) * (_WARM_UP + 1)


def test_targets_of_single_rows_are_the_copied_nodes(small: Dataset) -> None:
    seen: list[tuple[list[int], list[int]]] = []
    captured = OnHost(lambda batch: seen.append((batch.nodes.tolist(), batch.targets.tolist())))
    targets = [number for _ in range(4) for number in small.split.train.tolist()]
    for batch in RowSampler(GPU).batches(torch.tensor(targets, device=GPU), Key.of(0), 7):
        captured(batch)
    captured.finish()
    assert len(seen) > 2 * _WARM_UP
    assert [node for nodes, _ in seen for node in nodes] == targets
    assert all(nodes == nodes_of_targets for nodes, nodes_of_targets in seen)
