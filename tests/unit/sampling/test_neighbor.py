import numpy as np
import pytest
import torch
from torch import Tensor

import mggcn
from mggcn.block import Batch, HistoryBlock
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.methods.vr_gcn import HistoryConv
from mggcn.nn.conv import GCNConv
from mggcn.runs import resolve
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.neighbor import FullSampler, HistorySampler, NeighborSampler, RowSampler, WholeGraphSampler
from mggcn.training import Inference
from mggcn.training._compute import Compute
from mggcn.training._epochs import Drawing
from tests.gpu import GPU
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


CPU = Compute(torch.device("cpu"))
PATH = Graph.from_edges([0, 1, 2], [1, 2, 3], 5)


def test_symmetric_normalisation_is_kipf_and_wellings() -> None:
    loops = np.eye(5) + np.array([[v in PATH.row(u) for v in range(5)] for u in range(5)])
    scale = np.diag(loops.sum(1) ** -0.5)
    np.testing.assert_allclose(propagation(PATH).toarray(), scale @ loops @ scale, rtol=1e-6)
    assert propagation(PATH).dtype == np.float32


def test_row_normalisation_is_a_mean() -> None:
    found = propagation(PATH, "row").toarray()
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(found[1], [1 / 3, 1 / 3, 1 / 3, 0, 0], rtol=1e-6)
    assert found[4].tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_batches_hold_the_whole_receptive_field(layers: int) -> None:
    sampler = FullSampler(propagation(PATH), layers)
    targets = np.array([4, 0, 3])
    batches = list(sampler.batches(targets, Key.of(0), 2))
    assert_targets_covered_once(batches, targets, 2)
    for batch in batches:
        assert_batch_is_valid(batch)
    reached = {0: {0, 4}, 1: {0, 1, 4}, 2: {0, 1, 2, 4}, 3: {0, 1, 2, 3, 4}}
    assert set(batches[0].nodes.tolist()) == reached[layers]


def test_the_whole_graph_is_one_batch() -> None:
    (batch,) = WholeGraphSampler(propagation(PATH), 3).batches(np.array([4, 0, 3]), Key.of(0), 2)
    assert_batch_is_valid(batch)
    assert batch.targets.tolist() == [4, 0, 3]
    assert batch.nodes.tolist() == [0, 1, 2, 3, 4]


def test_only_rows_that_targets_depend_on_are_computed() -> None:
    sampler = WholeGraphSampler(propagation(PATH), 2)
    (batch,) = sampler.batches(np.array([4, 0]), Key.of(0), 2)
    assert_batch_is_valid(batch)
    assert batch.nodes.tolist() == [0, 1, 2, 4]
    assert [block.num_dst for block in batch.blocks] == [3, 2]
    (same,) = FullSampler(propagation(PATH), 2).batches(np.array([4, 0]), Key.of(0), 2)
    x, conv = torch.randn(5, 3), GCNConv(3, 3)
    found, expected = (conv(conv(x[one.nodes], one.blocks[0]), one.blocks[1]) for one in (batch, same))
    torch.testing.assert_close(found, expected)


def test_a_mapped_graph_is_not_written_to() -> None:
    adjacency = propagation(PATH)
    for dtype in (np.int32, np.int64):
        adjacency.indices = adjacency.indices.astype(dtype)
        adjacency.indices.flags.writeable = False
        (batch,) = WholeGraphSampler(adjacency, 1).batches(np.arange(5), Key.of(0), 5)
        assert batch.blocks[0].indices.tolist() == adjacency.indices.tolist()


def test_the_whole_graph_is_prepared_once_for_the_same_targets() -> None:
    sampler = WholeGraphSampler(propagation(PATH), 2)
    first, again, other, third = (
        next(sampler.batches(np.array(nodes), Key.of(0), 2)) for nodes in ([4, 0], [4, 0], [0, 4], [1])
    )
    assert first is again
    assert other.targets.tolist() == [0, 4]
    assert third.targets.tolist() == [1]
    assert next(sampler.batches(np.array([0, 4]), Key.of(0), 2)) is other
    assert next(sampler.batches(np.array([4, 0]), Key.of(0), 2)) is not first


