"""MixGrainedLoader's batches have weights and types of edges, which PyG's convolutions use."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import coo_array
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, RGCNConv

from mggcn.data._dataset import Dataset
from mggcn.errors import DataWarning, InputError
from mggcn.graph import Graph
from mggcn.nn.conv import PyGConv
from mggcn.nn.stack import MGGCN
from mggcn.sampling.adjacency import mean_operator
from mggcn.sampling.loader import MixGrainedLoader
from tests.reference import edges as reference


@pytest.fixture
def data(small: Dataset) -> Data:
    """A graph whose edges have a weight in one direction, and one of three types."""
    found, rng = small.to_pyg(), np.random.default_rng(0)
    found.edge_index = found.edge_index[:, found.edge_index[0] < found.edge_index[1]]
    found.edge_weight = torch.tensor(rng.choice([0.25, 1, 3], found.num_edges), dtype=torch.float32)
    found.edge_type = torch.tensor(rng.integers(0, 3, found.num_edges))
    return found


def graph_of(data: Data, direction: str) -> Graph:
    source, target = data.edge_index.numpy()
    known = {"weight": data.get("edge_weight"), "edge_type": data.get("edge_type")}
    return Graph.from_edges(source, target, data.num_nodes, direction=direction, **known)


@pytest.mark.parametrize("direction", ["both", "directed", "in"])
def test_sums_are_rows_of_the_whole_graph_restricted_to_the_picks(data: Data, direction: str) -> None:
    """For rows of picks the sums are those of A over S(v); a target adds its picks by the edges by which they came."""
    graph, conv = graph_of(data, direction), GCNConv(3, 2, normalize=False, bias=False)
    adjacency = torch.tensor(graph.matrix().todense())
    for batch in MixGrainedLoader(data, picks=4, batch_size=8, direction=direction, num_layers=3):
        picks, rows = batch.n_id.view(5, batch.batch_size).T, batch.n_id.numel()
        weights = torch.zeros(rows, rows)
        came_by = reference.arrivals(graph, picks.numpy(), "both")
        for t, members in enumerate(picks.tolist()):
            listed = [i for i, node in enumerate(members) if i == 0 or node != members[0]]
            for i in listed:
                for j in listed:
                    receiver = members[came_by[t, j]] if i == 0 and j > 0 else members[i]
                    weights[i * batch.batch_size + t, j * batch.batch_size + t] = adjacency[receiver, members[j]]
        found = conv(batch.x, batch.edge_index, batch.edge_weight)
        torch.testing.assert_close(found, weights @ conv.lin(batch.x))
        dense = torch.tensor(coo_array((batch.edge_weight, batch.edge_index.flip(0)), shape=(rows, rows)).todense())
        assert torch.equal(dense, weights)


@pytest.mark.parametrize("layers", [1, 2])
def test_one_pick_gives_the_product_with_the_whole_graph_itself(data: Data, layers: int) -> None:
    """A single pick is a neighbour, so the edges of a batch are exactly those of the graph between target and pick."""
    adjacency = torch.tensor(graph_of(data, "both").matrix().todense())
    (batch,) = MixGrainedLoader(data, picks=1, batch_size=60, num_layers=layers, direction="both")
    conv = GCNConv(3, 2, normalize=False, bias=False)
    target, pick = batch.n_id.view(2, 60)
    expected = adjacency[target, pick][:, None] * conv.lin(data.x)[pick]
    torch.testing.assert_close(conv(batch.x, batch.edge_index, batch.edge_weight)[:60], expected)


@pytest.mark.parametrize("direction", ["both", "directed", "in"])
def test_edges_have_the_weight_and_the_relation_of_the_graph(data: Data, direction: str) -> None:
    graph, seen = graph_of(data, direction), set()
    for batch in MixGrainedLoader(data, picks=3, batch_size=8, direction=direction, num_layers=3):
        assert batch.edge_weight.shape == batch.edge_type.shape == batch.edge_index.shape[1:]
        assert (batch.edge_weight.dtype, batch.edge_type.dtype) == (torch.float32, torch.int64)
        assert "edge_attr" not in batch
        ends = batch.n_id[batch.edge_index.flip(0)]
        rows = zip(*ends.tolist(), batch.edge_weight.tolist(), batch.edge_type.tolist(), strict=True)
        for receiver, sender, weight, relation in rows:
            if sender in graph.row(receiver):
                assert (weight, relation) == reference.edge_data(graph, receiver, sender)
            seen.add(relation)
        for block in batch.blocks:
            assert block.edge_weight.shape == block.edge_type.shape == block.indices.shape
    assert seen == {*range(len(graph.schema.relations))}, "every edge of a batch is an edge of the graph"


def test_only_what_data_has_is_in_a_batch(data: Data) -> None:
    def first(**options: object) -> Data:
        return next(iter(MixGrainedLoader(data, picks=3, batch_size=60, **({"direction": "both"} | options))))

    weights = first().edge_weight
    data.edge_attr, data.edge_weight = data.edge_weight[:, None], None
    assert torch.equal(first().edge_attr, weights[:, None])
    assert first().edge_weight is None
    data.edge_attr = data.edge_attr[:, 0]
    assert torch.equal(first().edge_attr, weights)
    with pytest.warns(DataWarning, match="ignored edge_attr of data"):
        unweighted = first(weights=False)
    assert unweighted.edge_attr is None
    assert (unweighted.edge_type <= 2).all()
    data.edge_type = None
    assert "edge_type" not in first()
    assert set(first(direction="directed").edge_type.tolist()) == {0, 1}
    data.edge_attr = torch.ones(data.num_edges, 2)
    with pytest.warns(DataWarning, match="ignored edge_attr of data"):
        plain = first()
    assert (plain.edge_attr, plain.blocks[0].edge_weight) == (None, None)


def test_weights_of_1_change_nothing(data: Data) -> None:
    del data.edge_type
    data.edge_weight[:] = 1
    given = list(MixGrainedLoader(data, picks=3, batch_size=8, direction="both", weigh_picks=False))
    del data.edge_weight
    for weighted, plain in zip(given, MixGrainedLoader(data, picks=3, batch_size=8, direction="both"), strict=True):
        assert torch.equal(weighted.n_id, plain.n_id)
        assert torch.equal(weighted.fine, plain.fine)
        assert torch.equal(weighted.edge_index, plain.edge_index)
        assert (weighted.edge_weight == 1).all()


def test_the_fine_mean_is_weighted(data: Data) -> None:
    expected = mean_operator(graph_of(data, "both"), include_self=True) @ data.x.numpy()
    (batch,) = MixGrainedLoader(data, picks=2, batch_size=60, direction="both")
    np.testing.assert_allclose(batch.fine[:60, 3:], expected, rtol=1e-5, atol=1e-6)


def test_picks_by_weight_follow_heavy_edges(data: Data) -> None:
    data.edge_weight = torch.where(torch.arange(data.num_edges) % 2 == 0, 1e-6, 1e6)
    picked = {}
    for pick_by in ("weight", "uniform"):
        (batch,) = MixGrainedLoader(data, picks=1, batch_size=60, direction="both", pick_by=pick_by)
        picked[pick_by] = float((batch.edge_weight > 1).float().mean())
    assert picked["weight"] > 0.9 > picked["uniform"]
    with pytest.raises(InputError, match="pick_by: 'weights' is not one of degree, uniform, weight"):
        MixGrainedLoader(data, picks=1, pick_by="weights")


def test_means_of_blocks_can_be_weighted(data: Data) -> None:
    (batch,) = MixGrainedLoader(data, picks=3, batch_size=60, direction="both", weigh_picks=True)
    block = batch.blocks[-1]
    weights = block.edge_weight.view(60, 4)
    torch.testing.assert_close(block.weight.view(60, 4), weights / weights.sum(1, keepdim=True))


def test_weights_of_two_directions_are_added_with_a_warning(data: Data) -> None:
    data.edge_index = torch.cat([data.edge_index, data.edge_index.flip(0)], dim=1)
    data.edge_weight, data.edge_type = data.edge_weight.repeat(2), data.edge_type.repeat(2)
    MixGrainedLoader(data, picks=2)
    data.edge_weight = data.edge_weight * torch.linspace(1, 2, data.num_edges)
    with pytest.warns(DataWarning, match="given in both directions: weights added"):
        MixGrainedLoader(data, picks=2)
    MixGrainedLoader(data, picks=2, direction="both")


def test_types_keep_their_names_and_numbers(data: Data, small: Dataset) -> None:
    graph = Graph.from_edges(*data.edge_index.numpy(), 60, edge_type=data.edge_type % 2, types=["a", "b", "c"])
    again = replace(small, graph=graph).to_pyg()
    (batch,) = MixGrainedLoader(again, picks=2, batch_size=60)
    assert set(batch.edge_type.tolist()) == {0, 1}
    assert int(batch.blocks[-1].edge_type.max()) == 3, "a node and itself"


def test_bad_weights_are_refused(data: Data) -> None:
    data.edge_weight[7] = -2
    with pytest.raises(InputError, match=r"^data\.edge_weight: weight: -2\.0 of edge 7 is negative.*; weights=False"):
        MixGrainedLoader(data, picks=2, direction="both")
    data.edge_weight = torch.ones(3)
    with pytest.raises(InputError, match=r"^data\.edge_weight: weight: shape \(3,\), not one weight for each of"):
        MixGrainedLoader(data, picks=2, direction="both")


class Network(torch.nn.Module):
    """Two convolutions of PyG, as in any script."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.convs = torch.nn.ModuleList(self.conv(*widths) for widths in ((3, 16), (16, 3)))

    def conv(self, in_channels: int, out_channels: int) -> torch.nn.Module:
        if self.kind == "gcn":
            return GCNConv(in_channels, out_channels)
        if self.kind == "gat":
            return GATConv(in_channels, out_channels, edge_dim=1)
        return RGCNConv(in_channels, out_channels, num_relations=3)

    def forward(self, data: Data) -> Tensor:
        value = {"gcn": data.edge_weight, "gat": data.edge_attr, "rgcn": data.edge_type}[self.kind]
        hidden = self.convs[0](data.x, data.edge_index, value).relu()
        return self.convs[1](hidden, data.edge_index, value)


