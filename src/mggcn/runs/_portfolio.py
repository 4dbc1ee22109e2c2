"""A portfolio: when a recipe is clearly behind another, and which recipes are selected. Test nodes are not looked at.

A recipe is compared with the one of lowest validation loss so far. From a third of the epochs on that this one needed
for its best epoch, a recipe is stopped whose lowest validation loss is more than a quarter above the lowest that the
other had by the same epoch.

Of those that were not stopped, the candidates are each alone, the mean of the best two, and the mean of all. The one
whose calibrated probabilities have the lowest loss on the validation nodes is selected, of equal ones the one with
fewer recipes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from mggcn.runs._testing import Calibrated, Probabilities, mean
from mggcn.runs._trained import Trained
from mggcn.training import Epoch, Scores, Tally, background_risk

_SHARE = 1 / 3  # of the best recipe's epochs, before which none is stopped
_DIGITS = 9  # after the point; losses that differ less are equal
_MARGIN = 1.25  # a validation loss so much larger is clearly behind


@dataclass(frozen=True)
class Rival:
    """The recipe of lowest validation loss so far, with which the next is compared; empty for the first recipe."""

    curve: Sequence[Epoch] = ()
    best_epoch: int = 0

    @classmethod
    def of(cls, trained: Sequence[Trained]) -> "Rival":
        """The best of the recipes that are trained."""
        fitted = min((one.fitted for one in trained), key=lambda each: each.val.loss, default=None)
        return cls() if fitted is None else cls(tuple(fitted.curve), fitted.best_epoch)

    def is_ahead_of(self, curve: Sequence[Epoch]) -> bool:
        """Whether a recipe with these epochs is clearly behind."""
        count = len(curve)
        if not self.best_epoch or not count or count < math.ceil(_SHARE * self.best_epoch):
            return False
        own = _lowest(curve)
        return not own <= _MARGIN * _lowest(self.curve[:count])


def _lowest(curve: Sequence[Epoch]) -> float:
    return min((epoch.val_loss for epoch in curve if not math.isnan(epoch.val_loss)), default=math.inf)


@dataclass(frozen=True)
class Choice:
    """What is selected of a portfolio.

    Attributes:
        alone: the validation scores of each recipe.
        selected: the indices of the recipes whose mean is taken, the best first.
        scores: the validation scores of that mean.
    """

    alone: tuple[Scores, ...]
    selected: tuple[int, ...]
    scores: Scores

    @classmethod
    def of(cls, trained: Sequence[Trained]) -> "Choice":
        """Choose by the loss on the validation nodes."""
        models = [one.calibrated for one in trained]
        p = [model.val_probabilities for model in models]
        alone = tuple(_scores(models[0], each) for each in p)
        kept = [index for index, one in enumerate(trained) if not one.is_stopped]
        selected = select({index: p[index] for index in kept}, lambda each: _scores(models[0], each).loss)
        return cls(alone, selected, _scores(models[0], mean([p[index] for index in selected])))


def select(p: Mapping[int, Probabilities], loss: Callable[[Probabilities], float]) -> tuple[int, ...]:
    """The numbers of the recipes that are selected, the best first.

    Args:
        p: the calibrated probabilities of the validation nodes, by the number of the recipe, of those not stopped.
        loss: of such probabilities, or of a mean of them.
    """
    ranked = sorted(p, key=lambda number: loss(p[number]))
    candidates = [tuple(ranked[:count]) for count in sorted({1, min(2, len(ranked)), len(ranked)})]
    return min(candidates, key=lambda members: round(loss(mean([p[number] for number in members])), _DIGITS))


def _scores(model: Calibrated, p: Probabilities) -> Scores:
    """The validation scores of calibrated probabilities of the nodes that calibrate a model."""
    dataset, training = model.fit.dataset, model.fit.training
    y, scores = torch.from_numpy(dataset.y[model.val]), torch.from_numpy(p).log()
    tally = Tally(dataset.num_classes)
    tally.add(scores, y)
    if not training.background_prior:
        return tally.scores
    risk = background_risk(dataset, model.val, training.background_prior, training.background_risk)
    return Scores(float(risk(scores, y)), tally.scores.accuracy, tally.scores.macro_f1)
