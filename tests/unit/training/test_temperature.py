import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

import mggcn
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.training._temperature import calibrated, choose_temperature, fit_temperature
from tests.reference.calibration import calibration_error


def drawn(factor: float, n: int = 4_000, classes: int = 3) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Log-probabilities that are too sure by a factor, and classes drawn from the true ones."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (n, classes))
    p = np.exp(log_softmax(logits))
    y = (rng.random((n, 1)) < p.cumsum(axis=1)).argmax(axis=1)
    return log_softmax(factor * logits), y


def log_softmax(z: NDArray[np.float64]) -> NDArray[np.float64]:
    return z - np.log(np.exp(z).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("factor", [0.2, 1.0, 3.0, 25.0])
def test_it_undoes_scores_that_are_too_sure_or_not_sure_enough(factor: float) -> None:
    z, y = drawn(factor)
    temperature = fit_temperature(z, y)
    assert temperature == pytest.approx(factor, rel=0.05)
    after = np.exp(calibrated(torch.from_numpy(z), temperature).numpy())
    assert calibration_error(after, y) < 0.02
    assert np.array_equal(after.argmax(axis=1), z.argmax(axis=1)), "the class stays as it was"


def test_it_is_where_the_likelihood_is_highest() -> None:
    z, y = drawn(2.0, n=50)

    def loss(beta: float) -> float:
        scaled = log_softmax(beta * z)
        weights = (50 * np.eye(3)[y] + 1 / 3) / 51
        return -(weights * scaled).sum()

    best = minimize_scalar(loss, bounds=(1e-3, 10), method="bounded", options={"xatol": 1e-10}).x
    assert fit_temperature(z, y) == pytest.approx(1 / best, rel=1e-5)


def test_scores_that_are_always_right_do_not_become_certain() -> None:
    z = log_softmax(np.eye(4)[np.arange(20) % 4])
    temperature = fit_temperature(z, np.arange(20) % 4)
    surest = np.exp(calibrated(torch.from_numpy(z), temperature).numpy()).max()
    assert 0.9 < surest < 0.99


@pytest.mark.parametrize(
    "z", [np.log(np.full((3, 2), 0.5)), np.log(np.array([[1.0, 1e-300], [1e-300, 1.0], [1.0, 1e-300]]))]
)
def test_extreme_scores_give_a_finite_temperature(z: NDArray[np.float64]) -> None:
    temperature = fit_temperature(z, np.array([0, 1, 1]))
    assert 1e-3 <= temperature <= 1e3
    assert torch.isfinite(calibrated(torch.from_numpy(z), temperature)).all()
    with np.errstate(divide="ignore"):
        assert 1e-3 <= fit_temperature(np.log(np.array([[1.0, 0.0], [0.0, 1.0]])), np.array([1, 1])) <= 1e3


def test_flat_scores_stay_as_they_are() -> None:
    assert fit_temperature(np.log(np.full((3, 2), 0.5)), np.array([0, 1, 1])) == 1.0


def error_at(temperature: float, z: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    return calibration_error(np.exp(calibrated(torch.from_numpy(z), temperature).numpy()), y)


def test_a_temperature_that_helps_is_used() -> None:
    z, y = drawn(3.0)
    temperature = choose_temperature(z[:48], y[:48])
    assert temperature == fit_temperature(z[:48], y[:48])
    assert error_at(temperature, z, y) < error_at(1.0, z, y) / 2


def test_a_temperature_that_hurts_is_not_used() -> None:
    z, y = drawn(1.0)
    few = slice(96, 144)
    assert error_at(fit_temperature(z[few], y[few]), z, y) > 2 * error_at(1.0, z, y)
    assert choose_temperature(z[few], y[few]) == 1.0


@pytest.mark.parametrize("n", [1, 4, 5, 6])
def test_few_nodes_and_certain_scores(n: int) -> None:
    with np.errstate(divide="ignore"):
        z = np.log(np.array([[1.0, 0.0]] * 6))
    assert 1e-3 <= choose_temperature(z[:n], np.array([0, 1, 0, 0, 1, 0])[:n]) <= 1e3
    assert choose_temperature(z[:n], np.zeros(n, np.int64)) == 1.0


def test_a_run_whose_temperature_does_not_help_predicts_as_it_is(small: Dataset) -> None:
    run = mggcn.fit(small, settings={"epochs": 40, "lr": 0.1, "portfolio": "none"})
    assert run.record.temperature == 1
    assert run.record.test_ece == run.record.test_ece_uncalibrated
    assert np.array_equal(run.predict().probabilities, run.predict(calibrated=False).probabilities)


def test_several_draws_have_a_temperature_of_their_own(small: Dataset, tmp_path: Path) -> None:
    run = mggcn.fit(small, settings={"epochs": 2, "lr": 0.1, "picks": 2}, preset="paper", device="cpu")
    plain, scaled = (run.predict(draws=8, calibrated=each, device="cpu") for each in (False, True))
    val = small.split.val
    temperature = choose_temperature(np.log(plain.probabilities[val]), small.y[val])
    assert temperature not in (1, run.record.temperature)
    expected = plain.probabilities ** (1 / temperature)
    np.testing.assert_allclose(scaled.probabilities, expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)
    folder = save(small, tmp_path / "data").path
    saved = mggcn.fit(mggcn.load(folder), settings={"epochs": 2, "lr": 0.1, "picks": 2}, preset="paper", device="cpu")
    loaded = mggcn.load_run(saved.save(tmp_path / "run").path)
    new = replace(small, name="new", x=small.x + 1, split=None)
    powers = loaded.predict(new, draws=8, calibrated=False, device="cpu").probabilities ** (1 / temperature)
    found = loaded.predict(new, draws=8, device="cpu").probabilities
    np.testing.assert_allclose(found, powers / powers.sum(axis=1, keepdims=True), rtol=1e-9)
    shutil.rmtree(folder)
    loaded = mggcn.load_run(tmp_path / "run")
    assert loaded.predict(new, device="cpu").nodes.size == 60
    with pytest.raises(InputError, match="draws: 8 draws need a temperature fitted on the validation nodes"):
        loaded.predict(new, draws=8, device="cpu")


@pytest.mark.parametrize("draws", [1, 3])
def test_a_run_predicts_calibrated_probabilities_of_the_same_classes(small: Dataset, draws: int) -> None:
    run = mggcn.fit(small, settings={"epochs": 2, "lr": 0.1, "draws": draws}, preset="paper", device="cpu")
    plain, scaled = run.predict(calibrated=False), run.predict()
    assert run.record.temperature != 1
    expected = plain.probabilities ** (1 / run.record.temperature)
    np.testing.assert_allclose(scaled.probabilities, expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)
    assert np.array_equal(scaled.labels, plain.labels)
    test = small.split.test
    assert run.record.test_ece == pytest.approx(calibration_error(scaled.probabilities[test], small.y[test]))
    expected = calibration_error(plain.probabilities[test], small.y[test])
    assert run.record.test_ece_uncalibrated == pytest.approx(expected)
