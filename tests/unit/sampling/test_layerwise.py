from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import mggcn
from mggcn.block import Batch, DrawnBlock
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.nn.conv import aggregate
from mggcn.runs import resolve
from mggcn.sampling import layerwise
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.layerwise import FastGCNSampler, LadiesSampler, draw, squared_columns
from mggcn.training._compute import Compute
from tests.properties import assert_batch_is_valid, assert_targets_covered_once

CPU = Compute(torch.device("cpu"))
SAMPLERS = {
    "fastgcn": lambda adjacency, layers, samples: FastGCNSampler(adjacency, layers, samples, "all"),
    "fastgcn among neighbours": lambda adjacency, layers, samples: FastGCNSampler(
        adjacency, layers, samples, "neighbours"
    ),
    "ladies": lambda adjacency, layers, samples: LadiesSampler(
        adjacency, layers, samples, normalise=False, keep_targets=False
    ),
    "ladies as its authors": LadiesSampler,
}


def with_weights(dataset: Dataset) -> Graph:
    """The graph with weights from 1 to 4."""
    source, target = dataset.graph.edges()
    return Graph.from_edges(source, target, dataset.num_nodes, weight=1 + (source + target) % 4)


def drawn_nodes(batch: Batch, layer: int) -> tuple[np.ndarray, np.ndarray]:
    """The nodes drawn for a block and how often, from the lowest block up."""
    nodes = batch.nodes
    for block in batch.blocks[:layer]:
        nodes = nodes[block.root]
    count = batch.blocks[layer].count.numpy()
    return nodes.numpy()[count > 0], count[count > 0]


def dense(adjacency: csr_array, batch: Batch, layer: int) -> torch.Tensor:
    """A block as a matrix over all nodes, [num_dst, num_nodes]."""
    nodes = batch.nodes
    for block in batch.blocks[:layer]:
        nodes = nodes[block.root]
    return aggregate(torch.eye(adjacency.shape[0])[nodes], batch.blocks[layer])


def test_draws_follow_the_importance() -> None:
    importance = np.array([0.0, 3.0, 0.0, 1.0, 4.0, 0.0])
    drawn = draw(importance, np.cumsum(importance), 80_000, Key.of(1))
    assert drawn.nodes.tolist() == [1, 3, 4]
    assert drawn.times.sum() == 80_000
    np.testing.assert_allclose(drawn.times / 80_000, [3 / 8, 1 / 8, 4 / 8], atol=0.01)
    np.testing.assert_allclose(drawn.factor, drawn.times / (80_000 * importance[drawn.nodes] / 8))


def test_the_last_draw_of_the_range_is_a_node_that_has_importance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mggcn.sampling.layerwise.folds", lambda _value, count: ~np.zeros(count, np.uint64))
    importance = np.array([0.1, 0.2, 0.7, 0.0])
    assert draw(importance, np.cumsum(importance), 3, Key.of(0)).nodes.tolist() == [2]


