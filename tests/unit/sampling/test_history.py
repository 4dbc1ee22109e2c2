import numpy as np
import pytest
import torch
from torch import Tensor

import mggcn
from mggcn.block import Batch, HistoryBlock
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.methods.vr_gcn import HistoryConv
from mggcn.nn.conv import GCNConv
from mggcn.runs import resolve
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.neighbor import FullSampler, HistorySampler
from tests.properties import assert_batch_is_valid, assert_targets_covered_once

TARGETS = np.array([3, 41, 8, 59, 20])


def rows_of(count: int, seed: int) -> Tensor:
    return torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))


def estimates(small: Dataset, conv: HistoryConv, h: Tensor, history: Tensor, draws: int) -> Tensor:
    """[draws, targets, channels] estimates of the targets' sums over ``h``, with the same history for each."""
    sampler, found = HistorySampler(propagation(small.graph), 1, 2), []
    for draw in range(draws):
        conv.history = history.clone()
        batch = sampler.batch(TARGETS, Key.of(draw))
        (block,) = batch.blocks
        assert isinstance(block, HistoryBlock)
        found.append(conv.estimate(h[batch.nodes], block))
    return torch.stack(found)


def test_batches_are_valid_and_cover_targets_once(small: Dataset) -> None:
    sampler = HistorySampler(propagation(small.graph), 2, 2)
    batches: list[Batch] = list(sampler.batches(small.split.train, Key.of(0), 7))
    assert_targets_covered_once(batches, small.split.train, 7)
    for batch in batches:
        assert_batch_is_valid(batch)
        for block in batch.blocks:
            assert bool((block.indptr.diff() <= 2).all())
            assert block.to("cpu").nodes.tolist() == block.nodes.tolist()
    again = next(sampler.batches(small.split.train, Key.of(0), 7))
    other = next(sampler.batches(small.split.train, Key.of(1), 7))
    assert batches[0].nodes.tolist() == again.nodes.tolist() != other.nodes.tolist()


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_any_history_gives_an_unbiased_estimate(small: Dataset, dropout: float) -> None:
    conv, h = HistoryConv(4, 2, dropout=dropout), rows_of(60, 0)
    history = h + 0.5 * rows_of(60, 1)
    exact = torch.from_numpy(propagation(small.graph).toarray())[TARGETS] @ h
    torch.manual_seed(0)
    found = estimates(small, conv, h, history, 1_500)
    error = found.std(dim=0) / 1_500**0.5
    assert float(found.std(dim=0).max()) > 0.1, "draws differ"
    assert bool(((found.mean(dim=0) - exact).abs() < 5 * error + 1e-5).all())


def test_a_true_history_leaves_no_variance(small: Dataset) -> None:
    h = rows_of(60, 0)
    exact = torch.from_numpy(propagation(small.graph).toarray())[TARGETS] @ h
    found = estimates(small, HistoryConv(4, 2), h, h, 20)
    torch.testing.assert_close(found, exact.expand_as(found))


def test_history_reduces_the_variance(small: Dataset) -> None:
    conv, h = HistoryConv(4, 2), rows_of(60, 0)
    near = estimates(small, conv, h, h + 0.1 * rows_of(60, 1), 200).var(dim=0).sum()
    none = estimates(small, conv, h, torch.zeros_like(h), 200).var(dim=0).sum()
    assert float(near) < 0.05 * float(none)


def test_a_forward_pass_in_training_updates_the_history_of_its_rows_alone(small: Dataset) -> None:
    conv, h = HistoryConv(4, 2), rows_of(60, 0).requires_grad_()
    batch = HistorySampler(propagation(small.graph), 1, 2).batch(TARGETS, Key.of(0))
    conv(h[batch.nodes], batch.blocks[0]).sum().backward()
    assert h.grad is not None
    expected = torch.zeros(60, 4)
    expected[batch.nodes] = h.detach()[batch.nodes]
    assert not conv.history.requires_grad
    assert torch.equal(conv.history, expected)
    assert "history" not in conv.state_dict()
    conv.eval()
    conv(torch.ones(batch.nodes.numel(), 4), batch.blocks[0])
    assert torch.equal(conv.history, expected)


def test_ordinary_blocks_are_summed_exactly(small: Dataset) -> None:
    one, two = (kind(4, 2, bias=True, generator=torch.Generator().manual_seed(1)) for kind in (HistoryConv, GCNConv))
    batch = FullSampler(propagation(small.graph), 1).batch(TARGETS, Key.of(0))
    x = rows_of(60, 2)[batch.nodes]
    torch.testing.assert_close(one(x, batch.blocks[0]), two(x, batch.blocks[0]))


@pytest.mark.parametrize(("layers", "dropout"), [(2, 0.0), (3, 0.2)])
def test_training_learns(small: Dataset, layers: int, dropout: float) -> None:
    settings = {"layers": layers, "dropout": dropout, "batch_size": 8, "lr": 0.05, "epochs": 40}
    assert mggcn.fit(small, "vr-gcn", settings=settings).record.test_accuracy > 0.6


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match="layers: 1 is less than 2"):
        resolve("vr-gcn", "cora", {"layers": 1})
    with pytest.raises(InputError, match="fanout: 0 is less than 1"):
        resolve("vr-gcn", "cora", {"fanout": 0})
