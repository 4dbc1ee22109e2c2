"""PyTorch Geometric's convolutions receive weights and types of edges above MG-GCN's fine layer."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import FiLMConv, GATConv, GCNConv, GraphConv, RGCNConv, SAGEConv

import mggcn
from mggcn.block import Block
from mggcn.data._dataset import Dataset
from mggcn.errors import DataWarning, InputError
from mggcn.graph import Graph
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from mggcn.methods.mg_gcn import MixGrained
from mggcn.nn.conv import Layer, PyGConv
from mggcn.nn.stack import Stack
from mggcn.sampling.mix_grained import MixGrainedSampler
from mggcn.training._training import Training

RELATIONS = 4  # two types in two directions


def related(small: Dataset, heavy: float = 2.5, swapped: bool = False) -> Dataset:
    """The same nodes with directed edges of two types that have weights."""
    source, target = small.graph.edges()
    first = source < target
    rng = np.random.default_rng(0)
    weight = rng.choice([0.5, 1.0, heavy], int(first.sum()))
    kind = (small.y[source[first]] == small.y[target[first]]) ^ swapped
    options = {"weight": weight, "edge_type": kind.astype(int), "types": ["other", "same"]}
    graph = Graph.from_edges(source[first], target[first], 60, direction="directed", **options)
    return replace(small, graph=graph)


def blocks_of(data: Dataset, **options: object) -> tuple[Tensor, tuple[Block, ...]]:
    sampler = MixGrainedSampler(PickTable.of(data.graph), 4, 3, edges=True, **options)
    (batch,) = sampler.batches(np.arange(60), Key.of(0), 60)
    return torch.tensor(data.x)[batch.nodes.long()], batch.blocks


CONVS: dict[str, Callable[[int, int], nn.Module]] = {
    "GCNConv": lambda i, o: GCNConv(i, o),
    "GraphConv": lambda i, o: GraphConv(i, o),
    "GATConv": lambda i, o: GATConv(i, o, edge_dim=1),
    "GATConv with relations": lambda i, o: GATConv(i, o, edge_dim=1 + RELATIONS),
    "RGCNConv": lambda i, o: RGCNConv(i, o, num_relations=RELATIONS + 1),
    "FiLMConv": lambda i, o: FiLMConv(i, o, num_relations=RELATIONS + 1),
}


@pytest.mark.parametrize("padding", ["target", "none"])
@pytest.mark.parametrize("name", CONVS)
def test_every_block_gives_what_pyg_gives_on_its_edges(small: Dataset, name: str, padding: str) -> None:
    torch.manual_seed(0)
    conv = CONVS[name](3, 5).eval()
    x, blocks = blocks_of(related(small), padding=padding)
    for block in blocks:
        found = PyGConv(conv)(x, block)
        assert torch.equal(found, called_by_hand(name, conv, x, block))
        assert found.shape == (block.num_dst, 5)


def called_by_hand(name: str, conv: nn.Module, x: Tensor, block: Block) -> Tensor:
    kept = torch.ones(block.indices.numel(), dtype=torch.bool) if block.weight is None else block.weight != 0
    edges, weight, relation = block.edge_index[:, kept], block.edge_weight[kept], block.edge_type[kept]
    if name == "GCNConv":
        return conv(x, torch.stack([edges[0], block.root[edges[1]]]), weight)[block.root]
    one_hot = functional.one_hot(relation, RELATIONS + 1)[:, :RELATIONS]
    value = {
        "GraphConv": weight,
        "GATConv": weight[:, None],
        "GATConv with relations": torch.cat([weight[:, None], one_hot], 1),
    }.get(name, relation)
    return conv((x, x[block.root]), edges, value)


def test_edges_between_rows_are_the_sum_over_senders(small: Dataset) -> None:
    """GCNConv without normalisation is the weighted sum over each receiver's senders."""
    x, blocks = blocks_of(related(small))
    conv = GCNConv(3, 2, normalize=False, bias=False)
    for block in blocks:
        messages = block.edge_weight[:, None] * conv.lin(x)[block.indices]
        expected = torch.zeros(block.num_dst, 2).index_add_(0, block.receivers, messages)
        torch.testing.assert_close(PyGConv(conv)(x, block), expected)


def test_without_edge_data_convolutions_run_as_before(small: Dataset) -> None:
    x, blocks = blocks_of(related(small))
    plain = replace(blocks[-1], edge_weight=None, edge_type=None)
    conv = GraphConv(3, 2)
    assert torch.equal(PyGConv(conv)(x, plain), conv((x, x[plain.root]), plain.edge_index))
    assert torch.equal(PyGConv(conv, edge_data=())(x, blocks[-1]), PyGConv(conv)(x, plain))
    film = FiLMConv(3, 2)
    assert torch.equal(PyGConv(film)(x, plain), film((x, x[plain.root]), plain.edge_index))


