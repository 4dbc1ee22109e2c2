"""An exponential average of a model's weights over epochs."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """Averages the weights of a model: the plain mean of the first epochs, then an exponential average.

    Weights are exchanged in place, so that recorded GPU steps still find them.

    Args:
        model: whose weights are averaged.
        decay: the share of its old value that the average keeps; with 0 it is the model's current weights.

    Attributes:
        count: the number of epochs in the average.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._weights: list[Tensor] = [parameter.data for parameter in model.parameters()] if decay else []
        self._average = [torch.zeros_like(weight) for weight in self._weights]
        self._decay, self.count = decay, 0

    def tensors(self) -> dict[str, Tensor]:
        """The average, by name; filling it in place continues from there."""
        return {f"average.{number}": average for number, average in enumerate(self._average)}

    def update(self) -> None:
        """Add the current weights."""
        share = 1 - min(self._decay, self.count / (self.count + 1))
        self.count += 1
        for average, weight in zip(self._average, self._weights, strict=True):
            average.lerp_(weight, share)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Give the model the average inside the ``with`` block."""
        kept = [weight.clone() for weight in self._weights]
        self._load(self._average)
        try:
            yield
        finally:
            self._load(kept)

    def _load(self, values: list[Tensor]) -> None:
        for weight, value in zip(self._weights, values, strict=True):
            weight.copy_(value)
