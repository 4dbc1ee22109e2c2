import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, log_loss

from mggcn.training._metrics import Scores, Tally, Top
from tests.reference.calibration import calibration_error


def tally(p: NDArray[np.float64], y: NDArray[np.int64]) -> Tally:
    """The metrics of probabilities."""
    found = Tally(p.shape[1])
    found.add(torch.from_numpy(np.log(np.maximum(p, 1e-300))), torch.from_numpy(y), p)
    return found


def score(p: NDArray[np.float64], y: list[int]) -> Scores:
    return tally(p, np.array(y)).scores


def test_scores_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 5))
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    y = rng.integers(0, 4, 200)
    counted = tally(np.exp(log_p), y)
    found = counted.scores
    predicted = log_p.argmax(axis=1)
    assert np.isclose(found.accuracy, accuracy_score(y, predicted))
    assert np.isclose(found.macro_f1, f1_score(y, predicted, average="macro", labels=range(4)))
    assert counted.confusion == confusion_matrix(y, predicted, labels=range(5)).tolist()
    assert np.isclose(found.loss, log_loss(y, np.exp(log_p), labels=range(5)))


def test_a_class_without_labels_does_not_count_even_if_it_is_predicted() -> None:
    p = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    assert score(p[:2], [0, 1]).macro_f1 == 1.0
    assert np.isclose(score(p, [0, 1, 1]).macro_f1, (1 + 2 / 3) / 2)


def test_the_calibration_error_by_hand() -> None:
    """Two bins: at 0.9 one of two is right, which is 0.4 off; at 0.55 both are, which is 0.45 off."""
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.55, 0.45], [0.55, 0.45]])
    assert np.isclose(tally(p, np.array([0, 1, 0, 0])).calibration_error, (2 * 0.4 + 2 * 0.45) / 4)
    assert tally(np.eye(3), np.arange(3)).calibration_error == 0.0


def test_probabilities_that_are_drawn_from_are_calibrated() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 20_000)
    y = (rng.random((20_000, 1)) < p.cumsum(axis=1)).argmax(axis=1)
    assert tally(p, y).calibration_error < 0.02
    assert tally(p, y).calibration_error == pytest.approx(calibration_error(p, y))
    assert tally(p**3 / (p**3).sum(axis=1, keepdims=True), y).calibration_error > 0.1


def test_the_top_of_a_ranking() -> None:
    p, y = np.array([0.1, 0.9, 0.8, 0.9, 0.7]), np.array([1, 1, -1, 0, 1])
    top = Top.of(4, p, y, 1)
    assert top.indices.tolist() == [1, 3, 2, 4]
    assert (top.known, top.correct, top.precision) == (3, 2, 2 / 3)
    assert Top.of(99, p, y, 1).indices.size == 5
    assert Top.of(1, p, np.full(5, -1), 1).precision is None
