"""The training loop, and the state that a run continues from. It names no method and no data set."""

import copy
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from mggcn.errors import InputError, first_line, prefix_errors
from mggcn.training._background_risk import background_risk
from mggcn.training._checkpoints import Checkpoints, Fitted, State, Tensors, check_tensors
from mggcn.training._epochs import Epochs, Step
from mggcn.training._inference import Inference, evaluate
from mggcn.training._metrics import Scores
from mggcn.training._prepared import Fit
from mggcn.training._record import Epoch

_log = logging.getLogger(__name__)

_MODEL, _BEST = "model.", "best."
_CPU, _GPU, _SIZES = "generator.cpu", "generator.cuda", "sampler.sizes"


class Progress(Protocol):
    """Is called with every finished epoch of a run."""

    def epoch(self, epoch: Epoch) -> None:
        """Show one epoch."""


@runtime_checkable
class NotedProgress(Progress, Protocol):
    """A progress that is also called with sentences before the first epoch."""

    def note(self, text: str) -> None:
        """Show a sentence."""


class Silent:
    """Shows nothing."""

    def epoch(self, epoch: Epoch) -> None:
        """Ignore an epoch."""


def train(
    fit: Fit,
    progress: Progress,
    checkpoints: Checkpoints | None = None,
    is_behind: Callable[[Sequence[Epoch]], bool] = lambda _: False,
) -> Fitted:
    """Train until the validation scores stop improving, then load the best epoch's weights into the model.

    A model without parameters is only evaluated. With checkpoints, training continues from their state and ends as if
    it had not been interrupted. Ranks train with their shares of every batch and score their shares of the nodes.
    ``is_behind`` says of the epochs so far whether training stops early.
    """
    training, compute, model, val_nodes = fit.training, fit.compute, fit.model, fit.split.val
    fit = replace(fit, prepared=replace(fit.prepared, eval=fit.prepared.eval.kept(compute)))
    best, best_weights = Fitted(), Tensors()
    curve = best.curve
    average = WeightAverage(model, training.averaging)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return Fitted(val=evaluate(fit, val_nodes))
    seeded = torch.random.fork_rng([compute.device] if compute.device.type == "cuda" else [])
    with Epochs(fit) as epochs, seeded:
        torch.manual_seed(fit.key.fold("dropout").torch_seed)
        live = Live(fit, epochs.step, average)
        if checkpoints is not None and (state := checkpoints.state) is not None:
            with prefix_errors(checkpoints.folder):
                best_weights = live.restore(state)
            curve += state.fitted.curve
            best = replace(state.fitted, curve=curve)
            epochs.first_peak = best.first_peak
        while len(curve) < training.epochs and len(curve) - best.best_epoch < training.patience:
            if is_behind(curve):
                break
            number, started = len(curve) + 1, time.perf_counter()
            if compute.ranks.size > 1:  # ranks drop different units, and no rank needs the generator of another
                torch.manual_seed(fit.key.fold("dropout", number, compute.ranks.rank).torch_seed)
            loss = epochs.run(number)
            trained = time.perf_counter()
            _log_phase("epochs", number, trained - started)
            with average.with_epoch(number):
                val = evaluate(fit, val_nodes)
                if training.background_prior:
                    val = replace(val, loss=_risk(fit))
                is_best = _is_better(val, best.val, training.select)
                if is_best:
                    best_weights = copy.deepcopy(model.state_dict())
            epoch = Epoch(number, loss, val.loss, val.accuracy, trained - started, time.perf_counter() - trained)
            curve.append(epoch)
            _log_phase("evaluation", number, epoch.eval_seconds)
            if is_best:
                best = Fitted(curve, number, val, epochs.first_peak)
            if checkpoints is not None:
                checkpoints.epoch_ended(partial(live.capture, best, best_weights, checkpoints.seconds))
            progress.epoch(epoch)
        if checkpoints is not None:
            checkpoints.training_ended(partial(live.capture, best, best_weights, checkpoints.seconds))
    if not best_weights:
        raise InputError(f"lr: training diverged at epoch {len(curve)} with learning rate {training.lr}")
    model.load_state_dict(best_weights)
    return best


def _log_phase(phase: str, number: int, seconds: float) -> None:
    _log.debug("%s, number %d: %.3f s", phase, number, seconds, extra={"phase": phase, "seconds": seconds})


def _risk(fit: Fit) -> float:
    """The loss of the validation nodes if those of the class Background are unlabelled."""
    nodes = fit.split.val
    risk = background_risk(fit.dataset, nodes, fit.training.background_prior, fit.training.background_risk)
    labels = torch.from_numpy(fit.dataset.y[nodes]).to(fit.compute.device)
    return float(risk(Inference.of(fit).predict(nodes), labels))


