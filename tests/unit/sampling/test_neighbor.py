"""GraphSAGE's sampler: valid blocks, fan-outs from the targets down, uniform marginals."""

import numpy as np
import pytest
import torch

from mggcn.block import Batch
from mggcn.data._dataset import Dataset
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.sampling.neighbor import NeighborSampler
from tests.properties import assert_batch_is_valid, assert_targets_covered_once


def senders_of(batch: Batch, layer: int) -> dict[int, list[int]]:
    """The senders of each receiver of a layer, in order; the receivers of every layer are the first rows below it."""
    block = batch.blocks[layer]
    return {
        int(batch.nodes[row]): batch.nodes[block.indices[block.indptr[row] : block.indptr[row + 1]]].tolist()
        for row in range(block.num_dst)
    }


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("fanouts", [(), (3,), (4, 2), (2, 3, 1)])
def test_batches_are_valid_and_keep_to_the_fan_outs(small: Dataset, fanouts: tuple, include_self: bool) -> None:
    sampler = NeighborSampler(small.graph, fanouts, include_self)
    targets = np.random.default_rng(0).permutation(60)
    batches = list(sampler.batches(targets, Key.of(2), 16))
    assert_targets_covered_once(batches, targets, 16)
    for batch in batches:
        assert_batch_is_valid(batch)
        assert np.unique(batch.nodes).size == batch.nodes.numel()
        for layer, fanout in enumerate(reversed(fanouts)):
            for node, senders in senders_of(batch, layer).items():
                neighbours = small.graph.row(node).tolist()
                assert senders[: int(include_self)] == [node] * include_self
                drawn = senders[int(include_self) :]
                assert set(drawn) <= set(neighbours)
                assert len(set(drawn)) == len(drawn) == min(fanout, len(neighbours))


def test_isolated_nodes_have_no_senders(small: Dataset) -> None:
    batch = NeighborSampler(small.graph, (3, 3)).batch(np.array([58, 59]), Key.of(0))
    assert batch.nodes.tolist() == [58, 59]
    assert all(block.indices.numel() == 0 for block in batch.blocks)


def test_senders_depend_on_the_key_and_the_layer_but_not_on_the_batch(small: Dataset) -> None:
    sampler = NeighborSampler(small.graph, (2, 2))
    whole = sampler.batch(np.arange(60), Key.of(4))
    again = next(sampler.batches(torch.arange(60), Key.of(4), 60))
    assert torch.equal(whole.blocks[0].indices, again.blocks[0].indices)
    assert senders_of(whole, 1) != senders_of(whole, 0)
    assert senders_of(whole, 1) != senders_of(sampler.batch(np.arange(60), Key.of(5)), 1)
    for batch in sampler.batches(np.arange(60)[::-1], Key.of(4), 7):
        for layer in (0, 1):
            assert senders_of(batch, layer).items() <= senders_of(whole, layer).items()


def test_edges_are_drawn_uniformly(small: Dataset) -> None:
    sampler, draws = NeighborSampler(small.graph, (2, 2), threads=1), 400
    counts = np.zeros((2, 60, 60))
    for draw in range(draws):
        batch = sampler.batch(np.arange(60), Key.of(draw))
        for layer, block in enumerate(batch.blocks):
            receivers = torch.repeat_interleave(torch.arange(60), block.indptr.diff())
            counts[layer, batch.nodes[receivers], batch.nodes[block.indices]] += 1
    degrees = np.diff(small.graph.indptr)
    row, column = small.graph.edges()
    share = np.minimum(2 / degrees[row], 1)
    deviation = np.sqrt(draws * share * (1 - share))
    for layer in (0, 1):
        assert np.all(np.abs(counts[layer, row, column] - draws * share) <= 5 * deviation)
        assert counts[layer].sum() == counts[layer, row, column].sum()


def test_a_directed_graph_is_sampled_along_its_rows() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], 3, direction="in")
    assert senders_of(NeighborSampler(graph, (5,)).batch(np.arange(3), Key.of(0)), 0) == {0: [], 1: [0], 2: [1]}
