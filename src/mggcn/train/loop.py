"""The training loop. It names no method and no data set."""

import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Batch
from mggcn.dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import node_numbers
from mggcn.keys import Key
from mggcn.records.record import Epoch
from mggcn.train.averaging import WeightAverage
from mggcn.train.background import BackgroundRisk
from mggcn.train.checkpoints import Checkpoints
from mggcn.train.compute import Compute
from mggcn.train.epochs import Epochs
from mggcn.train.metrics import NUM_SUMS, Scores, of_sums, sums_of
from mggcn.train.prepared import Prepared, View
from mggcn.train.progress import Progress
from mggcn.train.state import Fitted, Live
from mggcn.train.training import Training

EVAL_BATCH = 4096


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
            if is_best:
                best = Fitted(curve, number, val, epochs.first_peak)
            if checkpoints is not None:
                checkpoints.epoch_ended(partial(live.capture, best, best_weights, checkpoints.seconds))
            progress.epoch(epoch)
    if not best_weights:
        raise InputError(f"lr: training diverged at epoch {len(curve)} with learning rate {training.lr}")
    model.load_state_dict(best_weights)
    return best


def evaluate(
    prepared: Prepared, dataset: Dataset, nodes: NDArray[np.int64], key: Key, compute: Compute, draws: int = 1
) -> Scores:
    """Score some labelled nodes on the evaluation view, with picks that are the same at every call."""
    part = nodes[compute.ranks.part(nodes.size)]
    sums = torch.zeros(NUM_SUMS, dataset.num_classes, dtype=torch.float64, device=compute.device)
    if part.size:
        labels = torch.from_numpy(dataset.y[part]).to(compute.device)
        sums = sums_of(_log_probabilities(prepared.model, prepared.eval, part, key, compute, draws), labels)
    return of_sums(compute.ranks.add(sums))


def _risk(prepared: Prepared, dataset: Dataset, training: Training, key: Key, compute: Compute) -> float:
    """The loss of the validation nodes if those of the class Background are unlabelled."""
    nodes = dataset.require_split().val
    risk = BackgroundRisk.of(dataset, nodes, training.background_prior, compute.device)
    scores = predict(prepared.model, prepared.eval, nodes, key, compute, training.draws)
    return float(risk(scores, torch.from_numpy(dataset.y[nodes]).to(compute.device)))


def predict(
    model: nn.Module, view: View, nodes: NDArray[np.int64], key: Key, compute: Compute, draws: int = 1
) -> Tensor:
    """[n, classes] log-probabilities of nodes; with several draws, of the mean probabilities over them.

    Ranks score their shares of the nodes, and each has the rows of all.
    """
    nodes = node_numbers(nodes)
    part = nodes[compute.ranks.part(nodes.size)]
    rows = _log_probabilities(model, view, part, key, compute, draws) if part.size else torch.empty(0)
    return compute.ranks.gather(rows)


def _log_probabilities(
    model: nn.Module, view: View, nodes: NDArray[np.int64], key: Key, compute: Compute, draws: int
) -> Tensor:
    def log_probabilities(batch: Batch) -> Tensor:
        scores: Tensor = model(view.rows(model, batch), batch.to(compute.device).blocks)
        return functional.log_softmax(scores.double(), dim=1)

    scores = _of_batches(log_probabilities, model, view, nodes, key, compute, draws)
    return torch.logsumexp(torch.stack([*scores]), dim=0) - math.log(draws)


def hidden(
    model: nn.Module, view: View, nodes: NDArray[np.int64], key: Key, compute: Compute, draws: int = 1
) -> Tensor:
    """[n, channels] hidden representations of nodes, as the model's method ``hidden`` gives them; means over draws."""

    def representations(batch: Batch) -> Tensor:
        rows: Tensor = model.hidden(view.rows(model, batch), batch.to(compute.device).blocks)  # type: ignore[operator]
        return rows.float()

    total: Tensor | float = 0.0
    for rows in _of_batches(representations, model, view, nodes, key, compute, draws):
        total = total + rows
    return torch.as_tensor(total) / draws


def _of_batches(
    function: Callable[[Batch], Tensor],
    model: nn.Module,
    view: View,
    nodes: NDArray[np.int64],
    key: Key,
    compute: Compute,
    draws: int,
) -> Iterator[Tensor]:
    """For each of the evaluation's draws, the rows that a function of a batch gives for ``nodes``."""
    if draws < 1:
        raise InputError(f"draws: {draws} is less than 1")
    nodes = node_numbers(nodes)
    model.eval()
    with torch.no_grad(), compute.arithmetic():
        for draw in range(draws):
            batches = view.sampler.batches(nodes, key.fold("eval", draw), EVAL_BATCH)
            yield torch.cat([function(batch) for batch in view.prefetched(batches)])


def _is_better(new: Scores, old: Scores, select: str) -> bool:
    """Compare by the selected metric; ties of the loss are broken by accuracy, other ties by the loss."""
    if select == "loss":
        return (new.loss, -new.accuracy) < (old.loss, -old.accuracy)
    return (-getattr(new, select), new.loss) < (-getattr(old, select), old.loss)
