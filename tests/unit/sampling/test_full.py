import numpy as np
import pytest
import torch

from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.nn.conv import GCNConv
from mggcn.runs import resolve
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.full import RowSampler, WholeGraphSampler
from mggcn.sampling.neighbor import FullSampler
from mggcn.training import Inference
from mggcn.training._compute import Compute
from mggcn.training._epochs import Drawing
from tests.gpu import GPU
from tests.properties import assert_batch_is_valid, assert_targets_covered_once

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
