"""Every convolution: on all kinds of blocks and rows, and above MG-GCN's fine layer at every grain."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

import mggcn
from mggcn.block import Block
from mggcn.data._dataset import Dataset
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from mggcn.nn.rows import RepeatedRows, SparseRows
from mggcn.nn.stack import CONVS, MGGCN, WITHOUT_ROOT, Stack
from mggcn.sampling import grains
from mggcn.sampling.mix_grained import DeviceMixGrainedSampler, MixGrainedSampler
from tests.gpu import GPU
from tests.properties import assert_batch_is_valid, shuffle_edges

NAMES = list(CONVS)
IN, OUT = 4, 3


def conv_of(name: str) -> nn.Module:
    conv = CONVS[name](IN, OUT, bias=True, generator=torch.Generator().manual_seed(1)).double()
    for parameter in conv.parameters():
        nn.init.normal_(parameter, generator=torch.Generator().manual_seed(parameter.numel()))
    return conv


def rows_of(count: int) -> Tensor:
    return torch.randn(count, IN, dtype=torch.float64, generator=torch.Generator().manual_seed(count))


def ragged(weight: Tensor | None = None) -> Block:
    """Receivers with four, no, one and two senders."""
    indptr = torch.tensor([0, 4, 4, 5, 7])
    return Block(6, indptr, torch.tensor([0, 5, 4, 2, 2, 3, 1]), torch.tensor([1, 3, 0, 2]), weight)


def grouped(weight: Tensor | None = None) -> Block:
    senders = torch.arange(6).view(3, 2).T.reshape(-1)
    return Block(6, torch.tensor([0, 3, 6]), senders, torch.arange(2), weight, group=3)


class Copy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.clone()


def gradients(conv: nn.Module, x: Tensor, block: Block) -> list[Tensor]:
    x = x.clone().requires_grad_()
    out = Stack([conv], first=Copy(), negative_slope=0.1)(x, [block])
    return [out.detach(), *torch.autograd.grad(out.square().sum(), [x, *conv.parameters()], allow_unused=True)]


def assert_same(conv: nn.Module, one: Block, other: Block) -> None:
    """Equal results and gradients."""
    x = rows_of(6)
    for a, b in zip(gradients(conv, x, one), gradients(conv, x, other), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_a_grouped_block_is_a_block(name: str) -> None:
    assert_same(conv_of(name), grouped(), replace(grouped(), group=None))
    weight = torch.tensor([0.5, 0.5, 0, 0.5, 0, 0.5], dtype=torch.float64)
    assert_same(conv_of(name), grouped(weight), replace(grouped(weight), group=None))


@pytest.mark.parametrize("name", NAMES)
def test_a_sender_of_weight_zero_is_not_heard(name: str) -> None:
    weight = torch.tensor([0.5, 0, 0.5, 0, 0, 0.5, 0.5], dtype=torch.float64)
    heard = Block(6, torch.tensor([0, 2, 2, 2, 4]), torch.tensor([0, 4, 3, 1]), torch.tensor([1, 3, 0, 2]))
    assert_same(conv_of(name), ragged(weight), heard)
    assert_same(
        conv_of(name),
        grouped(torch.zeros(6, dtype=torch.float64)),
        Block(6, torch.zeros(3, dtype=torch.int64), torch.empty(0, dtype=torch.int64), torch.arange(2)),
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name != "lstm"])
def test_the_order_of_edges_does_not_matter(name: str) -> None:
    assert_same(conv_of(name), ragged(), shuffle_edges(ragged(), torch.Generator().manual_seed(3)))


def test_an_lstm_reads_the_blocks_order() -> None:
    conv, x = conv_of("lstm"), rows_of(6)
    block = ragged()
    turned = replace(block, indices=block.indices[torch.tensor([3, 2, 1, 0, 4, 6, 5])])
    changed = (conv(x, block) - conv(x, turned)).abs().amax(dim=1) > 1e-6
    assert changed.tolist() == [True, False, False, True]


def test_an_lstm_is_torchs_over_each_receivers_senders() -> None:
    conv, x, block = conv_of("lstm"), rows_of(6), ragged()
    lstm = nn.LSTM(IN, IN).double()  # its gates: input, forget, cell, output
    order = torch.arange(4 * IN).view(4, IN)[[0, 1, 3, 2]].view(-1)
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(conv.gates.weight.T[order])
        lstm.weight_hh_l0.copy_(conv.recur.weight.T[order])
        lstm.bias_ih_l0.copy_(conv.gates.bias[order])
        lstm.bias_hh_l0.zero_()
    for row, found in enumerate(conv(x, block)):
        senders = x[block.indices[block.indptr[row] : block.indptr[row + 1]]]
        state = lstm(senders)[0][-1] if len(senders) else torch.zeros(IN, dtype=torch.float64)
        torch.testing.assert_close(found, conv.root(x[block.root[row]]) + conv.states(state))


@pytest.mark.parametrize("name", NAMES)
def test_a_receiver_hears_its_senders_alone(name: str) -> None:
    conv, x = conv_of(name), rows_of(6)
    before = conv(x, ragged())
    x[5] += 1.0
    assert ((conv(x, ragged()) - before).abs().amax(dim=1) > 1e-9).tolist() == [True, False, False, False]


@pytest.mark.parametrize("name", NAMES)
def test_sparse_and_repeated_rows(name: str) -> None:
    conv = conv_of(name).float()
    matrix = csr_array(np.where(np.random.default_rng(0).random((9, IN)) < 0.4, 1.5, 0).astype(np.float32))
    nodes = torch.tensor([3, 8, 1, 0, 5, 2])
    expected = conv(torch.from_numpy(matrix.toarray())[nodes], ragged())
    torch.testing.assert_close(conv(SparseRows(matrix, nodes), ragged()), expected)
    distinct, place = torch.unique(torch.tensor([3, 8, 3, 0, 8, 2]), return_inverse=True)
    repeated = RepeatedRows(SparseRows(matrix, distinct), place)
    torch.testing.assert_close(conv(repeated, ragged()), conv(repeated.to_dense(), ragged()))


@pytest.mark.parametrize("name", NAMES)
def test_weights_follow_their_generator(name: str) -> None:
    one, two, other = (
        [p.detach() for p in CONVS[name](8, 8, bias=True, generator=torch.Generator().manual_seed(seed)).parameters()]
        for seed in (5, 5, 6)
    )
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def picks_with_padding(small: Dataset) -> tuple[PickTable, np.ndarray]:
    table = PickTable.of(small.graph)
    return table, table.draw(np.array([0, 58, 5, 7]), 3, Key.of(1))


def test_coarse_blocks_may_list_the_receiver(small: Dataset) -> None:
    table, picks = picks_with_padding(small)
    without, block = (grains.coarse(table.graph, picks, include_self=own) for own in (False, True))
    nodes = grains.rows(picks).long()
    for row in range(block.num_dst):
        before, now = (b.indices[b.indptr[row] : b.indptr[row + 1]].tolist() for b in (without, block))
        added = set(now) - set(before)
        assert len(now) == len(before) + 1
        assert [int(nodes[sender]) for sender in added] == [int(nodes[row])]
        assert len({int(nodes[sender]) for sender in now}) == len(now), "nobody is heard twice"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layers", [2, 3, 4])
def test_the_gpus_blocks_give_the_same_scores(small: Dataset, name: str, layers: int) -> None:
    table, own = PickTable.of(small.graph), name in WITHOUT_ROOT
    host = MixGrainedSampler(table, 3, layers, coarse_self=own)
    device = DeviceMixGrainedSampler(table.on(GPU), 3, layers, coarse_self=own)
    model = MGGCN(3, 4, 3, layers, conv=name)
    x = torch.from_numpy(np.concatenate([small.x, small.x[::-1]], axis=1))
    targets = np.arange(40, 60)
    for one, two in zip(host.batches(targets, Key.of(1), 8), device.batches(targets, Key.of(1), 8), strict=True):
        assert_batch_is_valid(one)
        rows, moved = x[one.nodes.long()], two.to("cpu")
        torch.testing.assert_close(model(rows, one.blocks), model(rows, moved.blocks))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layers", [2, 3])
def test_every_convolution_trains(small: Dataset, name: str, layers: int) -> None:
    run = mggcn.fit(small, settings={"conv": name, "layers": layers, "epochs": 30, "lr": 0.05}, preset="paper")
    assert run.record.test_accuracy >= 0.6
