"""The state of training after an epoch, as a value that can be written, read and restored.

Picks, order, clusters and sub-graph statistics are not part of it: they follow from the run's random key.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from mggcn.block import Sampler
from mggcn.errors import InputError, first_line
from mggcn.training._averaging import WeightAverage
from mggcn.training._metrics import Scores
from mggcn.training._record import Epoch
from mggcn.training._step import Step

Tensors = dict[str, Tensor]

_MODEL, _BEST = "model.", "best."
_CPU, _GPU = "generator.cpu", "generator.cuda"
_SHOWN = 60  # characters of a name


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result of training: the curve, the best epoch and its validation scores.

    ``first_peak`` is the peak memory of the first epoch; None if nothing is trained.
    """

    curve: list[Epoch] = field(default_factory=list)
    best_epoch: int = 0
    val: Scores = field(default_factory=lambda: Scores(math.inf, 0.0, 0.0))
    first_peak: int | None = None


@dataclass(frozen=True, eq=False)
class State:
    """Training after an epoch.

    Attributes:
        fitted: the curve so far, and the best epoch in it.
        tensors: by name: weights and buffers of the model, Adam's moments and its clock, the average of the weights,
            the best epoch's weights, and the states of torch's generators, which dropout reads.
        capacities: sizes that earlier batches fixed on a GPU, see
            :class:`mggcn.sampling.mix_grained.DeviceMixGrainedSampler`.
        seconds: spent on the run so far.
        resumed: how often the run was resumed before.
    """

    fitted: Fitted
    tensors: Tensors
    capacities: dict[int, int] = field(default_factory=dict)
    seconds: float = 0.0
    resumed: int = 0

    @property
    def epoch(self) -> int:
        """The number of the last finished epoch."""
        return len(self.fitted.curve)

    @property
    def best_weights(self) -> Tensors:
        """The model's state of the best epoch."""
        return {name.removeprefix(_BEST): value for name, value in self.tensors.items() if name.startswith(_BEST)}


class Live:
    """What training changes in place: captured as a state, and restored from one.

    Args:
        model: with all its buffers, also those that are not saved with its weights.
        step: holds the optimiser.
        average: of the weights.
        sampler: that training draws from.
        device: of the model.
    """

    def __init__(
        self, model: nn.Module, step: Step, average: WeightAverage, sampler: Sampler, device: torch.device
    ) -> None:
        self._model, self._step, self._average, self._device = model, step, average, device
        self._capacities: dict[int, int] = getattr(sampler, "capacities", {})

    def capture(self, fitted: Fitted, best_weights: Tensors, seconds: float) -> State:
        """A copy of the current state, on the device of the model."""
        best = {_BEST + name: value for name, value in best_weights.items()}  # these are replaced, never changed
        tensors = {name: value.detach().clone() for name, value in {**self._buffers(), **self._fixed()}.items()}
        tensors |= self._generators()
        copied = Fitted(list(fitted.curve), fitted.best_epoch, fitted.val, fitted.first_peak)
        return State(copied, best | tensors, dict(self._capacities), seconds)

    @torch.no_grad()
    def restore(self, state: State) -> None:
        """Continue from a state; tensors are filled in place, as the optimiser and the average share them."""
        saved, fixed, buffers, generators = state.tensors, self._fixed(), self._buffers(), self._generators()
        best = self._model.state_dict() if state.fitted.best_epoch else {}
        _check(saved, {**fixed, **generators, **{_BEST + name: value for name, value in best.items()}}, buffers)
        for name, tensor in fixed.items():
            tensor.copy_(saved[name])
        for name in buffers:
            path, _, buffer = name.removeprefix(_MODEL).rpartition(".")
            setattr(self._model.get_submodule(path), buffer, saved[name].to(self._device, copy=True))
        self._average.count = state.epoch
        self._capacities.update(state.capacities)
        try:
            torch.set_rng_state(saved[_CPU].cpu())
            if self._device.type == "cuda":
                torch.cuda.set_rng_state(saved[_GPU].cpu(), self._device)
        except RuntimeError as error:
            raise InputError(f"holds no state of torch's generators ({first_line(error)})") from None

    def _generators(self) -> Tensors:
        """The states of torch's generators."""
        on_gpu = {_GPU: torch.cuda.get_rng_state(self._device)} if self._device.type == "cuda" else {}
        return {_CPU: torch.get_rng_state(), **on_gpu}

    def _fixed(self) -> Tensors:
        """The tensors whose shape never changes."""
        parameters = {_MODEL + name: parameter.data for name, parameter in self._model.named_parameters()}
        return {**parameters, **self._step.tensors(), **self._average.tensors()}

    def _buffers(self) -> Tensors:
        return {_MODEL + name: buffer for name, buffer in self._model.named_buffers()}


def _check(saved: Tensors, expected: Tensors, buffers: Tensors) -> None:
    """Raise InputError unless tensors are finite, and those expected.

    Args:
        saved: what a checkpoint holds.
        expected: of the same shapes and types.
        buffers: the same, but for their first dimension: the history of VR-GCN grows with the first batch.
    """
    if saved.keys() != {*expected, *buffers}:
        raise InputError(f"holds no state of this model ({min(saved.keys() ^ {*expected, *buffers})[:_SHOWN]})")
    for name, tensor in {**buffers, **expected}.items():
        first = 0 if name in expected else 1
        if saved[name].dim() != tensor.dim() or saved[name].shape[first:] != tensor.shape[first:]:
            raise InputError(f"{name} has shape {tuple(saved[name].shape)}, not {tuple(tensor.shape)}")
        if saved[name].dtype != tensor.dtype:
            raise InputError(f"{name} has type {saved[name].dtype}, not {tensor.dtype}")
        if not saved[name].isfinite().all():
            raise InputError(f"{name} holds a number that is not finite")