def test_targets_of_one_batch_are_not_shuffled(small: Dataset) -> None:
    plan = resolve("gcn", small.name, {"batches": "full"})
    prepared = plan.prepare(small, Key.of(0), CPU)
    targets = small.require_split().train
    drawing = Drawing(prepared.train.sampler, targets, plan.training, Key.of(0))
    assert next(drawing.take(1)) is next(drawing.take(2))
    assert next(drawing.take(1)).targets.tolist() == targets.tolist()


def test_rows_alone() -> None:
    targets = np.array([4, 0, 3])
    batches = list(RowSampler().batches(torch.from_numpy(targets), Key.of(0), 2))
    assert_targets_covered_once(batches, targets, 2)
    assert all(batch.blocks == () for batch in batches)
    on_gpu = list(RowSampler(GPU).batches(targets, Key.of(0), 2))
    assert [batch.nodes.tolist() for batch in on_gpu] == [[4, 0], [3]]
    assert all(batch.nodes.device.type == GPU.type and batch.targets is batch.nodes for batch in on_gpu)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_full_and_mini_batches_score_alike(small: Dataset, layers: int) -> None:
    plan = resolve("gcn", small.name, {"layers": layers, "hidden": 8})
    method = plan.prepare(small, Key.of(0), CPU)
    nodes = np.random.default_rng(0).permutation(small.num_nodes)
    mini = Inference(method.model, method.train, Key.of(0), CPU).predict(nodes)
    whole = Inference(method.model, method.eval, Key.of(0), CPU).predict(nodes)
    torch.testing.assert_close(mini, whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("hidden", [4, 32])
def test_sums_of_the_first_layer_that_are_computed_once_score_and_learn_alike(
    small: Dataset, layers: int, hidden: int
) -> None:
    settings = {"layers": layers, "hidden": hidden, "batches": "full", "dropout": 0.0}
    plan = resolve("gcn", small.name, settings)
    prepared = plan.prepare(small, Key.of(0), CPU)
    nodes, gradients = small.require_split().train, []
    for view in (prepared.train, prepared.eval):
        (batch,) = view.batches(nodes, Key.of(0), 1)
        prepared.model.zero_grad()
        prepared.model(view.rows(prepared.model, batch), batch.blocks).square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in prepared.model.parameters()])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)
    once, always = (
        Inference(prepared.model, v, Key.of(0), CPU).predict(nodes) for v in (prepared.train, prepared.eval)
    )
    torch.testing.assert_close(once, always, rtol=1e-5, atol=1e-5)


def test_sums_of_dropped_features_are_computed_in_every_step(small: Dataset) -> None:
    plan = resolve("gcn", small.name, {"batches": "full", "input_dropout": 0.5})
    prepared = plan.prepare(small, Key.of(0), CPU)
    assert prepared.train is prepared.eval


def test_a_graph_that_does_not_fit_is_refused_beforehand(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Compute(torch.device("cpu")).free_bytes() is None or Compute(torch.device("cpu")).free_bytes() > 0
    monkeypatch.setattr(Compute, "free_bytes", lambda _: 100)
    plan = resolve("gcn", small.name, {"batches": "full"})
    with pytest.raises(InputError, match=r"gcn: a step over the whole graph needs about .* GiB, 0\.0 GiB are free"):
        plan.prepare(small, Key.of(0), CPU)
    resolve("gcn", small.name, {"batches": "mini"}).prepare(small, Key.of(0), CPU)


TARGETS = np.array([3, 41, 8, 59, 20])


def rows_of(count: int, seed: int) -> Tensor:
    return torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))


def estimates(small: Dataset, conv: HistoryConv, h: Tensor, history: Tensor, draws: int) -> Tensor:
    """[draws, targets, channels] estimates of the targets' sums over ``h``, with the same history for each."""
    sampler, found = HistorySampler(propagation(small.graph), 1, 2), []
    for draw in range(draws):
        conv.history = history.clone()
        batch = sampler.batch(TARGETS, Key.of(draw))
        (block,) = batch.blocks
        assert isinstance(block, HistoryBlock)
        found.append(conv.estimate(h[batch.nodes], block))
    return torch.stack(found)