@pytest.mark.parametrize("kind", ["gcn", "gat", "rgcn"])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_stock_script_trains_with_edge_data(data: Data, kind: str, num_workers: int) -> None:
    torch.manual_seed(0)
    if kind == "gat":
        data.edge_attr = data.edge_weight[:, None]
        del data.edge_weight
    options = {"input_nodes": data.train_mask, "batch_size": 8, "shuffle": True, "num_workers": num_workers}
    loader = MixGrainedLoader(data, picks=4, direction="both", **options)
    model, losses = Network(kind), []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(2 if num_workers else 30):
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(model(batch)[: batch.batch_size], batch.y[: batch.batch_size])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    assert len(losses) == (8 if num_workers else 120)
    if not num_workers:
        assert np.mean(losses[-12:]) < 0.8 * np.mean(losses[:4])


def test_convolutions_over_blocks_receive_edge_data(data: Data) -> None:
    torch.manual_seed(0)
    model = MGGCN(3, 8, 3, 3, conv=lambda i, o: PyGConv(RGCNConv(i, o, num_relations=4)))
    batch = next(iter(MixGrainedLoader(data, picks=4, num_layers=3, batch_size=8, direction="both")))
    scores = model(batch.fine, batch.blocks)
    data.edge_type = (data.edge_type + 1) % 3
    other = next(iter(MixGrainedLoader(data, picks=4, num_layers=3, batch_size=8, direction="both")))
    assert torch.equal(batch.n_id, other.n_id)
    assert not torch.equal(model(other.fine, other.blocks), scores)
