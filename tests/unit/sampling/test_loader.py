import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import GraphSAGE, SAGEConv

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.errors import DataWarning, InputError
from mggcn.graph import Graph
from mggcn.kernels.aggregate import neighbour_mean
from mggcn.nn.stack import MGGCN
from mggcn.sampling.loader import MixGrainedLoader
from tests.properties import assert_block_is_valid, assert_picks_are_valid


@pytest.fixture
def data(small: Dataset) -> Data:
    return small.to_pyg()


def loader(data: Data, **options: object) -> MixGrainedLoader:
    return MixGrainedLoader(data, picks=3, num_layers=3, input_nodes=data.train_mask, batch_size=8, **options)


def test_a_batch_is_what_it_says(data: Data, small: Dataset) -> None:
    batches = list(loader(data))
    assert torch.cat([b.n_id[: b.batch_size] for b in batches]).tolist() == small.split.train.tolist()
    means = neighbour_mean(small.graph, small.x, include_self=True)
    for batch in batches:
        picks = batch.n_id.view(4, batch.batch_size).T.numpy()
        assert_picks_are_valid(small.graph, picks, 3)
        assert torch.equal(batch.x, data.x[batch.n_id])
        assert torch.equal(batch.y, data.y[batch.n_id])
        np.testing.assert_array_equal(batch.fine.numpy(), np.concatenate([small.x, means], 1)[batch.n_id.numpy()])
        for block in batch.blocks:
            assert_block_is_valid(block)
        assert torch.equal(batch.input_id, batch.n_id[: batch.batch_size]), "as NeighborLoader does for a mask"
        check_edges(batch, small.graph)


def test_what_fit_warns_of_and_refuses_the_loader_does_too(data: Data) -> None:
    data.edge_weight, data.edge_attr = torch.ones(data.num_edges), torch.ones(data.num_edges, 2)
    with pytest.warns(DataWarning, match="not used: ignored edge_attr of data"):
        loader(data)
    del data.edge_weight, data.edge_attr
    data.x[3, 1] = torch.nan
    with pytest.raises(InputError, match="x of node 3, feature 1 is nan"):
        loader(data)


def test_edges_are_reversed_only_with_a_warning_or_by_request(data: Data) -> None:
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    given = {*zip(*data.edge_index.tolist(), strict=True)}
    with pytest.warns(DataWarning, match=f"{len(given)} edges have no reverse"):
        loader(data)
    loader(data, direction="both")
    for batch in loader(data, direction="in"):
        source, target = batch.n_id[batch.edge_index]
        between_neighbours = batch.edge_index[1] >= batch.batch_size
        assert {*zip(source[between_neighbours].tolist(), target[between_neighbours].tolist(), strict=True)} <= given


def test_targets_are_numbers_or_a_mask(data: Data, small: Dataset) -> None:
    train = small.split.train
    for nodes in (data.train_mask.numpy(), data.train_mask.tolist(), train, train.tolist(), torch.tensor(train)):
        batches = MixGrainedLoader(data, 3, input_nodes=nodes, batch_size=60)
        assert [batch.n_id[: batch.batch_size].tolist() for batch in batches] == [train.tolist()]
    with pytest.raises(InputError, match="input_nodes: the mask has 59 entries, but the graph has 60 nodes"):
        MixGrainedLoader(data, 3, input_nodes=data.train_mask[:59])
    with pytest.raises(InputError, match="input_nodes: must be node numbers or a boolean mask, not float32"):
        MixGrainedLoader(data, 3, input_nodes=torch.ones(3))


def check_edges(batch: Data, graph: Graph) -> None:
    """The graph's edges inside each S(v) and an edge from every pick to v, each once; none between two targets."""
    b = batch.batch_size
    picks = batch.n_id.view(-1, b).T.tolist()
    expected = set()
    for t, (target, *others) in enumerate(picks):
        rows = [0, *(i for i, node in enumerate(others, 1) if node != target)]
        expected |= {(i * b + t, t) for i in rows[1:]}
        expected |= {(j * b + t, i * b + t) for i in rows for j in rows if picks[t][j] in graph.row(picks[t][i])}
    pairs = [tuple(pair) for pair in batch.edge_index.T.tolist()]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected


