"""Our convolutions over whole neighbourhoods equal PyTorch Geometric's with the same weights."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mggcn.block import Block
from mggcn.data._dataset import Dataset
from mggcn.keys import Key
from mggcn.nn.conv import GATConv, GCNConv, MeanConv, PoolConv
from mggcn.runs import resolve
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.neighbor import FullSampler, WholeGraphSampler
from mggcn.training._compute import Compute
from mggcn.training._inference import Inference

pyg = pytest.importorskip("torch_geometric.nn")

IN, OUT = 5, 6


@pytest.fixture
def x() -> Tensor:
    return torch.randn(60, IN, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def edge_index(small: Dataset) -> Tensor:
    """Senders and receivers of every edge, sorted by receiver."""
    row, column = small.graph.edges()
    return torch.from_numpy(np.stack([column, row]).astype(np.int64))


@pytest.fixture
def block(small: Dataset) -> Block:
    """Every node hears its neighbours; two nodes hear nobody."""
    indptr = torch.tensor(small.graph.indptr)
    return Block(60, indptr, torch.tensor(small.graph.indices).long(), torch.arange(60))


def put(parameter: Tensor, value: Tensor) -> None:
    """Give a parameter random values through a weight of the other library, so that biases count too."""
    with torch.no_grad():
        nn.init.normal_(value)
        parameter.copy_(value.T if value.ndim == 2 else value)


def assert_equal(found: Tensor, expected: Tensor) -> None:
    assert expected.abs().max() > 0.1
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_mean(x: Tensor, edge_index: Tensor, block: Block) -> None:
    ours, theirs = MeanConv(IN, OUT, bias=True), pyg.SAGEConv(IN, OUT, aggr="mean")
    put(ours.linear.weight[:IN], theirs.lin_r.weight)
    put(ours.linear.weight[IN:], theirs.lin_l.weight)
    put(ours.linear.bias, theirs.lin_l.bias)
    assert_equal(ours(x, block), theirs(x, edge_index))


def test_gcn(small: Dataset, x: Tensor, edge_index: Tensor) -> None:
    ours, theirs = GCNConv(IN, OUT, bias=True), pyg.GCNConv(IN, OUT)
    put(ours.linear.weight, theirs.lin.weight)
    put(ours.bias, theirs.bias)
    (batch,) = WholeGraphSampler(propagation(small.graph), 1).batches(np.arange(60), Key.of(0), 60)
    assert_equal(ours(x, batch.blocks[0]), theirs(x, edge_index))
    (batch,) = FullSampler(propagation(small.graph), 1).batches(np.array([7, 3, 59]), Key.of(0), 60)
    assert_equal(ours(x[batch.nodes], batch.blocks[0]), theirs(x, edge_index)[[7, 3, 59]])


def test_pool(x: Tensor, edge_index: Tensor, block: Block) -> None:
    ours, theirs = PoolConv(IN, OUT, bias=True), pyg.SAGEConv(IN, OUT, aggr="max", project=True)
    put(ours.pool.weight, theirs.lin.weight)
    put(ours.pool.bias, theirs.lin.bias)
    put(ours.root.weight, theirs.lin_r.weight)
    put(ours.pooled.weight, theirs.lin_l.weight)
    put(ours.root.bias, theirs.lin_l.bias)
    assert_equal(ours(x, block), theirs(x, edge_index))


def test_attention(x: Tensor, edge_index: Tensor, block: Block) -> None:
    ours, theirs = GATConv(IN, OUT, bias=True), pyg.GATConv(IN, OUT, add_self_loops=False)
    put(ours.linear.weight, theirs.lin.weight)
    put(ours.sender.T, theirs.att_src[0])
    put(ours.root.T, theirs.att_dst[0])
    put(ours.bias, theirs.bias)
    assert_equal(ours(x, block), theirs(x, edge_index))


def test_sgc(small: Dataset, edge_index: Tensor) -> None:
    place = Compute(torch.device("cpu"), "fp32")
    plan = resolve("sgc", "small", {"hops": 3, "scaling": "none"})
    ours, theirs = plan.prepare(small, Key.of(0), place), pyg.SGConv(3, 3, K=3)
    put(ours.model.layers[0].weight, theirs.lin.weight)
    put(ours.model.layers[0].bias, theirs.lin.bias)
    found = Inference(ours.model, ours.eval, Key.of(0), place).predict(np.arange(60))
    with torch.no_grad():
        expected = theirs(torch.tensor(small.x), edge_index).double().log_softmax(dim=1)
    assert_equal(found, expected)
