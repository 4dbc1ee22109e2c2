"""Wide sparse features are multiplied before they are averaged if that takes fewer entries; the scores are the same."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import random_array

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.methods import _fine
from mggcn.runs import resolve
from mggcn.training._compute import Compute
from mggcn.training._epochs import Epochs
from mggcn.training._inference import Inference
from mggcn.training._prepared import AveragedInputs, DenseInputs, Fit, SparseInputs
from tests.gpu import GPU

CPU = Compute(torch.device("cpu"))


def tagged(num_features: int, edges: int) -> Dataset:
    """A random graph of 300 nodes with twelve features each."""
    rng = np.random.default_rng(0)
    x = random_array((300, num_features), density=12 / num_features, format="csr", dtype=np.float32, rng=rng)
    graph = Graph.from_edges(*rng.integers(0, 300, (2, edges)), 300)
    split = Split(np.arange(100), np.arange(100, 200), np.arange(200, 300))
    return Dataset("tagged", graph, x, rng.integers(0, 3, 300), ("a", "b", "c"), split)


@pytest.fixture
def wide() -> Dataset:
    return tagged(4000, 6000)


@pytest.mark.parametrize("settings", [{}, {"fine_norm": "symmetric"}, {"fine_norm": "half", "hops": 2}, {"bias": True}])
def test_scores_do_not_depend_on_the_form(
    wide: Dataset, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = resolve("mg-gcn", "tagged", settings, preset="paper")
    later = plan.prepare(wide, Key.of(0), CPU)
    monkeypatch.setattr(_fine, "_MARGIN", np.inf)
    averaged = plan.prepare(wide, Key.of(0), CPU, later.model.state_dict())
    assert isinstance(later.train.inputs, AveragedInputs)
    assert not isinstance(averaged.train.inputs, AveragedInputs)
    scores = [Inference(one.model, one.eval, Key.of(0), CPU).predict(np.arange(300)) for one in (later, averaged)]
    torch.testing.assert_close(*scores)


def test_short_averages_are_kept(wide: Dataset) -> None:
    few = replace(wide, graph=Graph.from_edges(*np.random.default_rng(0).integers(0, 300, (2, 300)), 300))
    for data in (few, tagged(40, 6000)):
        inputs = resolve("mg-gcn", "tagged", preset="paper").prepare(data, Key.of(0), CPU).train.inputs
        assert not isinstance(inputs, AveragedInputs)
    assert isinstance(resolve("sgc", "tagged").prepare(few, Key.of(0), CPU).train.inputs, SparseInputs)


def test_dropout_of_inputs_is_of_the_averages_on_every_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of a GPU runs through Triton's interpreter here, and its losses are then the same but for rounding."""
    data = tagged(1000, 1500)
    plan = resolve("mg-gcn", "tagged", {"input_dropout": 0.5, "batch_size": 50, "lr": 1e-6}, preset="paper")
    without = resolve("mg-gcn", "tagged", {"batch_size": 50}, preset="paper")
    assert isinstance(without.prepare(data, Key.of(0), CPU).train.inputs, AveragedInputs), "the case that is forbidden"
    losses: dict[bool, list[float]] = {False: [], True: []}
    for on_gpu, found in losses.items():
        monkeypatch.setattr(Compute, "holds", lambda *_, on_gpu=on_gpu: on_gpu)
        compute = Compute(GPU) if on_gpu else CPU
        prepared = plan.prepare(data, Key.of(0), compute)
        assert isinstance(prepared.train.inputs, DenseInputs if on_gpu else SparseInputs)
        for seed in range(6):
            with Epochs(Fit(prepared, data, plan.training, Key.of(seed), compute)) as epochs:
                found.append(epochs.run(1))
    host, device = losses.values()
    assert np.ptp(host) > 1e-5, "which values are dropped changes the loss"
    if GPU.type == "cpu":
        assert device == pytest.approx(host, abs=1e-6)
    error = np.hypot(np.std(host), np.std(device)) / np.sqrt(6)
    assert np.mean(device) == pytest.approx(np.mean(host), abs=4 * error)


def test_averages_that_memory_does_not_hold_lose_the_same_values(
    wide: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = resolve("mg-gcn", wide.name, {"input_dropout": 0.5, "batch_size": 50}, preset="paper")
    losses = []
    for is_too_large in (False, True):
        monkeypatch.setattr(_fine, "is_too_large", lambda _, answer=is_too_large: answer)
        prepared = plan.prepare(wide, Key.of(0), CPU)
        assert isinstance(prepared.train.inputs, AveragedInputs if is_too_large else SparseInputs)
        assert [note.partition(":")[0] for note in prepared.notes] == [
            "averages are computed in each step"
        ] * is_too_large
        with Epochs(Fit(prepared, wide, plan.training, Key.of(0), CPU)) as epochs:
            losses.append([epochs.run(number) for number in range(1, 4)])
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_input_dropout_needs_the_averages(wide: Dataset, share: float) -> None:
    plan = resolve("mg-gcn", wide.name, {"input_dropout": share}, preset="paper")
    assert isinstance(plan.prepare(wide, Key.of(0), CPU).train.inputs, SparseInputs if share else AveragedInputs)


def test_the_choice_is_printed(wide: Dataset) -> None:
    class Notes:
        lines: list[str] = []  # noqa: RUF012

        def epoch(self, epoch: object) -> None: ...

        def note(self, text: str) -> None:
            self.lines.append(text)

    settings = {"epochs": 2, "input_dropout": 0.0, "portfolio": "none"}
    run = mggcn.fit(wide, settings=settings, device="cpu", progress=Notes())
    assert [line.partition(":")[0] for line in Notes.lines] == ["features are multiplied first and averaged afterwards"]
    assert run.record.epochs == 2
    assert run.predict(wide, device="cpu").probabilities.shape == (300, 3)
    assert run.explain(node=1, label="a").node == 1
