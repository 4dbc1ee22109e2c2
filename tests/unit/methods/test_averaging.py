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
from mggcn.training._inference import Inference
from mggcn.training._prepared import AveragedInputs, SparseInputs

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


def test_the_choice_is_printed(wide: Dataset) -> None:
    class Notes:
        lines: list[str] = []  # noqa: RUF012

        def epoch(self, epoch: object) -> None: ...

        def note(self, text: str) -> None:
            self.lines.append(text)

    run = mggcn.fit(wide, settings={"epochs": 2, "input_dropout": 0.3}, device="cpu", progress=Notes())
    assert [line.partition(":")[0] for line in Notes.lines] == ["features are multiplied first and averaged afterwards"]
    assert run.record.epochs == 2
    assert run.predict(wide, device="cpu").probabilities.shape == (300, 3)
    assert run.explain(node=1, label="a").node == 1
