"""The state of training after an epoch, as a value that can be written, read and restored.

Picks, order, clusters and sub-graph statistics are not part of it: they follow from the run's random key.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from mggcn.block import Sampler
from mggcn.errors import InputError
from mggcn.records.record import Epoch
from mggcn.train.averaging import WeightAverage
from mggcn.train.metrics import Scores
from mggcn.train.step import Step

Tensors = dict[str, Tensor]

_MODEL, _BEST = "model.", "best."
_CPU, _GPU = "generator.cpu", "generator.cuda"


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
            :class:`mggcn.sampling.mix_grained_gpu.DeviceMixGrainedSampler`.
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
        tensors |= {_CPU: torch.get_rng_state()}
        if self._device.type == "cuda":
            tensors |= {_GPU: torch.cuda.get_rng_state(self._device)}
        copied = Fitted(list(fitted.curve), fitted.best_epoch, fitted.val, fitted.first_peak)
        return State(copied, best | tensors, dict(self._capacities), seconds)

    @torch.no_grad()
    def restore(self, state: State) -> None:
        """Continue from a state; tensors are filled in place, as the optimiser and the average share them."""
        saved = state.tensors
        expected = {*self._fixed(), *self._buffers(), _CPU} | ({_GPU} if self._device.type == "cuda" else set())
        present = {name for name in saved if not name.startswith(_BEST)}
        if expected != present:
            raise InputError(f"checkpoint: holds no state of this model ({min(expected ^ present)})")
        for name, tensor in self._fixed().items():
            if tensor.shape != saved[name].shape or tensor.dtype != saved[name].dtype:
                raise InputError(f"checkpoint: {name} has shape {tuple(saved[name].shape)}, not {tuple(tensor.shape)}")
            tensor.copy_(saved[name])
        for name in self._buffers():  # the history of VR-GCN grows with the first batch
            path, _, buffer = name.removeprefix(_MODEL).rpartition(".")
            setattr(self._model.get_submodule(path), buffer, saved[name].to(self._device, copy=True))
        self._average.count = state.epoch
        self._capacities.update(state.capacities)
        torch.set_rng_state(saved[_CPU].cpu())
        if self._device.type == "cuda":
            torch.cuda.set_rng_state(saved[_GPU].cpu(), self._device)

    def _fixed(self) -> Tensors:
        """The tensors whose shape never changes."""
        parameters = {_MODEL + name: parameter.data for name, parameter in self._model.named_parameters()}
        return {**parameters, **self._step.tensors(), **self._average.tensors()}

    def _buffers(self) -> Tensors:
        return {_MODEL + name: buffer for name, buffer in self._model.named_buffers()}