def _is_better(new: Scores, old: Scores, select: str) -> bool:
    """Compare by the selected metric; ties of the loss are broken by accuracy, other ties by the loss."""
    if select == "loss":
        return (new.loss, -new.accuracy) < (old.loss, -old.accuracy)
    return (-getattr(new, select), new.loss) < (-getattr(old, select), old.loss)


class WeightAverage:
    """Averages the weights of a model: the plain mean of the first epochs, then an exponential average.

    It keeps the share ``decay`` of its old value; with 0 it is the model's current weights. Weights are exchanged in
    place, where recorded GPU steps find them; torch's ``AveragedModel`` copies the model.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._weights = [parameter.data for parameter in model.parameters()] if decay else []
        self._average = [torch.zeros_like(weight) for weight in self._weights]
        self._decay = decay

    def tensors(self) -> Tensors:
        """The average, by name; filling it in place continues from there."""
        return {f"average.{number}": average for number, average in enumerate(self._average)}

    @contextmanager
    def with_epoch(self, number: int) -> Iterator[None]:
        """Add the weights of an epoch, counted from 1, and give the model the average inside the ``with`` block."""
        kept = [weight.clone() for weight in self._weights]
        for average, weight in zip(self._average, self._weights, strict=True):
            weight.copy_(average.lerp_(weight, 1 - min(self._decay, (number - 1) / number)))
        try:
            yield
        finally:
            for weight, value in zip(self._weights, kept, strict=True):
                weight.copy_(value)


class Live:
    """What training changes in place: captured as a state, and restored from one.

    That is the model with all buffers, also those that are not saved with its weights, the optimiser and the average of
    weights. Picks, order, clusters and sub-graph statistics follow from the run's random key.
    """

    def __init__(self, fit: Fit, step: Step, average: WeightAverage) -> None:
        self._model, self._device = fit.model, fit.compute.device
        self._step, self._average, self._sizes = step, average, fit.prepared.train.sampler.sizes()

    def capture(self, fitted: Fitted, best_weights: Tensors, seconds: float) -> State:
        """A copy of the current state, on the device of the model."""
        best = {_BEST + name: value for name, value in best_weights.items()}  # these are replaced, never changed
        tensors = {name: value.detach().clone() for name, value in (self._fixed() | self._growing()).items()}
        return State(replace(fitted, curve=[*fitted.curve]), best | tensors | self._generators(), seconds)

    @torch.no_grad()
    def restore(self, state: State) -> Tensors:
        """Continue from a state, and return the weights of its best epoch.

        Tensors are filled in place, as the optimiser and the average share them.
        """
        saved, fixed, growing = state.tensors, self._fixed(), self._growing()
        best = self._model.state_dict() if state.fitted.best_epoch else {}
        expected = fixed | growing | self._generators() | {_BEST + name: value for name, value in best.items()}
        check_tensors(saved, expected, growing)
        for name, tensor in fixed.items():
            tensor.copy_(saved[name])
        for name, _ in self._model.named_buffers():
            path, _, buffer = name.rpartition(".")
            setattr(self._model.get_submodule(path), buffer, saved[_MODEL + name].to(self._device, copy=True))
        self._sizes.update(saved[_SIZES].tolist())
        try:
            torch.set_rng_state(saved[_CPU].cpu())
            if self._device.type == "cuda":
                torch.cuda.set_rng_state(saved[_GPU].cpu(), self._device)
        except RuntimeError as error:
            raise InputError(f"holds no state of torch's generators ({first_line(error)})") from None
        return {name: saved[_BEST + name] for name in best}

    def _generators(self) -> Tensors:
        """The states of torch's generators."""
        on_gpu = {_GPU: torch.cuda.get_rng_state(self._device)} if self._device.type == "cuda" else {}
        return {_CPU: torch.get_rng_state(), **on_gpu}

    def _fixed(self) -> Tensors:
        """The tensors whose shape never changes."""
        parameters = {_MODEL + name: parameter.data for name, parameter in self._model.named_parameters()}
        return {**parameters, **self._step.tensors(), **self._average.tensors()}

    def _growing(self) -> Tensors:
        """The tensors whose first dimension may grow, such as the history of VR-GCN with the first batch."""
        sizes = torch.tensor([*self._sizes.items()], dtype=torch.int64).reshape(-1, 2)
        return {_SIZES: sizes} | {_MODEL + name: buffer for name, buffer in self._model.named_buffers()}
