import numpy as np
import torch
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, log_loss

from mggcn.metrics import confusion, score


def test_scores_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 5))
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    y = rng.integers(0, 4, 200)
    found = score(torch.from_numpy(log_p), torch.from_numpy(y))
    predicted = log_p.argmax(axis=1)
    assert np.isclose(found.accuracy, accuracy_score(y, predicted))
    assert np.isclose(found.macro_f1, f1_score(y, predicted, average="macro"))
    cells = confusion(torch.from_numpy(log_p), torch.from_numpy(y))
    assert cells == confusion_matrix(y, predicted, labels=range(5)).tolist()
    assert np.isclose(found.loss, log_loss(y, np.exp(log_p), labels=range(5)))


def test_a_class_that_never_occurs_does_not_count() -> None:
    log_p = np.log(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]))
    assert score(torch.from_numpy(log_p), torch.tensor([0, 1])).macro_f1 == 1.0
