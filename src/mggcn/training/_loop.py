"""The training loop. It names no method and no data set."""

import copy
import logging
import time
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from mggcn.data import Dataset
from mggcn.errors import InputError, prefix_errors
from mggcn.keys import Key
from mggcn.training._averaging import WeightAverage
from mggcn.training._background import BackgroundRisk
from mggcn.training._checkpoints import Checkpoints
from mggcn.training._compute import Compute
from mggcn.training._epochs import Epochs
from mggcn.training._metrics import Scores
from mggcn.training._prepared import Prepared
from mggcn.training._progress import Progress
from mggcn.training._record import Epoch
from mggcn.training._scoring import evaluate, predict
from mggcn.training._state import Fitted, Live
from mggcn.training._training import Training

_log = logging.getLogger(__name__)


def fit(
    prepared: Prepared,
    dataset: Dataset,
    training: Training,
    key: Key,
    compute: Compute,
    progress: Progress,
    checkpoints: Checkpoints | None = None,
) -> Fitted:
    """Train until the validation scores stop improving, then load the best epoch's weights into the model.

    A model without parameters is only evaluated. With checkpoints, training continues from their state and ends as if
    it had not been interrupted. Ranks train with their shares of every batch and score their shares of the nodes.
    """
    split, model = dataset.require_split(), prepared.model
    prepared = replace(prepared, eval=prepared.eval.kept(compute))
    curve: list[Epoch] = []
    best = Fitted(curve)
    best_weights: dict[str, Tensor] = {}
    average = WeightAverage(model, training.averaging)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return Fitted(val=evaluate(prepared, dataset, split.val, key, compute, training.draws))
    seeded = torch.random.fork_rng([compute.device] if compute.device.type == "cuda" else [])
    with Epochs(prepared, dataset, training, key, compute) as epochs, seeded:
        torch.manual_seed(key.fold("dropout").torch_seed)
        live = Live(model, epochs.step, average, prepared.train.sampler, compute.device)
        if checkpoints is not None and (state := checkpoints.state) is not None:
            with prefix_errors(checkpoints.folder):
                live.restore(state)
            curve += state.fitted.curve
            best, best_weights = replace(state.fitted, curve=curve), state.best_weights
            epochs.first_peak = best.first_peak
        while len(curve) < training.epochs and len(curve) - best.best_epoch < training.patience:
            number, started = len(curve) + 1, time.perf_counter()
            if compute.ranks.size > 1:  # ranks drop different units, and no rank needs the generator of another
                torch.manual_seed(key.fold("dropout", number, compute.ranks.rank).torch_seed)
            loss = epochs.run(number)
            trained = time.perf_counter()
            _log_phase("epochs", number, trained - started)
            average.update()
            with average.in_use():
                val = evaluate(prepared, dataset, split.val, key, compute, training.draws)
                if training.background_prior:
                    val = replace(val, loss=_risk(prepared, dataset, training, key, compute))
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


def _risk(prepared: Prepared, dataset: Dataset, training: Training, key: Key, compute: Compute) -> float:
    """The loss of the validation nodes if those of the class Background are unlabelled."""
    nodes = dataset.require_split().val
    risk = BackgroundRisk.of(dataset, nodes, training.background_prior, training.background_risk)
    scores = predict(prepared.model, prepared.eval, nodes, key, compute, training.draws)
    return float(risk(scores, torch.from_numpy(dataset.y[nodes]).to(compute.device)))


def _is_better(new: Scores, old: Scores, select: str) -> bool:
    """Compare by the selected metric; ties of the loss are broken by accuracy, other ties by the loss."""
    if select == "loss":
        return (new.loss, -new.accuracy) < (old.loss, -old.accuracy)
    return (-getattr(new, select), new.loss) < (-getattr(old, select), old.loss)