def test_batches_are_valid_and_cover_targets_once(small: Dataset) -> None:
    sampler = HistorySampler(propagation(small.graph), 2, 2)
    batches: list[Batch] = list(sampler.batches(small.split.train, Key.of(0), 7))
    assert_targets_covered_once(batches, small.split.train, 7)
    for batch in batches:
        assert_batch_is_valid(batch)
        for block in batch.blocks:
            assert bool((block.indptr.diff() <= 2).all())
            assert block.to("cpu").nodes.tolist() == block.nodes.tolist()
    again = next(sampler.batches(small.split.train, Key.of(0), 7))
    other = next(sampler.batches(small.split.train, Key.of(1), 7))
    assert batches[0].nodes.tolist() == again.nodes.tolist() != other.nodes.tolist()


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_any_history_gives_an_unbiased_estimate(small: Dataset, dropout: float) -> None:
    conv, h = HistoryConv(4, 2, dropout=dropout), rows_of(60, 0)
    history = h + 0.5 * rows_of(60, 1)
    exact = torch.from_numpy(propagation(small.graph).toarray())[TARGETS] @ h
    torch.manual_seed(0)
    found = estimates(small, conv, h, history, 1_500)
    error = found.std(dim=0) / 1_500**0.5
    assert float(found.std(dim=0).max()) > 0.1, "draws differ"
    assert bool(((found.mean(dim=0) - exact).abs() < 5 * error + 1e-5).all())


def test_a_true_history_leaves_no_variance(small: Dataset) -> None:
    h = rows_of(60, 0)
    exact = torch.from_numpy(propagation(small.graph).toarray())[TARGETS] @ h
    found = estimates(small, HistoryConv(4, 2), h, h, 20)
    torch.testing.assert_close(found, exact.expand_as(found))


def test_history_reduces_the_variance(small: Dataset) -> None:
    conv, h = HistoryConv(4, 2), rows_of(60, 0)
    near = estimates(small, conv, h, h + 0.1 * rows_of(60, 1), 200).var(dim=0).sum()
    none = estimates(small, conv, h, torch.zeros_like(h), 200).var(dim=0).sum()
    assert float(near) < 0.05 * float(none)


def test_a_forward_pass_in_training_updates_the_history_of_its_rows_alone(small: Dataset) -> None:
    conv, h = HistoryConv(4, 2), rows_of(60, 0).requires_grad_()
    batch = HistorySampler(propagation(small.graph), 1, 2).batch(TARGETS, Key.of(0))
    conv(h[batch.nodes], batch.blocks[0]).sum().backward()
    assert h.grad is not None
    expected = torch.zeros(60, 4)
    expected[batch.nodes] = h.detach()[batch.nodes]
    assert not conv.history.requires_grad
    assert torch.equal(conv.history, expected)
    assert "history" not in conv.state_dict()
    conv.eval()
    conv(torch.ones(batch.nodes.numel(), 4), batch.blocks[0])
    assert torch.equal(conv.history, expected)


def test_ordinary_blocks_are_summed_exactly(small: Dataset) -> None:
    one, two = (kind(4, 2, bias=True, generator=torch.Generator().manual_seed(1)) for kind in (HistoryConv, GCNConv))
    batch = FullSampler(propagation(small.graph), 1).batch(TARGETS, Key.of(0))
    x = rows_of(60, 2)[batch.nodes]
    torch.testing.assert_close(one(x, batch.blocks[0]), two(x, batch.blocks[0]))


@pytest.mark.parametrize(("layers", "dropout"), [(2, 0.0), (3, 0.2)])
def test_training_learns(small: Dataset, layers: int, dropout: float) -> None:
    settings = {"layers": layers, "dropout": dropout, "batch_size": 8, "lr": 0.05, "epochs": 40}
    assert mggcn.fit(small, "vr-gcn", settings=settings).record.test_accuracy > 0.6


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match="layers: 1 is less than 2"):
        resolve("vr-gcn", "cora", {"layers": 1})
    with pytest.raises(InputError, match="fanout: 0 is less than 1"):
        resolve("vr-gcn", "cora", {"fanout": 0})
