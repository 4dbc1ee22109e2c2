"""What the step adds to the mean cross-entropy: weights of targets, penalties, label smoothing, consistency ..."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mggcn.block import Batch, Block, CPUSampler
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.kernels.adam import Adam
from mggcn.keys import Key
from mggcn.nn.stack import MLP
from mggcn.runs import resolve
from mggcn.training import Inference, Penalised, Prepared, View, train
from mggcn.training._compute import Compute
from mggcn.training._epochs import Epochs, shuffled
from mggcn.training._loop import Silent
from mggcn.training._prepared import Fit
from mggcn.training._training import Training

CPU = Compute(torch.device("cpu"))


class Weighing(CPUSampler):
    """A sampler that gives every target the same factor."""

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

    def forward(self, x: Tensor, blocks: Sequence[Block]) -> Tensor | Penalised:
        scores = self.inner(x, blocks)
        if not self.training:
            return scores
        return Penalised(scores, self.factor * self.inner.layers[0].weight.square().sum())


def trained(small: Dataset, change: str, factor: float = 1.0) -> tuple[Tensor, float]:
    plan = resolve("mlp", small.name, {"epochs": 3, "batch_size": 16, "layers": 1})
    method = plan.prepare(small, Key.of(0), CPU)
    weight = method.model.layers[0].weight
    if change == "weight":
        method = replace(method, train=View(method.train.inputs, Weighing(method.train.sampler, factor)))
    if change == "penalty":
        method = replace(method, model=Penalising(method.model, factor))
    fitted = train(Fit(method, small, plan.training, Key.of(0), CPU), Silent())
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
    plan = resolve("mlp", small.name, {"epochs": 3})
    method = plan.prepare(small, Key.of(0), CPU)

    class First(nn.Module):
        def forward(self, x: Tensor, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
            return x.to_dense()[:, : small.num_classes] if not isinstance(x, Tensor) else x[:, : small.num_classes]

    fitted = train(Fit(replace(method, model=First()), small, plan.training, Key.of(0), CPU), Silent())
    assert fitted.curve == []
    assert fitted.best_epoch == 0
    assert 0 <= fitted.val.accuracy <= 1


def gradients(
    small: Dataset, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], method: str = "mg-gcn"
) -> tuple[Prepared, float]:
    """A prepared method after one step whose weights stay as they were: the gradients and the loss of the epoch."""
    monkeypatch.setattr(Adam, "step", lambda _: None)
    settings = {"batch_size": 64, "hidden": 4, "picks": 3} if method == "mg-gcn" else {}
    plan = resolve(method, small.name, {**settings, **changes}, preset="paper")
    prepared = plan.prepare(small, Key.of(0), CPU)
    with Epochs(Fit(prepared, small, plan.training, Key.of(0), CPU)) as epochs:
        return prepared, epochs.run(1)


def by_autograd(prepared: Prepared, small: Dataset, training: Training) -> tuple[Tensor, float]:
    """The loss of the only batch of epoch 1 in plain torch; its mean cross-entropy too."""
    order, drawn = shuffled(small.split.train, Key.of(0).fold("order", 1)), []
    for draw in ("picks", "twin") if training.consistency else ("picks",):
        (batch,) = prepared.train.sampler.batches(order, Key.of(0).fold(draw, 1), 64)
        rows = prepared.train.inputs.rows(batch.nodes).to_dense()
        drawn.append(prepared.model(rows, batch.blocks))
    labels, classes = torch.from_numpy(small.y[order]), small.num_classes
    wanted = (1 - training.label_smoothing) * torch.eye(classes)[labels] + training.label_smoothing / classes
    losses = [-(wanted * torch.log_softmax(scores, dim=1)).sum(dim=1).mean() for scores in drawn]
    mean = torch.stack(losses).mean()
    if not training.consistency:
        return mean, float(mean.detach())
    one, other = (torch.softmax(scores, dim=1) for scores in drawn)
    return mean + training.consistency * ((one - other) ** 2).sum(dim=1).mean(), float(mean.detach())


@pytest.mark.parametrize(
    "training",
    [
        Training(),
        Training(label_smoothing=0.3),
        Training(consistency=2.0),
        Training(consistency=0.7, label_smoothing=0.2),
    ],
)
def test_the_gradient_is_that_of_plain_autograd(
    small: Dataset, monkeypatch: pytest.MonkeyPatch, training: Training
) -> None:
    changes = {"label_smoothing": training.label_smoothing, "consistency": training.consistency}
    prepared, loss = gradients(small, monkeypatch, changes)
    expected, mean = by_autograd(prepared, small, training)
    for parameter in prepared.model.parameters():
        (by_torch,) = torch.autograd.grad(expected, parameter, retain_graph=True)
        torch.testing.assert_close(parameter.grad, by_torch, rtol=1e-4, atol=1e-6)
    assert loss == pytest.approx(mean, rel=1e-5), "the curve shows the cross-entropy, without the distance"


def test_two_draws_differ_and_consistency_pulls_them_together(small: Dataset) -> None:
    def distance(consistency: float) -> float:
        changes = {"consistency": consistency, "epochs": 40, "patience": 40, "picks": 1, "lr": 0.03}
        plan = resolve("mg-gcn", small.name, changes, preset="paper")
        prepared = plan.prepare(small, Key.of(0), CPU)
        train(Fit(prepared, small, plan.training, Key.of(0), CPU), Silent())
        one, other = (
            Inference(prepared.model, prepared.eval, Key.of(seed), CPU).predict(small.split.train).exp()
            for seed in (1, 2)
        )
        return float((one - other).square().sum(dim=1).mean())

    assert 0 < distance(20.0) < 0.5 * distance(0.0)


@pytest.mark.parametrize("method", ["cluster-gcn", "graphsaint"])
def test_consistency_needs_the_same_targets_in_both_draws(
    small: Dataset, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    parts = {"cluster-gcn": {"parts": 6, "parts_per_batch": 1}, "graphsaint": {"roots": 5}}[method]
    with pytest.raises(InputError, match="consistency: needs a method whose batches have the same targets"):
        gradients(small, monkeypatch, {"consistency": 1.0, **parts}, method)


def test_consistency_keeps_half_of_each_penalty(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adam, "step", lambda _: None)
    found = []
    for consistency in (0.0, 1e-12):
        changes = {"batch_size": 64, "layers": 1, "consistency": consistency}
        plan = resolve("mlp", small.name, changes)
        prepared = plan.prepare(small, Key.of(0), CPU)
        prepared = replace(prepared, model=Penalising(prepared.model, 10.0))
        with Epochs(Fit(prepared, small, plan.training, Key.of(0), CPU)) as epochs:
            epochs.run(1)
        found.append(prepared.model.inner.layers[0].weight.grad)
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("consistency", [0.0, 1.0])
def test_input_dropout_is_of_training_only(small: Dataset, monkeypatch: pytest.MonkeyPatch, consistency: float) -> None:
    prepared, _ = gradients(small, monkeypatch, {"input_dropout": 0.999, "consistency": consistency})
    first = next(prepared.model.parameters())
    plain, _ = gradients(small, monkeypatch, {"consistency": consistency})
    assert first.grad.abs().gt(0).sum() < next(plain.model.parameters()).grad.abs().gt(0).sum()
    scores = [Inference(each.model, each.eval, Key.of(0), CPU).predict(small.split.val) for each in (prepared, plain)]
    assert torch.equal(*scores)


class Recording(nn.Module):
    """Keeps the rows that it is called with in training."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(classes))
        self.rows: list[Tensor] = []

    def forward(self, x: Tensor, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
        self.rows.append(x)
        return self.bias.expand(x.shape[0], -1)


def test_input_dropout_differs_between_epochs_steps_and_twins_and_follows_from_the_key(small: Dataset) -> None:
    changes = {"input_dropout": 0.5, "consistency": 1.0, "batch_size": 8, "shuffle": False, "layers": 1}
    plan = resolve("mlp", small.name, changes)
    prepared = plan.prepare(small, Key.of(0), CPU)

    def rows(seed: int, numbers: Sequence[int]) -> list[Tensor]:
        model = Recording(small.num_classes)
        with Epochs(Fit(replace(prepared, model=model), small, plan.training, Key.of(seed), CPU)) as epochs:
            for number in numbers:
                torch.rand(number)
                epochs.run(number)
        return model.rows

    found = rows(0, (1, 2))
    half = len(found) // 2
    assert half > 2, "two steps of two draws at least"
    first, twin = (each != 0 for each in found[:2])
    assert not torch.equal(first, twin)
    assert not torch.equal(first, found[half] != 0), "the same nodes in the next epoch"
    assert all(torch.equal(*pair) for pair in zip(rows(0, (2,)), found[half:], strict=True)), "no state is kept"
    assert not all(torch.equal(*pair) for pair in zip(rows(1, (2,)), found[half:], strict=True))
    masks = [each != 0 for each in found[:half] if each.shape == found[0].shape]
    assert len({mask.numpy().tobytes() for mask in masks}) == len(masks)


def test_training_does_not_import_sympy() -> None:
    script = (
        "import sys, mggcn; from tests.conftest import small_dataset; "
        "mggcn.fit(small_dataset(), settings={'epochs': 2}); sys.exit('sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
