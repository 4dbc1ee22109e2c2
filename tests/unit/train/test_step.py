"""What the step adds to the plain mean cross-entropy: weights of targets, penalties, and models without parameters."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mggcn import methods, train
from mggcn.block import Batch, Block
from mggcn.dataset import Dataset
from mggcn.keys import Key
from mggcn.nn import MLP
from mggcn.train import Compute
from mggcn.train.progress import Silent

CPU = Compute(torch.device("cpu"))


class Weighing:
    """A sampler that gives every target the same factor."""

    device = torch.device("cpu")

    def __init__(self, sampler: object, factor: float) -> None:
        self._sampler, self._factor = sampler, factor

    def batches(self, targets: np.ndarray, key: Key, batch_size: int) -> list[Batch]:
        found = self._sampler.batches(targets, key, batch_size)
        return [replace(b, weight=torch.full((b.targets.numel(),), self._factor / b.targets.numel())) for b in found]


class Penalising(nn.Module):
    """An MLP with a penalty on its weights in training."""

    def __init__(self, inner: MLP, factor: float) -> None:
        super().__init__()
        self.inner, self.factor = inner, factor

    def forward(self, x: Tensor, blocks: Sequence[Block]) -> Tensor | train.Penalised:
        scores = self.inner(x, blocks)
        if not self.training:
            return scores
        return train.Penalised(scores, self.factor * self.inner.layers[0].weight.square().sum())


def trained(small: Dataset, change: str, factor: float = 1.0) -> tuple[Tensor, float]:
    plan = methods.resolve("mlp", small.name, {"epochs": 3, "batch_size": 16, "layers": 1})
    method = plan.prepare(small, Key.of(0), CPU)
    weight = method.model.layers[0].weight
    if change == "weight":
        method = replace(method, train=train.View(method.train.inputs, Weighing(method.train.sampler, factor)))
    if change == "penalty":
        method = replace(method, model=Penalising(method.model, factor))
    fitted = train.fit(method, small, plan.training, Key.of(0), CPU, Silent())
    return weight.detach(), fitted.curve[-1].train_loss


def test_equal_weights_that_sum_to_one_change_nothing(small: Dataset) -> None:
    plain, loss = trained(small, "none")
    weighed, same = trained(small, "weight")
    torch.testing.assert_close(weighed, plain, rtol=1e-4, atol=1e-5)
    assert same == pytest.approx(loss, rel=1e-4)
    assert trained(small, "weight", 0.5)[1] < 0.8 * loss


def test_a_penalty_acts_on_the_weights(small: Dataset) -> None:
    plain, _ = trained(small, "none")
    without, _ = trained(small, "penalty", 0.0)
    torch.testing.assert_close(without, plain, rtol=1e-4, atol=1e-5)
    assert trained(small, "penalty", 10.0)[0].square().sum() < plain.square().sum()


def test_a_model_without_parameters_is_only_evaluated(small: Dataset) -> None:
    plan = methods.resolve("mlp", small.name, {"epochs": 3})
    method = plan.prepare(small, Key.of(0), CPU)

    class First(nn.Module):
        def forward(self, x: Tensor, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
            return x.to_dense()[:, : small.num_classes] if not isinstance(x, Tensor) else x[:, : small.num_classes]

    fitted = train.fit(replace(method, model=First()), small, plan.training, Key.of(0), CPU, Silent())
    assert fitted.curve == []
    assert fitted.best_epoch == 0
    assert 0 <= fitted.val.accuracy <= 1