def test_missing_picks_have_no_edges() -> None:
    graph = Graph.from_edges([0, 1, 3], [1, 2, 4], 6)
    edges = torch.from_numpy(np.stack(graph.edges()))
    (batch,) = MixGrainedLoader(Data(x=torch.ones(6, 1), edge_index=edges), picks=3, batch_size=6)
    check_edges(batch, graph)
    assert batch.edge_index[:, batch.edge_index[1] % 6 == 5].numel() == 0, "node 5 is isolated"
    assert sorted(batch.edge_index[:, batch.edge_index[1] % 6 == 3].T.tolist()) == [[3, 9], [9, 3]]


class TwoConvolutions(torch.nn.Module):
    def __init__(self, in_channels: int, hidden_channels: int, num_layers: int, out_channels: int) -> None:
        super().__init__()
        assert num_layers == 2
        self.first, self.second = SAGEConv(in_channels, hidden_channels), SAGEConv(hidden_channels, out_channels)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index)


@pytest.mark.parametrize("kind", [GraphSAGE, TwoConvolutions])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_stock_pyg_script_changes_one_line(num_workers: int, kind: type[torch.nn.Module]) -> None:
    """Only the line that creates the loader differs: NeighborLoader has ``num_neighbors=[10, 10]`` for ``picks``."""
    torch.manual_seed(0)
    data = mggcn.load("digits").to_pyg()
    options = {"input_nodes": data.train_mask, "batch_size": 64, "shuffle": True, "num_workers": num_workers}
    loader = MixGrainedLoader(data, picks=10, **options)
    model = kind(data.num_features, hidden_channels=64, num_layers=2, out_channels=int(data.y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        model.train()
        for batch in loader:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            loss = torch.nn.functional.cross_entropy(out, batch.y[: batch.batch_size])
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        predicted = model(data.x, data.edge_index).argmax(dim=1)
    correct = predicted[data.test_mask] == data.y[data.test_mask]
    assert correct.float().mean() > 0.9


def test_workers_change_nothing(data: Data) -> None:
    epochs = []
    for options in ({}, {"num_workers": 2}, {"num_workers": 1, "persistent_workers": True}):
        given = loader(data, seed=4, **options)
        epochs.append([[batch.n_id.tolist() for batch in given] for _ in range(2)])
    assert epochs[0] == epochs[1] == epochs[2]
    assert epochs[0][0] != epochs[0][1], "each epoch draws anew"


def test_picks_can_stay(data: Data) -> None:
    given = loader(data, redraw=False)
    assert [b.n_id.tolist() for b in given] == [b.n_id.tolist() for b in given]


def test_our_model_trains_on_it(data: Data) -> None:
    torch.manual_seed(0)
    model = MGGCN(3, 16, 3, num_layers=3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(25):
        for batch in loader(data, shuffle=True):
            batch = batch.to("cpu")
            loss = torch.nn.functional.cross_entropy(model(batch.fine, batch.blocks), batch.y[: batch.batch_size])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    tested = MixGrainedLoader(data, 3, 3, input_nodes=data.test_mask, batch_size=60)
    (batch,) = list(tested)
    assert (model(batch.fine, batch.blocks).argmax(1) == batch.y[: batch.batch_size]).float().mean() >= 0.7


def test_pygs_own_convolutions_take_its_edges(data: Data) -> None:
    """SAGEConv over the edges of the skip block is the skip mean."""
    batch = next(iter(loader(data)))
    conv, skip = SAGEConv(3, 2), batch.blocks[-1]
    found = conv((batch.x, batch.x[skip.root]), skip.edge_index)
    mean = batch.x.view(4, batch.batch_size, 3).mean(0)
    expected = conv.lin_l(mean) + conv.lin_r(batch.x[: batch.batch_size])
    torch.testing.assert_close(found, expected)


def test_a_transform_sees_the_whole_batch(data: Data) -> None:
    seen = next(iter(loader(data, transform=lambda batch: (batch, "blocks" in batch))))
    assert seen[1] is True


def test_bad_arguments(data: Data, small: Dataset) -> None:
    with pytest.raises(InputError, match=r"^MixGrainedLoader takes PyG's Data, not Dataset: use dataset.to_pyg\(\)$"):
        MixGrainedLoader(small, picks=2)
    with pytest.raises(
        InputError, match=r"^MixGrainedLoader takes PyG's Data, not HeteroData: use mggcn.Dataset.from_pyg"
    ):
        MixGrainedLoader(HeteroData(), picks=2)
    with pytest.raises(InputError, match="picks: 0 is less than 1"):
        MixGrainedLoader(data, picks=0)
    with pytest.raises(InputError, match="needs x and edge_index"):
        MixGrainedLoader(Data(edge_index=data.edge_index, num_nodes=60), picks=2)