def test_a_module_says_whether_it_reads_edges() -> None:
    class Own(Layer, reads_edges=["type"]):
        pass

    reads = {name: PyGConv(create(2, 2)).reads_edges for name, create in CONVS.items()}
    relations = {"direction", "type"}
    assert reads == {
        "GCNConv": {"weight"},
        "GraphConv": {"weight"},
        "GATConv": {"weight"},
        "GATConv with relations": {"weight", *relations},
        "RGCNConv": relations,
        "FiLMConv": relations,
    }
    for conv in (PyGConv(SAGEConv(2, 2)), PyGConv(GATConv(2, 2)), PyGConv(GCNConv(2, 2), edge_data=())):
        assert conv.reads_edges == set()
    assert Stack([PyGConv(SAGEConv(2, 2)), PyGConv(GCNConv(2, 2)), Own()]).reads_edges == {"weight", "type"}
    assert Stack([PyGConv(SAGEConv(2, 2)), nn.Linear(2, 2)]).reads_edges == set()
    with pytest.raises(TypeError, match="reads_edges: 'weights' is not one of direction, weight, type"):
        type("Misspelt", (Layer,), {}, reads_edges=["weights"])


def test_bad_edge_data(small: Dataset) -> None:
    x, blocks = blocks_of(related(small))
    with pytest.raises(
        InputError, match=r"^RGCNConv: num_relations is 4, but edges have the relation 4; it must be 1 more"
    ):
        PyGConv(RGCNConv(3, 2, num_relations=4))(x, blocks[-1])
    with pytest.raises(
        InputError, match=r"^GATConv: edge_dim is 3, but edges have the relation 3; it must be 1 for weights"
    ):
        PyGConv(GATConv(3, 2, edge_dim=3))(x, blocks[-1])
    with pytest.raises(InputError, match="edge_data: 'weight' is not one of edge_weight, edge_type, edge_attr"):
        PyGConv(GCNConv(3, 2), edge_data=["weight"])
    plain = replace(blocks[-1], edge_weight=None, edge_type=None)
    with pytest.raises(
        InputError, match=r"^RGCNConv: needs edge_type, but the blocks have none: the graph has no types"
    ):
        PyGConv(RGCNConv(3, 2, num_relations=5))(x, plain)
    shared = Block(2, torch.tensor([0, 1, 2]), torch.tensor([1, 1]), torch.tensor([0, 0]))
    with pytest.raises(
        InputError, match="GCNConv: takes no pair of matrices, but some receivers of the block share a row"
    ):
        PyGConv(GCNConv(3, 2))(x[:2], shared)


@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("name", CONVS)
def test_weights_and_types_reach_the_convolution_in_training(small: Dataset, name: str, layers: int) -> None:
    data = related(small)
    method = MixGrained(conv=lambda i, o: PyGConv(CONVS[name](i, o)), layers=layers, hidden=8, picks=4)
    training = Training(lr=0.03, epochs=25, batch_size=16)
    run = mggcn.fit(data, method, training=training, device="cpu")
    assert run.record.test_accuracy > 0.6
    assert run.record.curve[-1].train_loss < 0.8 * run.record.curve[0].train_loss


@pytest.mark.parametrize("name", CONVS)
def test_other_weights_or_types_give_other_scores(small: Dataset, name: str) -> None:
    data, training = related(small), Training(lr=0.03, epochs=3)
    method = MixGrained(conv=lambda i, o: PyGConv(CONVS[name](i, o)), layers=2, fine=False, picks=4)
    unused = set(method.unused(data.graph.schema, data.num_features))
    with pytest.warns(DataWarning, match="mg-gcn does not use the") if unused else nullcontext():
        run = mggcn.fit(data, method, training=training, device="cpu")
    scores = run.predict(data).probabilities
    reads_weights = name not in ("RGCNConv", "FiLMConv")
    reads_types = name in ("RGCNConv", "FiLMConv", "GATConv with relations")
    assert ("weight" in unused, "type" in unused) == (not reads_weights, not reads_types)
    others = {related(small, heavy=7.0): reads_weights, related(small, swapped=True): reads_types}
    for other, is_read in others.items():
        assert np.array_equal(run.predict(other).probabilities, scores) != is_read


@pytest.mark.parametrize("name", ["GraphConv", "RGCNConv"])
def test_a_run_with_edge_data_is_explained(small: Dataset, name: str) -> None:
    data = related(small)
    method = MixGrained(conv=lambda i, o: PyGConv(CONVS[name](i, o)), layers=3, hidden=8, picks=4)
    run = mggcn.fit(data, method, training=Training(lr=0.03, epochs=5), device="cpu")
    explanation = run.explain(data, 5, draws=2)
    contributed = explanation.target.sum() + explanation.others.sum()
    assert contributed == pytest.approx(explanation.value - explanation.baseline, abs=5e-3)
    assert any(np.abs(pick.changes).max() > 1e-4 for pick in explanation.picks)


@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("conv", ["mean", "gcn", "pool"])
def test_means_are_weighted_on_request(small: Dataset, conv: str, layers: int) -> None:
    data, other = related(small), related(small, heavy=7.0)
    plain, weighed = (
        MixGrained(conv=conv, layers=layers, fine=False, picks=4, weigh_picks=weigh) for weigh in (False, True)
    )
    training, scores = Training(epochs=2), {}
    for method in (plain, weighed):
        with pytest.warns(DataWarning, match="mg-gcn does not use the"):
            run = mggcn.fit(data, method, training=training, device="cpu")
        scores[method] = [run.predict(graph).probabilities for graph in (data, other)]
    assert np.array_equal(*scores[plain])
    assert np.array_equal(*scores[weighed]) == (conv == "pool")
    assert ("weight" in weighed.unused(data.graph.schema, data.num_features)) == (conv == "pool")
    assert "weight" in plain.unused(data.graph.schema, data.num_features)
