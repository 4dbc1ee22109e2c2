import pytest
import torch

from mggcn.block import Block
from mggcn.nn.conv import GCNConv, MeanConv, aggregate
from mggcn.nn.stack import MGGCN
from tests.properties import shuffle_edges


def ragged(weight: bool = False) -> Block:
    indptr = torch.tensor([0, 3, 3, 4])
    weights = torch.tensor([0.5, -1.0, 2.0, 3.0], dtype=torch.float64) if weight else None
    return Block(5, indptr, torch.tensor([0, 4, 4, 2]), torch.tensor([1, 3, 0]), weights)


def grouped(weight: bool = False) -> Block:
    senders = torch.arange(6).view(3, 2).T.reshape(-1)
    weights = torch.rand(6, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) if weight else None
    return Block(6, torch.tensor([0, 3, 6]), senders, torch.arange(2), weights, group=3)


def by_hand(x: torch.Tensor, block: Block) -> torch.Tensor:
    out = torch.zeros(block.num_dst, x.shape[1], dtype=x.dtype)
    for row in range(block.num_dst):
        edges = range(int(block.indptr[row]), int(block.indptr[row + 1]))
        for edge in edges:
            factor = 1 / len(edges) if block.weight is None else block.weight[edge]
            out[row] += factor * x[block.indices[edge]]
    return out


@pytest.mark.parametrize("block", [ragged(), ragged(True), grouped(), grouped(True)])
def test_aggregate_by_hand_with_gradient(block: Block) -> None:
    x = torch.randn(
        block.num_src, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True
    )
    torch.testing.assert_close(aggregate(x, block), by_hand(x, block))
    (found,) = torch.autograd.grad(aggregate(x, block).square().sum(), x)
    (expected,) = torch.autograd.grad(by_hand(x, block).square().sum(), x)
    torch.testing.assert_close(found, expected)


def test_weights_may_carry_gradient() -> None:
    block, x = ragged(True), torch.randn(5, 4, dtype=torch.float64)
    block.weight.requires_grad_(True)
    aggregate(x, block).sum().backward()
    torch.testing.assert_close(block.weight.grad, x[block.indices].sum(1))


@pytest.mark.parametrize("block", [ragged(), ragged(True), grouped(), grouped(True)])
def test_conv_ignores_the_order_of_edges(block: Block) -> None:
    x = torch.randn(block.num_src, 4, dtype=torch.float64)
    conv = MeanConv(4, 3).double()
    torch.testing.assert_close(conv(x, block), conv(x, shuffle_edges(block, torch.Generator().manual_seed(3))))


@pytest.mark.parametrize("out_channels", [2, 9])
def test_a_graph_convolution_is_the_same_whichever_comes_first(out_channels: int) -> None:
    block, x = ragged(True), torch.randn(5, 4, dtype=torch.float64)
    conv = GCNConv(4, out_channels, bias=True).double()
    torch.testing.assert_close(conv(x, block), by_hand(x, block) @ conv.linear.weight + conv.bias)


def test_the_model_has_the_papers_parameters() -> None:
    shapes = [tuple(p.shape) for p in MGGCN(10, 16, 3, 3).parameters()]
    assert shapes == [(20, 16), (32, 16), (32, 3)]
    assert [tuple(p.shape) for p in MGGCN(10, 16, 3, 1).parameters()] == [(20, 3)]


def test_weights_follow_their_generator() -> None:
    models = [MGGCN(4, 8, 2, generator=torch.Generator().manual_seed(5)) for _ in range(2)]
    for one, two in zip(*(m.parameters() for m in models), strict=True):
        assert torch.equal(one, two)
    limit = (6 / (8 + 8)) ** 0.5
    assert 0.5 * limit < models[0].first.weight.abs().max() <= limit
