"""The number of draws in training is that of every score that follows, unless a call names another."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import mggcn
from mggcn import training as train
from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.runs._scorer import Scorer
from mggcn.training._compute import Compute
from mggcn.training._temperature import choose_temperature
from tests.reference.calibration import calibration_error

CPU = Compute(torch.device("cpu"))
DRAWS = 3


@pytest.fixture
def run(small: Dataset, tmp_path: Path) -> mggcn.Run:
    data = save(small, tmp_path / "data")
    settings = {"epochs": 2, "lr": 0.1, "picks": 2, "draws": DRAWS}
    return mggcn.fit(data, settings=settings, preset="paper", device="cpu").save(tmp_path / "run")


def by_hand(run: mggcn.Run, small: Dataset, nodes: np.ndarray) -> np.ndarray:
    """The mean of the probabilities over the evaluation's draws."""
    prepared = run.plan.prepare(small, run.key, CPU)
    with torch.no_grad():
        drawn = []
        for draw in range(DRAWS):
            (batch,) = prepared.eval.sampler.batches(nodes, run.key.fold("eval", draw), nodes.size)
            scores = run.model.eval()(prepared.eval.rows(run.model, batch), batch.blocks)
            drawn.append(torch.softmax(scores.double(), dim=1).numpy())
    assert np.abs(drawn[0] - drawn[1]).max() > 1e-3, "draws differ"
    return np.mean(drawn, axis=0)


def test_validation_test_and_temperature(run: mggcn.Run, small: Dataset) -> None:
    record, split = run.record, small.split
    val, test = (np.log(by_hand(run, small, nodes)) for nodes in (split.val, split.test))
    assert record.val_loss == pytest.approx(-val[np.arange(val.shape[0]), small.y[split.val]].mean(), rel=1e-6)
    assert record.val_accuracy == (val.argmax(axis=1) == small.y[split.val]).mean()
    assert record.test_accuracy == (test.argmax(axis=1) == small.y[split.test]).mean()
    assert record.temperature == pytest.approx(choose_temperature(val, small.y[split.val]), rel=1e-6)
    assert record.temperature != 1
    calibrated = np.exp(train.calibrated(torch.from_numpy(test), record.temperature).numpy())
    assert record.test_ece == pytest.approx(calibration_error(calibrated, small.y[split.test]))


def test_predictions_of_a_run_and_of_a_loaded_one(run: mggcn.Run, small: Dataset) -> None:
    nodes = np.arange(60)
    expected = by_hand(run, small, nodes)
    for each in (run, mggcn.load_run(run.path)):
        found = each.predict(calibrated=False, device="cpu").probabilities
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        powers = expected ** (1 / run.record.temperature)
        scaled = powers / powers.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(each.predict(device="cpu").probabilities, scaled, rtol=1e-6)
        np.testing.assert_allclose(Scorer.of(each, small).probabilities(nodes), scaled, rtol=1e-6)
        once = each.predict(draws=1, calibrated=False, device="cpu").probabilities
        assert np.abs(once - expected).max() > 1e-3


def test_a_new_graph_needs_no_training_data(run: mggcn.Run, small: Dataset, tmp_path: Path) -> None:
    """The record's temperature is that of as many draws."""
    loaded = mggcn.load_run(run.path)
    (tmp_path / "data").rename(tmp_path / "gone")
    new = replace(small, name="new", split=None)
    assert np.array_equal(loaded.predict(new, device="cpu").probabilities, run.predict(device="cpu").probabilities)


def test_embeddings_and_explanations(run: mggcn.Run) -> None:
    named, unnamed = (run.embed(nodes=[5, 7], draws=draws, device="cpu").values for draws in (DRAWS, None))
    assert np.array_equal(named, unnamed)
    assert not np.array_equal(run.embed(nodes=[5, 7], draws=1, device="cpu").values, unnamed)
    assert sum(pick.draws for pick in run.explain(node=5).picks) == 2 * DRAWS
    assert sum(pick.draws for pick in run.explain(node=5, draws=1).picks) == 2


def test_on_the_command_line(run: mggcn.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, options in (("a.csv", []), ("b.csv", ["--draws", str(DRAWS)]), ("c.csv", ["--draws", "1"])):
        assert main(["predict", "run", "--out", name, "--device", "cpu", *options]) == 0
    a, b, c = (
        [line.rpartition(",")[0] for line in Path(name).read_text().splitlines()]
        for name in ("a.csv", "b.csv", "c.csv")
    )
    assert a == b != c  # without the time of scoring


def test_more_draws_in_training_change_the_scores_only(small: Dataset) -> None:
    """A model is trained on one draw of each batch, whatever the number of draws that score it."""
    settings = {"epochs": 3, "patience": 3, "select": "accuracy"}
    curves = []
    for draws in (1, 4):
        run = mggcn.fit(small, settings={**settings, "draws": draws}, preset="paper", device="cpu")
        curves.append([(epoch.train_loss, epoch.val_loss) for epoch in run.record.curve])
    assert [loss for loss, _ in curves[0]] == [loss for loss, _ in curves[1]]
    assert [loss for _, loss in curves[0]] != [loss for _, loss in curves[1]]
