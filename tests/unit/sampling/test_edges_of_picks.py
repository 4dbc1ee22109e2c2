"""Blocks hold the weight and the relation of each edge, if their sampler is asked for them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from mggcn.block import EDGE_VALUES, Block
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from mggcn.sampling import grains
from mggcn.sampling.mix_grained import MixGrainedSampler
from mggcn.sampling.neighbor import NeighborSampler
from tests.reference import edges as reference
from tests.strategies import weighted_graphs


def edges_of(block: Block, nodes: Tensor) -> list[tuple[int, int, float, int]]:
    """The nodes of the receiver and the sender of each edge, its weight and its relation."""
    assert block.edge_weight.dtype == torch.float32
    assert block.edge_type.dtype == torch.int64
    receivers = nodes[block.root][block.receivers]
    columns = (receivers, nodes[block.indices], block.edge_weight, block.edge_type)
    return [*zip(*(column.tolist() for column in columns), strict=True)]


@given(
    graph=weighted_graphs(),
    picks=st.integers(1, 5),
    has_skip=st.booleans(),
    coarse_self=st.booleans(),
    explore=st.sampled_from(["both", "breadth", "depth"]),
)
def test_edges_are_those_of_the_graph(
    graph: Graph, picks: int, has_skip: bool, coarse_self: bool, explore: str
) -> None:
    options = {"layers": 3, "has_skip": has_skip, "coarse_self": coarse_self, "explore": explore}
    sampler = MixGrainedSampler(PickTable.of(graph), picks, edges=True, **options)
    plain, targets = replace(sampler, edges=False), np.arange(graph.num_nodes)
    for batch, other in zip(sampler.batches(targets, Key.of(3), 5), plain.batches(targets, Key.of(3), 5), strict=True):
        rows = batch.nodes.long()
        for block, same in zip(batch.blocks, other.blocks, strict=True):
            assert (same.edge_weight, same.edge_type) == (None, None)
            for name in ("indptr", "indices", "root"):
                assert torch.equal(getattr(block, name), getattr(same, name))
        between = batch.blocks[:1] if has_skip else batch.blocks
        for block in between:
            for receiver, sender, weight, relation in edges_of(block, rows):
                assert (weight, relation) == reference.edge_data(graph, receiver, sender)
        if has_skip:
            members = rows.view(1 + picks, -1).T.numpy()
            came_by = np.take_along_axis(members, reference.arrivals(graph, members, explore), 1).ravel().tolist()
            found = edges_of(batch.blocks[-1], rows)
            for member, (receiver, sender, weight, relation) in zip(came_by, found, strict=True):
                assert (weight, relation) == reference.edge_data(graph, member, sender)
                assert (relation == len(graph.schema.relations)) == (receiver == sender)


@given(graph=weighted_graphs(directions=("both", "directed")), padding=st.sampled_from(["target", "none"]))
def test_means_are_weighted(graph: Graph, padding: grains.Padding) -> None:
    sampler = MixGrainedSampler(PickTable.of(graph), 3, layers=3, padding=padding, coarse_self=True, weigh=True)
    unweighed, targets = replace(sampler, edges=True, weigh=False), np.arange(graph.num_nodes)
    (batch,), (other,) = (given.batches(targets, Key.of(1), 12) for given in (sampler, unweighed))
    for block, plain in zip(batch.blocks, other.blocks, strict=True):
        if (graph.neighbour_weights() == 1).all():
            assert block.weight is plain.weight is None or torch.equal(block.weight, plain.weight)
            continue
        for receiver in range(block.num_dst):
            edges = slice(*block.indptr[receiver : receiver + 2].tolist())
            weights = plain.edge_weight[edges].double()
            if plain.weight is not None:
                weights = weights * (plain.weight[edges] != 0)
            torch.testing.assert_close(block.weight[edges], (weights / weights.sum()).float())


def test_without_weights_of_edges_or_with_weights_of_1_nothing_is_weighted(small: Dataset) -> None:
    ones = Graph.from_edges(*small.graph.edges(), 60, weight=np.ones(small.graph.num_stored))
    assert ones.schema.weighted
    for graph in (small.graph, ones):
        sampler = MixGrainedSampler(PickTable.of(graph), 3, layers=3, weigh=True)
        (batch,) = sampler.batches(np.arange(60), Key.of(0), 60)
        assert all(getattr(block, name) is None for block in batch.blocks for name in EDGE_VALUES)
    with pytest.raises(InputError, match="weigh: the block has no weights of edges"):
        grains.weighed(batch.blocks[0])


def test_a_target_without_edges_weighs_nothing_else() -> None:
    graph = Graph.from_edges([0], [1], 3, weight=[4.0])
    sampler = MixGrainedSampler(PickTable.of(graph), 2, include_target=False, padding="none", weigh=True)
    (batch,) = sampler.batches(np.arange(3), Key.of(0), 3)
    assert batch.blocks[0].weight.view(3, 3).tolist() == [[0, 1, 0], [0, 1, 0], [0, 0, 0]]


def test_values_of_edges_move_with_the_block(small: Dataset) -> None:
    graph = Graph.from_edges(*small.graph.edges(), 60, weight=np.arange(1, 1 + small.graph.num_stored))
    sampler = MixGrainedSampler(PickTable.of(graph), 3, edges=True)
    (batch,) = sampler.batches(np.arange(60), Key.of(0), 60)
    moved = batch.blocks[0].to("meta")
    assert {moved.edge_weight.device.type, moved.edge_type.device.type} == {"meta"}


@given(graph=weighted_graphs())
def test_without_a_pick_the_others_keep_their_edges(graph: Graph) -> None:
    sampler = MixGrainedSampler(PickTable.of(graph), 4, edges=True)
    (batch,) = sampler.batches(np.arange(graph.num_nodes), Key.of(2), graph.num_nodes)
    members = batch.nodes.view(5, -1).T.numpy()
    came_by = sampler.came_by(members)
    for index in range(1, 5):
        (block,) = sampler.blocks(np.delete(members, index, 1), np.delete(came_by, index, 1))
        for name in ("edge_weight", "edge_type"):
            expected = np.delete(getattr(batch.blocks[0], name).view(-1, 5).numpy(), index, 1)
            np.testing.assert_array_equal(getattr(block, name).view(-1, 4), expected)


@given(graph=weighted_graphs(), include_self=st.booleans(), weigh=st.booleans())
def test_drawn_neighbours_have_edges(graph: Graph, include_self: bool, weigh: bool) -> None:
    sampler = NeighborSampler(graph, (2, 3), include_self, edges=True, weigh=weigh)
    (batch,) = sampler.batches(np.arange(graph.num_nodes), Key.of(0), graph.num_nodes)
    for block in batch.blocks:
        found = edges_of(block, batch.nodes)
        for receiver, sender, weight, relation in found:
            assert (weight, relation) == reference.edge_data(graph, receiver, sender)
        assert (block.weight is not None) == (weigh and bool((graph.neighbour_weights() != 1).any()))
        if block.weight is not None and found:
            by_receiver = torch.zeros(block.num_dst).index_add_(0, block.receivers, block.weight)
            torch.testing.assert_close(by_receiver, (block.indptr.diff() > 0).float())
