"""The only training loop. It names no method and no data set."""

import copy
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Batch, Sampler
from mggcn.dataset import Dataset
from mggcn.errors import InputError
from mggcn.inputs import Inputs
from mggcn.keys import Key
from mggcn.metrics import Scores, score
from mggcn.record import Epoch
from mggcn.scaling import Scaler, Scaling

EVAL_BATCH = 4096


@dataclass(frozen=True)
class Training:
    """How to train, whatever the method.

    Attributes:
        epochs: at most so many.
        batch_size: targets a step.
        lr: Adam's learning rate.
        weight_decay: Adam's L2 penalty.
        patience: stop after so many epochs without a better one (the paper's window).
        select: which epoch's weights are kept: the lowest validation ``loss`` or the best validation ``accuracy``.
        scaling: of the features, see :class:`mggcn.scaling.Scaler`; ``auto`` is ``row`` for sparse features, else
            ``standard``. The authors' code uses ``row`` for citation graphs and ``standard`` for Reddit and Ethereum.
        training_graph: train on the ``whole`` graph or on the sub-graph of ``train`` nodes; ``auto`` does what the data
            set asks for (the authors' code: ``train`` for Reddit, ``whole`` for citation graphs).
        class_weights: ``balanced`` weighs each class by the inverse of its share of the training nodes.
        shuffle: visit the training nodes in a new order every epoch; the authors' code does not.
        threads: of the sampler, 0 for all cores; the result does not depend on it.
    """

    epochs: int = 400
    batch_size: int = 256
    lr: float = 0.01
    weight_decay: float = 0.0
    patience: int = 30
    select: Literal["loss", "accuracy"] = "loss"
    scaling: Scaling = "auto"
    training_graph: Literal["auto", "whole", "train"] = "auto"
    class_weights: Literal["none", "balanced"] = "none"
    shuffle: bool = True
    threads: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "patience"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: {getattr(self, name)} is less than 1")
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise InputError(f"lr: {self.lr} is not a positive number")
        for name in ("weight_decay", "threads"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name}: {getattr(self, name)} is less than 0")


@dataclass(frozen=True, eq=False)
class View:
    """A graph as a model sees it: input rows and the batches over them."""

    inputs: Inputs
    sampler: Sampler


@dataclass(frozen=True, eq=False)
class Method:
    """A model with the view it trains on, the view it is evaluated on, and the scaling behind both."""

    model: nn.Module
    train: View
    eval: View
    scaler: Scaler


@dataclass(frozen=True, eq=False)
class Fitted:
    """What training leaves: the curve, the epoch whose weights the model now has, and its validation scores."""

    curve: list[Epoch] = field(default_factory=list)
    best_epoch: int = 0
    val: Scores = field(default_factory=lambda: Scores(math.inf, 0.0, 0.0))


class Progress(Protocol):
    """Hears of every finished epoch."""

    def epoch(self, epoch: Epoch) -> None:
        """Show one epoch."""
        ...


def fit(
    method: Method, dataset: Dataset, training: Training, key: Key, device: torch.device, progress: Progress
) -> Fitted:
    """Train until the validation stops getting better and leave the best epoch's weights in the model."""
    if dataset.split is None:
        raise InputError(f"{dataset.name}: no training labels (the data set has no split)")
    labels = torch.from_numpy(np.ascontiguousarray(dataset.y)).to(device)
    weight = _class_weights(dataset, training, device)
    optimizer = torch.optim.Adam(
        method.model.parameters(), lr=training.lr, weight_decay=training.weight_decay, fused=True
    )
    curve: list[Epoch] = []
    best = Fitted()
    best_weights: dict[str, Tensor] = {}
    seeded = torch.random.fork_rng([device] if device.type == "cuda" else [])
    with _Ahead(method.train.sampler, dataset.split.train, training, key) as epochs, seeded:
        torch.manual_seed(key.fold("dropout").torch_seed)
        for number in range(1, training.epochs + 1):
            started = time.perf_counter()
            loss = _train_epoch(method, epochs.take(number), labels, weight, optimizer, device)
            trained = time.perf_counter()
            if not math.isfinite(loss):
                raise InputError(f"lr: training diverged at epoch {number} with learning rate {training.lr}")
            val = evaluate(method, dataset, dataset.split.val, key, device)
            epoch = Epoch(number, loss, val.loss, val.accuracy, trained - started, time.perf_counter() - trained)
            curve.append(epoch)
            progress.epoch(epoch)
            if _is_better(val, best.val, training.select):
                best = Fitted(curve, number, val)
                best_weights = copy.deepcopy(method.model.state_dict())
            if number - best.best_epoch >= training.patience:
                break
    method.model.load_state_dict(best_weights)
    return best


