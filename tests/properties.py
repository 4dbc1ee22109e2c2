"""Properties of samplers, blocks, convolutions and runs that several tests share."""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mggcn.block import Batch, Block
from mggcn.data import Dataset
from mggcn.graph import Graph
from mggcn.nn.conv import GCNConv, LSTMConv, MeanConv, PoolConv
from mggcn.nn.stack import Stack
from mggcn.runs import Run


def assert_picks_are_valid(graph: Graph, picks: NDArray[np.integer], count: int) -> None:
    """Every row: the target, then distinct nodes, each next to an earlier one; padded only in small components."""
    for row in picks.tolist():
        target, picked = row[0], [node for node in row[1:] if node != row[0]]
        assert len(row) == 1 + count
        assert row[1 : 1 + len(picked)] == picked, "padding is at the end"
        assert len({target, *picked}) == 1 + len(picked), "picks are distinct"
        reached = {target}
        for node in picked:
            assert any(node in graph.row(other) for other in reached), "each pick is a neighbour of the set before it"
            reached.add(node)
        if len(picked) < count:
            outside = {int(w) for u in reached for w in graph.row(u)} - reached
            assert not outside, "a short row means an exhausted component"


def assert_block_is_valid(block: Block) -> None:
    assert block.indptr.numel() == block.num_dst + 1
    assert block.indptr[0] == 0
    assert block.indptr[-1] == block.indices.numel()
    assert bool((block.indptr.diff() >= 0).all())
    for rows in (block.indices, block.root):
        assert bool(((rows >= 0) & (rows < block.num_src)).all())
    if block.weight is not None:
        assert block.weight.numel() == block.indices.numel()
    if block.group is not None:
        assert block.indptr.diff().tolist() == [block.group] * block.num_dst
        expected = torch.arange(block.num_dst)[:, None] + block.num_dst * torch.arange(block.group)
        assert torch.equal(block.indices.view(block.num_dst, block.group), expected)
        assert torch.equal(block.root, torch.arange(block.num_dst))


def assert_batch_is_valid(batch: Batch) -> None:
    """Blocks lead from the input rows to the targets, and following the root rows gives the targets."""
    rows, nodes = batch.nodes.numel(), batch.nodes.long()
    for block in batch.blocks:
        assert_block_is_valid(block)
        assert block.num_src == rows
        rows, nodes = block.num_dst, nodes[block.root]
    assert torch.equal(nodes, batch.targets.long())


def assert_targets_covered_once(batches: list[Batch], targets: NDArray[np.int64], batch_size: int) -> None:
    assert np.concatenate([batch.targets.numpy() for batch in batches]).tolist() == targets.tolist()
    assert all(batch.targets.numel() == batch_size for batch in batches[:-1])


def shuffle_edges(block: Block, generator: torch.Generator) -> Block:
    """The same block with the senders of each receiver in another order, and without ``group``."""
    order = torch.cat(
        [
            torch.randperm(int(stop - start), generator=generator) + start
            for start, stop in zip(block.indptr[:-1], block.indptr[1:], strict=True)
        ]
    )
    weight = None if block.weight is None else block.weight[order]
    return Block(block.num_src, block.indptr, block.indices[order], block.root, weight)


def last_layer(model: nn.Module) -> tuple[Tensor, Tensor | float]:
    """The weights that multiply the hidden representations, and what is added."""
    layer = model.convs[-1] if isinstance(model, Stack) else getattr(model, "last", None) or model.layers[-1]
    if isinstance(layer, PoolConv | LSTMConv):
        aggregated = layer.pooled if isinstance(layer, PoolConv) else layer.states
        return torch.cat([layer.root.weight, aggregated.weight]), layer.root.bias
    linear = layer.linear if isinstance(layer, MeanConv | GCNConv) else layer
    bias = layer.bias if isinstance(layer, GCNConv) else linear.bias
    return linear.weight, 0.0 if bias is None else bias


def at_baseline(run: Run, data: Dataset) -> Dataset:
    """The data with the features of the baseline: the training nodes' means, or zeros."""
    mean = np.zeros(data.num_features, np.float32) if run.scaler.mean is None else run.scaler.mean
    return replace(data, x=np.tile(mean, (data.num_nodes, 1)))
