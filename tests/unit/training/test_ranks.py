"""Ranks and their shares of batches."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import distributed as dist

from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.sampling.neighbor import NeighborSampler, RowSampler
from mggcn.training._ranks import ALONE, Ranks, Shares, name_of_start


@pytest.fixture
def group() -> Iterator[Ranks]:
    """A process group of one rank."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield Ranks.current()
    dist.destroy_process_group()


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_parts_cover_all_rows_and_those_of_fewer_rows_are_never_larger(size: int) -> None:
    before = [0] * size
    for count in range(40):
        parts = [Ranks(rank, size).part(count) for rank in range(size)]
        assert np.concatenate([np.arange(count)[part] for part in parts]).tolist() == list(range(count))
        lengths = [part.stop - part.start for part in parts]
        assert max(lengths) - min(lengths) <= 1
        assert all(now >= earlier for now, earlier in zip(lengths, before, strict=True))
        before = lengths


@pytest.mark.parametrize("batch_size", [3, 4, 7, 11, 29, 64])
def test_shares_of_all_ranks_are_the_batches_of_one_process(batch_size: int, small: Dataset) -> None:
    sampler, key = NeighborSampler(small.graph, (3, 2)), Key.of(0)
    targets = np.random.default_rng(0).permutation(30)
    labels, weight = torch.tensor(small.y), torch.tensor([1.0, 2.0, 4.0])
    whole = list(sampler.batches(targets, key, batch_size))
    for class_weight in (None, weight):
        shares = [Shares(sampler, Ranks(rank, 3), labels, class_weight) for rank in range(3)]
        drawn = [list(share.batches(targets, key, batch_size)) for share in shares]
        for number, batch in enumerate(whole):
            parts = [batches[number] for batches in drawn]
            assert torch.cat([part.targets for part in parts]).tolist() == batch.targets.tolist()
            assert [part.count for part in parts] == [batch.targets.numel()] * 3
            total = 1 if class_weight is None else class_weight[labels[batch.targets]].sum()
            used = torch.ones(3) if class_weight is None else class_weight
            sums = [part.weight @ used[labels[part.targets]] for part in parts if part.weight is not None]
            assert float(sum(sums)) == pytest.approx(1.0)
            assert float(parts[0].weight[0]) == pytest.approx(
                float(1 / total if class_weight is not None else 1 / batch.targets.numel())
            )
        assert {len(batches) for batches in drawn} == {len(whole)}


def test_a_rank_without_a_share_of_the_last_batch_has_an_empty_one() -> None:
    share = Shares(RowSampler(), Ranks(1, 2), torch.zeros(5, dtype=torch.int64), None)
    batches = list(share.batches(np.arange(5), Key.of(0), 4))
    assert [batch.targets.tolist() for batch in batches] == [[2, 3], []]
    assert batches[1].count == 1


def test_a_group_of_one_rank_changes_no_bit(group: Ranks) -> None:
    parameters = [torch.nn.Parameter(torch.randn(3, 2)), torch.nn.Parameter(torch.randn(4))]
    parameters[0].grad = torch.randn(3, 2)
    expected = parameters[0].grad.clone()
    group.add_gradients(parameters)
    assert torch.equal(parameters[0].grad, expected)
    assert torch.equal(parameters[1].grad, torch.zeros(4))  # type: ignore[arg-type]
    assert torch.equal(group.add(expected), expected)
    assert torch.equal(group.gather(expected), expected)
    assert Ranks.current() is group


def test_more_ranks_than_gpus_on_a_machine_are_refused(group: Ranks, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = replace(group, local_size=2)
    monkeypatch.setattr(dist, "get_backend_config", lambda: "cpu:gloo,cuda:nccl")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(InputError, match="device: 2 ranks on a machine with 1 GPUs; each needs its own"):
        ranks.check(torch.device("cuda"), 8, {})
    ranks.check(torch.device("cpu"), 8, {})


def test_a_device_needs_its_backend(group: Ranks) -> None:
    with pytest.raises(InputError, match="device: cuda needs a process group with cuda:nccl, not cpu:gloo"):
        group.check(torch.device("cuda"), 8, {})


def test_an_error_of_the_first_rank_is_raised_on_all(group: Ranks) -> None:
    def fail() -> None:
        raise InputError("x: wrong")

    for call in (group.first, group.in_turn, ALONE.first):
        with pytest.raises(InputError, match="x: wrong"):
            call(fail)


def test_an_error_of_all_ranks_is_reported_once() -> None:
    store = dist.HashStore()
    reported = [
        Ranks(rank, 3, store=store).is_reported(message) for rank, message in enumerate(("one", "one", "other"))
    ]
    assert reported == [False, True, False]


def test_ranks_that_are_started_again_agree_on_another_name() -> None:
    store, names = dist.HashStore(), []
    for _ in range(3):
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(partial(name_of_start, store, size=3), range(3)))
        assert len({*found}) == 1
        names.append(found[0])
    assert len({*names}) == 3