def evaluate(method: Method, dataset: Dataset, nodes: NDArray[np.int64], key: Key, device: torch.device) -> Scores:
    """Score some labelled nodes on the evaluation view, with picks that are the same at every call."""
    return score(predict(method.model, method.eval, nodes, key, device), dataset.y[nodes])


def predict(
    model: nn.Module, view: View, nodes: NDArray[np.int64], key: Key, device: torch.device, draws: int = 1
) -> NDArray[np.float64]:
    """[n, classes] log-probabilities of nodes; with several draws, of the mean probabilities over them."""
    if draws < 1:
        raise InputError(f"draws: {draws} is less than 1")
    model.eval()
    with torch.no_grad():
        scores = [
            torch.cat(
                [
                    functional.log_softmax(_scores(model, view, batch, device).double(), dim=1)
                    for batch in view.sampler.batches(nodes, key.fold("eval", draw), EVAL_BATCH)
                ]
            )
            for draw in range(draws)
        ]
    mean: NDArray[np.float64] = (torch.logsumexp(torch.stack(scores), dim=0) - math.log(draws)).cpu().numpy()
    return mean


def _scores(model: nn.Module, view: View, batch: Batch, device: torch.device) -> Tensor:
    scores: Tensor = model(view.inputs.rows(batch.nodes), batch.to(device).blocks)
    return scores


def _train_epoch(
    method: Method,
    batches: Iterator[Batch],
    labels: Tensor,
    weight: Tensor | None,
    optimizer: torch.optim.Optimizer,
    device: torch.device,
) -> float:
    method.model.train()
    total = torch.zeros((), dtype=torch.float64, device=device)
    count = 0
    for batch in batches:
        scores = _scores(method.model, method.train, batch, device)
        loss = functional.cross_entropy(scores, labels[batch.targets.to(device)], weight=weight)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total += loss.detach() * batch.targets.numel()
        count += batch.targets.numel()
    return float(total) / count


class _Ahead:
    """Draws the next epoch's batches on another thread while this one trains."""

    def __init__(self, sampler: Sampler, targets: NDArray[np.int64], training: Training, key: Key) -> None:
        self._sampler, self._targets, self._training, self._key = sampler, np.asarray(targets), training, key
        self._pool = ThreadPoolExecutor(1)
        self._next = self._pool.submit(self._draw, 1)

    def __enter__(self) -> "_Ahead":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def take(self, number: int) -> Iterator[Batch]:
        """The batches of this epoch; the drawing of the next begins."""
        batches = self._next.result()
        if number < self._training.epochs:
            self._next = self._pool.submit(self._draw, number + 1)
        return batches

    def _draw(self, number: int) -> Iterator[Batch]:
        order = self._targets
        if self._training.shuffle:
            order = self._key.fold("order", number).generator().permutation(order)
        return self._sampler.batches(order, self._key.fold("picks", number), self._training.batch_size)


def _class_weights(dataset: Dataset, training: Training, device: torch.device) -> Tensor | None:
    if training.class_weights == "none" or dataset.split is None:
        return None
    counts = np.bincount(dataset.y[dataset.split.train], minlength=dataset.num_classes)
    weights = np.divide(counts.sum(), counts * np.count_nonzero(counts), out=np.zeros(counts.size), where=counts > 0)
    return torch.from_numpy(weights.astype(np.float32)).to(device)


def _is_better(new: Scores, old: Scores, select: str) -> bool:
    criterion: Callable[[Scores], tuple[float, float]] = (
        (lambda s: (s.loss, -s.accuracy)) if select == "loss" else (lambda s: (-s.accuracy, s.loss))
    )
    return criterion(new) < criterion(old)
