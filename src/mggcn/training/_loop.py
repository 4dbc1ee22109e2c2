"""The training loop. It names no method and no data set."""

import copy
import logging
import time
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from mggcn.errors import InputError, prefix_errors
from mggcn.training._averaging import WeightAverage
from mggcn.training._background import BackgroundRisk
from mggcn.training._checkpoints import Checkpoints
from mggcn.training._epochs import Epochs
from mggcn.training._metrics import Scores
from mggcn.training._prepared import Fit
from mggcn.training._progress import Progress
from mggcn.training._record import Epoch
from mggcn.training._scoring import evaluate, scores_of
from mggcn.training._state import Fitted, Live

_log = logging.getLogger(__name__)


def train(fit: Fit, progress: Progress, checkpoints: Checkpoints | None = None) -> Fitted:
    """Train until the validation scores stop improving, then load the best epoch's weights into the model.

    A model without parameters is only evaluated. With checkpoints, training continues from their state and ends as if
    it had not been interrupted. Ranks train with their shares of every batch and score their shares of the nodes.
    """
    training, compute, model, val_nodes = fit.training, fit.compute, fit.model, fit.split.val
    fit = replace(fit, prepared=replace(fit.prepared, eval=fit.prepared.eval.kept(compute)))
    curve: list[Epoch] = []
    best = Fitted(curve)
    best_weights: dict[str, Tensor] = {}
    average = WeightAverage(model, training.averaging)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return Fitted(val=evaluate(fit, val_nodes))
    seeded = torch.random.fork_rng([compute.device] if compute.device.type == "cuda" else [])
    with Epochs(fit) as epochs, seeded:
        torch.manual_seed(fit.key.fold("dropout").torch_seed)
        live = Live(model, epochs.step, average, fit.prepared.train.sampler, compute.device)
        if checkpoints is not None and (state := checkpoints.state) is not None:
            with prefix_errors(checkpoints.folder):
                live.restore(state)
            curve += state.fitted.curve
            best, best_weights = replace(state.fitted, curve=curve), state.best_weights
            epochs.first_peak = best.first_peak
        while len(curve) < training.epochs and len(curve) - best.best_epoch < training.patience:
            number, started = len(curve) + 1, time.perf_counter()
            if compute.ranks.size > 1:  # ranks drop different units, and no rank needs the generator of another
                torch.manual_seed(fit.key.fold("dropout", number, compute.ranks.rank).torch_seed)
            loss = epochs.run(number)
            trained = time.perf_counter()
            _log_phase("epochs", number, trained - started)
            average.update()
            with average.in_use():
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
    if not best_weights:
        raise InputError(f"lr: training diverged at epoch {len(curve)} with learning rate {training.lr}")
    model.load_state_dict(best_weights)
    return best


def _log_phase(phase: str, number: int, seconds: float) -> None:
    _log.debug("%s, number %d: %.3f s", phase, number, seconds, extra={"phase": phase, "seconds": seconds})


def _risk(fit: Fit) -> float:
    """The loss of the validation nodes if those of the class Background are unlabelled."""
    nodes = fit.split.val
    risk = BackgroundRisk.of(fit.dataset, nodes, fit.training.background_prior, fit.training.background_risk)
    labels = torch.from_numpy(fit.dataset.y[nodes]).to(fit.compute.device)
    return float(risk(torch.cat([*scores_of(fit, nodes)]), labels))


def _is_better(new: Scores, old: Scores, select: str) -> bool:
    """Compare by the selected metric; ties of the loss are broken by accuracy, other ties by the loss."""
    if select == "loss":
        return (new.loss, -new.accuracy) < (old.loss, -old.accuracy)
    return (-getattr(new, select), new.loss) < (-getattr(old, select), old.loss)
