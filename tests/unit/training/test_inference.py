"""Scores in chunks are those of all nodes at once, and what is measured of them, too."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.keys import Key
from mggcn.nn.rows import num_bytes
from mggcn.runs import Scorer, resolve
from mggcn.runs import _scorer as runs_scoring
from mggcn.runs import _testing as testing
from mggcn.training import _inference as scoring
from mggcn.training._compute import Compute
from mggcn.training._inference import Inference
from mggcn.training._metrics import Tally
from mggcn.training._prepared import MultipliedInputs, Prepared, View
from mggcn.training._record import RunRecord

SETTINGS = {"epochs": 3, "draws": 2}
CPU = Compute(torch.device("cpu"))


@pytest.fixture
def in_chunks(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the number of nodes in a chunk."""

    def limit(size: int) -> None:
        monkeypatch.setattr(scoring, "CHUNK", size)
        monkeypatch.setattr(runs_scoring, "CHUNK", size)

    return limit


def figures(record: RunRecord) -> list[float]:
    values = [record.test_accuracy, record.test_macro_f1, record.test_ece, record.test_ece_uncalibrated]
    return [*values, record.temperature, record.val_loss, *np.ravel(record.test_confusion)]


@pytest.mark.parametrize("method", ["mg-gcn", "gcn", "mlp", "vr-gcn"])
def test_a_run_in_chunks_has_the_same_figures(small: Dataset, method: str, in_chunks: Callable[[int], None]) -> None:
    whole = mggcn.fit(small, method, settings=SETTINGS, device="cpu")
    in_chunks(3)
    run = mggcn.fit(small, method, settings=SETTINGS, device="cpu")
    np.testing.assert_allclose(figures(run.record), figures(whole.record), rtol=1e-6)
    np.testing.assert_allclose(run.record.ranking.pr_auc, whole.record.ranking.pr_auc)
    np.testing.assert_allclose(run.record.ranking.roc_auc, whole.record.ranking.roc_auc)


def prepared_eval(small: Dataset, method: str) -> tuple[Prepared, View]:
    prepared = resolve(method, small.name).prepare(small, Key.of(0), CPU)
    return prepared, prepared.eval.kept(CPU)


@pytest.mark.parametrize("method", ["mg-gcn", "gcn", "sgc", "mg-graphsage"])
def test_batches_and_rows_of_repeated_passes_are_kept(small: Dataset, method: str) -> None:
    prepared, kept = prepared_eval(small, method)
    nodes, model = small.require_split().val, prepared.model
    expected = Inference(model, prepared.eval, Key.of(0), CPU, 2).predict(nodes)
    for _ in range(2):
        assert torch.equal(Inference(model, kept, Key.of(0), CPU, 2).predict(nodes), expected)
    (first,), (again,) = (kept.batches(nodes, Key.of(5), 4096) for _ in range(2))
    assert first is again
    assert kept.rows(model, first) is kept.rows(model, first)


def test_rows_are_kept_up_to_a_budget(small: Dataset) -> None:
    prepared, kept = prepared_eval(small, "mg-gcn")
    nodes, model = small.require_split().val, prepared.model
    (batch,) = kept.batches(nodes, Key.of(0), 4096)
    size = num_bytes(kept.rows(model, batch))
    for budget, is_kept in ((size - 1, False), (size, True)):
        view = replace(kept, budget=budget, _rows={})
        assert (view.rows(model, batch) is view.rows(model, batch)) == is_kept


def test_views_whose_sampler_reads_the_model_keep_nothing(small: Dataset) -> None:
    prepared, _ = prepared_eval(small, "as-gcn")
    assert prepared.train.kept(CPU) is prepared.train


def test_predictions_come_in_chunks(small: Dataset, in_chunks: Callable[[int], None]) -> None:
    run = mggcn.fit(small, settings=SETTINGS, device="cpu")
    whole = run.predict(device="cpu")
    in_chunks(7)
    chunks = [*Scorer.of(run, small).chunks(np.arange(60))]
    assert [len(chunk) for chunk in chunks] == [7] * 8 + [4]
    joined = run.predict(device="cpu")
    for name in ("nodes", "ids", "parts"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name))
    np.testing.assert_allclose(joined.probabilities, whole.probabilities, rtol=1e-6)


def test_at_most_so_many_nodes_are_used_for_calibration_and_ranking(
    small: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_scoring, "CALIBRATED_ON", 6)
    monkeypatch.setattr(testing, "RANKED", 5)
    used: list[int] = []
    choose = testing.choose_temperature
    monkeypatch.setattr(testing, "choose_temperature", lambda p, y: used.append(y.size) or choose(p, y))
    record = mggcn.fit(small, settings=SETTINGS | {"portfolio": "none"}, device="cpu").record
    assert used == [6]
    assert record.ranking.ks == [1, 2, 5]
    assert np.sum(record.test_confusion) == small.split.test.size > 5


def test_nodes_selected_by_hash() -> None:
    nodes = np.arange(1000, 3000)
    some = Key.of(1).select(nodes, 100)
    assert some.size == 100
    assert np.all(np.diff(some) > 0)
    assert set(Key.of(1).select(nodes[:1000], 100)) & set(some), "a node is selected by its own hash"
    assert not np.array_equal(some, Key.of(2).select(nodes, 100))
    assert Key.of(1).select(nodes, 2000) is nodes


def test_metrics_add_up() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 300)
    y = rng.integers(0, 4, 300)
    tally, whole = Tally(4), Tally(4)
    for part in np.array_split(np.arange(300), 7):
        tally.add(torch.from_numpy(np.log(p[part])), torch.from_numpy(y[part]), p[part])
    whole.add(torch.from_numpy(np.log(p)), torch.from_numpy(y), p)
    np.testing.assert_allclose(
        [tally.scores.loss, tally.scores.accuracy, tally.scores.macro_f1, tally.calibration_error],
        [whole.scores.loss, whole.scores.accuracy, whole.scores.macro_f1, whole.calibration_error],
    )
    assert np.sum(tally.confusion) == tally.count == 300


@pytest.mark.parametrize("settings", [{}, {"conv": "pool"}, {"linear_path": True}, {"fine": False}])
def test_rows_that_are_multiplied_once_have_the_same_scores(small: Dataset, settings: dict[str, object]) -> None:
    run = mggcn.fit(small, settings={**SETTINGS, "portfolio": "none", **settings}, device="cpu")
    inference = Scorer.of(run, small).inference
    nodes = np.arange(60)
    assert inference.multiplied(20) is inference.view, "two draws of 20 nodes are fewer than the 60 of the graph"
    once = inference.multiplied(60)
    assert isinstance(once.inputs, MultipliedInputs)
    found, hidden = inference.predict(nodes), inference.hidden(nodes)
    few = [nodes[start : start + 20] for start in range(0, 60, 20)]
    torch.testing.assert_close(found, torch.cat([inference.predict(part) for part in few]), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(hidden, torch.cat([inference.hidden(part) for part in few]), rtol=1e-5, atol=1e-6)
