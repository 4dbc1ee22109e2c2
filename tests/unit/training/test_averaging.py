"""The average of weights over epochs."""

import numpy as np
import pytest
import torch
from torch import nn

from mggcn.data._dataset import Dataset
from mggcn.keys import Key
from mggcn.runs import resolve
from mggcn.training import Fit, Fitted, train
from mggcn.training._compute import Compute
from mggcn.training._loop import WeightAverage
from mggcn.training._record import Epoch

CPU = Compute(torch.device("cpu"))


def expected_average(values: list[float], decay: float) -> float:
    """The mean while it forgets less than ``decay`` does, then the exponential average."""
    average = 0.0
    for count, value in enumerate(values):
        kept = min(decay, count / (count + 1))
        average = kept * average + (1 - kept) * value
    return average


@pytest.mark.parametrize("decay", [0.3, 0.75, 0.999])
def test_it_equals_the_average_by_hand(decay: float) -> None:
    model = nn.Linear(2, 1, bias=False)
    average, values = WeightAverage(model, decay), [3.0, -1.0, 4.0, 1.0, -5.0, 9.0]
    for count, value in enumerate(values, 1):
        model.weight.data.fill_(value)
        with average.with_epoch(count):
            found = model.weight.detach().clone()
        torch.testing.assert_close(found, torch.full((1, 2), expected_average(values[:count], decay)))
        assert model.weight.tolist() == [[value, value]], "the model has its own weights again"
    if decay == 0.999:
        assert found[0, 0] == pytest.approx(np.mean(values)), "the first epochs count alike"


def test_weights_stay_at_their_addresses() -> None:
    """Recorded GPU steps read and write the weights where they were."""
    model = nn.Linear(3, 3)
    average = WeightAverage(model, 0.5)
    before = [parameter.data_ptr() for parameter in model.parameters()]
    with average.with_epoch(1):
        assert [parameter.data_ptr() for parameter in model.parameters()] == before
    assert [parameter.data_ptr() for parameter in model.parameters()] == before


def test_the_models_weights_come_back_after_an_error() -> None:
    model = nn.Linear(2, 1)
    average = WeightAverage(model, 0.5)
    with average.with_epoch(1):
        pass
    model.weight.data.fill_(7)
    with pytest.raises(KeyError), average.with_epoch(2):
        raise KeyError
    assert model.weight.tolist() == [[7, 7]]


class Keeping:
    """Keeps the weights that every epoch of training ends with."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.weights = model, []

    def epoch(self, epoch: Epoch) -> None:  # noqa: ARG002
        self.weights.append([parameter.detach().clone() for parameter in self.model.parameters()])


def trained(small: Dataset, averaging: float) -> tuple[list[torch.Tensor], Keeping, Fitted]:
    changes = {"epochs": 8, "batch_size": 16, "dropout": 0.3, "averaging": averaging, "lr": 0.05}
    plan = resolve("mg-gcn", small.name, changes, preset="paper")
    prepared = plan.prepare(small, Key.of(0), CPU)
    kept = Keeping(prepared.model)
    fitted = train(Fit(prepared, small, plan.training, Key.of(0), CPU), kept)
    return [parameter.detach() for parameter in prepared.model.parameters()], kept, fitted


def test_training_ends_with_the_average_of_the_best_epoch(small: Dataset) -> None:
    _, plain, _ = trained(small, 0.0)
    weights, kept, fitted = trained(small, 0.6)
    for one, other in zip(plain.weights, kept.weights, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True)), "averaging does not change training"
    seen = kept.weights[: fitted.best_epoch]
    assert fitted.best_epoch > 2
    for number, weight in enumerate(weights):
        values = torch.stack([epoch[number].double() for epoch in seen])
        shape = values.shape[1:]
        by_hand = [expected_average(column.tolist(), 0.6) for column in values.view(len(seen), -1).T]
        torch.testing.assert_close(weight.double(), torch.tensor(by_hand).double().view(shape), atol=1e-6, rtol=1e-5)
    assert not all(torch.equal(a, b) for a, b in zip(weights, seen[-1], strict=True))


def test_without_averaging_the_best_epochs_weights_are_kept_bit_for_bit(small: Dataset) -> None:
    weights, kept, fitted = trained(small, 0.0)
    best = kept.weights[fitted.best_epoch - 1]
    assert all(torch.equal(a, b) for a, b in zip(weights, best, strict=True))