def test_the_length_of_columns(small: Dataset) -> None:
    adjacency = propagation(small.graph)
    np.testing.assert_allclose(squared_columns(adjacency), np.square(adjacency.toarray()).sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("layers", [0, 1, 3])
def test_batches_are_valid(small: Dataset, name: str, layers: int) -> None:
    adjacency = propagation(small.graph)
    targets = small.split.train
    batches = list(SAMPLERS[name](adjacency, layers, 12).batches(targets, Key.of(3), 8))
    assert_targets_covered_once(batches, targets, 8)
    for batch in batches:
        assert_batch_is_valid(batch)
        assert len(batch.blocks) == layers
        for layer, block in enumerate(batch.blocks):
            nodes, count = drawn_nodes(batch, layer)
            assert isinstance(block, DrawnBlock)
            most = 12 + (batch.targets.numel() if name == "ladies as its authors" else 0)
            assert 12 <= block.draws == count.sum() <= most
            assert np.unique(nodes).size == nodes.size <= most


@pytest.mark.parametrize("name", SAMPLERS)
def test_receivers_aggregate_the_drawn_nodes_next_to_them(small: Dataset, name: str) -> None:
    adjacency = propagation(small.graph)
    batch = next(SAMPLERS[name](adjacency, 2, 15).batches(small.split.train, Key.of(5), 10))
    for layer, receivers in ((0, batch.nodes[batch.blocks[0].root]), (1, batch.targets)):
        senders = dense(adjacency, batch, layer).numpy() > 0
        expected = np.zeros_like(senders)
        nodes, _ = drawn_nodes(batch, layer)
        expected[:, nodes] = adjacency[receivers.numpy()].toarray()[:, nodes] > 0
        np.testing.assert_array_equal(senders, expected)


@pytest.mark.parametrize("name", ["fastgcn", "fastgcn among neighbours", "ladies"])
@pytest.mark.parametrize("kind", ["symmetric", "row"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_over_draws_is_the_whole_sum(small: Dataset, name: str, kind: str, weighted: bool) -> None:
    """Targets 58 and 59 are isolated and aggregate only themselves."""
    adjacency = propagation(with_weights(small) if weighted else small.graph, kind)
    targets = np.array([59, 3, 17, 58, 40])
    exact = torch.from_numpy(adjacency[targets].toarray())
    sampler = SAMPLERS[name](adjacency, 1, 40)
    matrices = torch.stack(
        [dense(adjacency, next(sampler.batches(targets, Key.of(n), 5)), 0) for n in range(600)]
    ).double()
    error = matrices.std(dim=0) / 600**0.5
    assert bool(((matrices.mean(dim=0) - exact).abs() <= 5 * error + 1e-6).all())
    assert bool((error < 0.1).all())
    assert float(matrices.std(dim=0).max()) > 0.05


@pytest.mark.parametrize("name", ["fastgcn", "ladies"])
def test_two_layers_together_are_unbiased_for_linear_layers(small: Dataset, name: str) -> None:
    adjacency, x = propagation(small.graph), torch.tensor(small.x).double()
    targets = np.array([3, 17, 40])
    exact = torch.from_numpy((adjacency @ (adjacency @ small.x))[targets]).double()
    sampler = SAMPLERS[name](adjacency, 2, 60)
    found = []
    for n in range(500):
        batch = next(sampler.batches(targets, Key.of(n), 3))
        h = x[batch.nodes]
        for block in batch.blocks:
            h = aggregate(h, replace(block, weight=block.weight.double()))
        found.append(h)
    stacked = torch.stack(found)
    error = stacked.std(dim=0) / 500**0.5
    assert bool(((stacked.mean(dim=0) - exact).abs() <= 5 * error).all())
    assert bool((error < 0.1).all())


def test_normalised_factors_sum_to_one(small: Dataset) -> None:
    adjacency = propagation(small.graph, "row")
    for batch in LadiesSampler(adjacency, 2, 10).batches(small.split.train, Key.of(0), 10):
        for layer, block in enumerate(batch.blocks):
            sums = dense(adjacency, batch, layer).sum(dim=1)
            some = block.indptr.diff() > 0
            torch.testing.assert_close(sums[some], torch.ones(int(some.sum())))
            assert not sums[~some].any()


def test_ladies_draws_below_what_was_drawn_above(small: Dataset) -> None:
    adjacency = propagation(small.graph)
    for batch in LadiesSampler(adjacency, 3, 4).batches(small.split.train, Key.of(0), 3):
        above = batch.targets.numpy()
        for layer in (2, 1, 0):
            nodes, _ = drawn_nodes(batch, layer)
            assert (adjacency[above].toarray()[:, nodes] > 0).any(axis=0).all()
            above = nodes


def test_ladies_keeps_the_targets_in_every_sample(small: Dataset) -> None:
    """A target that was not drawn counts as drawn once: its factor is 1 / (draws × probability) before scaling."""
    adjacency, samples = propagation(small.graph, "row"), 4
    sampler = LadiesSampler(adjacency, 2, samples, normalise=False)
    undrawn = 0
    for batch in sampler.batches(small.split.train, Key.of(0), 6):
        targets = batch.targets.numpy()
        for layer in (1, 0):
            nodes, times = drawn_nodes(batch, layer)
            assert set(targets) <= set(nodes)
            assert samples <= times.sum() <= samples + targets.size
        rows = adjacency[targets].toarray()
        importance = (rows.astype(np.float64) ** 2).sum(axis=0)
        nodes, times = drawn_nodes(batch, 1)
        factor = times * importance.sum() / (samples * importance[nodes])
        found = dense(adjacency, batch, 1)[:, nodes]
        torch.testing.assert_close(found, torch.from_numpy(rows[:, nodes] * factor).float(), rtol=1e-5, atol=1e-6)
        undrawn += int(times.sum()) - samples
    assert undrawn > 0


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_same_key_gives_the_same_batches(small: Dataset, name: str) -> None:
    sampler = SAMPLERS[name](propagation(small.graph), 2, 10)
    one, same, other = (list(sampler.batches(small.split.train, Key.of(k), 10)) for k in (0, 0, 1))
    for a, b in zip(one, same, strict=True):
        assert torch.equal(a.nodes, b.nodes)
        for p, q in zip(a.blocks, b.blocks, strict=True):
            assert torch.equal(p.indices, q.indices)
            assert torch.equal(p.weight, q.weight)
    assert not all(torch.equal(a.nodes, b.nodes) for a, b in zip(one, other, strict=True))
    assert not torch.equal(one[0].blocks[0].count, one[0].blocks[1].count)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_graph_without_edges(name: str) -> None:
    graph = Graph.from_edges([], [], 4)
    batch = next(SAMPLERS[name](propagation(graph), 2, 200).batches(np.array([2, 0]), Key.of(0), 2))
    assert_batch_is_valid(batch)
    for layer in (0, 1):
        senders = dense(propagation(graph), batch, layer)
        assert senders[0].nonzero().flatten().tolist() == [2]
        assert senders[1].nonzero().flatten().tolist() == [0]


def test_isolated_nodes_that_are_no_targets_are_never_drawn(small: Dataset) -> None:
    adjacency = propagation(small.graph.subgraph(small.split.train))
    sampler = FastGCNSampler(adjacency, 2, 50, "all")
    for batch in sampler.batches(small.split.train, Key.of(0), 10):
        assert set(batch.nodes.tolist()) <= set(small.split.train.tolist())


@pytest.mark.parametrize("method", ["fastgcn", "ladies", "mg-fastgcn"])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_methods_learn(small: Dataset, method: str, layers: int) -> None:
    settings = {"hidden": 16, "samples": 40, "layers": layers, "epochs": 60, "lr": 0.03}
    assert mggcn.fit(small, method=method, settings=settings).record.test_accuracy >= 0.7


def test_fastgcn_learns_without_the_precomputed_layer(small: Dataset) -> None:
    settings = {"hidden": 16, "samples": 40, "precompute": False, "candidates": "all", "epochs": 60, "lr": 0.03}
    assert mggcn.fit(small, method="fastgcn", settings=settings).record.test_accuracy >= 0.7


@pytest.mark.parametrize("method", ["fastgcn", "mg-fastgcn", "ladies"])
def test_scores_are_the_exact_network(small: Dataset, method: str) -> None:
    """Whole neighbourhoods by hand, from the method's own inputs and weights."""
    built = resolve(method, small.name, {}, preset="paper").prepare(small, Key.of(0), CPU)
    adjacency = propagation(small.graph, "row" if method == "ladies" else "symmetric")
    whole = torch.from_numpy(adjacency.toarray())
    h = torch.cat(built.eval.inputs.parts, dim=1)
    weights = [parameter for name, parameter in built.model.named_parameters() if name.endswith("weight")]
    for layer, weight in enumerate(weights):
        h = h.relu() @ weight if layer else h @ weight
        if layer or method == "ladies":
            h = whole @ h
    batch = next(built.eval.sampler.batches(np.arange(60), Key.of(0), 60))
    torch.testing.assert_close(built.model(built.eval.inputs.rows(batch.nodes), batch.blocks), h)


@pytest.mark.parametrize("method", ["fastgcn", "ladies", "mg-fastgcn", "as-gcn"])
def test_a_sample_needs_a_node(method: str) -> None:
    with pytest.raises(InputError, match="samples: 0 is less than 1"):
        resolve(method, "cora", {"samples": 0})


def test_large_graphs_search_instead_of_allocating() -> None:
    rng = np.random.default_rng(0)
    nodes = rng.permutation(100)[:20]
    wanted, values = rng.integers(0, 100, 300), rng.normal(size=20)
    rows = csr_array(rng.random((10, 100)) * (rng.random((10, 100)) < 0.1))
    direct = layerwise.values_at(wanted, nodes, values, 100), layerwise.sender_importance(rows)
    searched = layerwise.values_at(wanted, nodes, values, 100, direct=0), layerwise.sender_importance(rows, direct=0)
    assert np.array_equal(direct[0], searched[0])
    for one, other in zip(direct[1], searched[1], strict=True):
        np.testing.assert_allclose(one, other)
