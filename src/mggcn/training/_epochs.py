"""Epochs of training: draw the batches, make a step for each: forward, loss, backward, Adam."""

import copy
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from mggcn._io.arrays import shared_tensor
from mggcn.block import Batch, Sampler
from mggcn.errors import InputError
from mggcn.kernels.adam import Adam
from mggcn.kernels.loss import cross_entropy
from mggcn.keys import GOLDEN, MIX_1, MIX_2, Key, folds
from mggcn.nn import Layer
from mggcn.nn.rows import dropped
from mggcn.training._background_risk import RiskOf, background_risk
from mggcn.training._capture import Captured
from mggcn.training._environment import peak, restart_peak
from mggcn.training._prepared import DenseInputs, Fit, Penalised, View
from mggcn.training._ranks import Shares
from mggcn.training._training import Training

_COUNTED_BATCHES = 20
_PROBED_BATCHES = 20

Targets: TypeAlias = NDArray[np.int64] | Tensor


class Epochs:
    """Trains epochs one after the other.

    Attributes:
        step: trains the model batch by batch.
        first_peak: the peak memory of the first epoch, before anything is evaluated; None until it was run.
    """

    def __init__(self, fit: Fit) -> None:
        view, ranks = fit.prepared.train, fit.compute.ranks
        self._fit = fit
        self.first_peak: int | None = None
        self._view = view.kept(fit.compute) if view.sampler.one_batch else view  # one batch is the same in every epoch
        restart_peak(fit.compute.device)
        self.step = Step(fit, self._view)
        sampler = view.sampler
        if ranks.size > 1:
            sampler = Shares(sampler, ranks, self.step.labels, self.step.class_weight)
        self._drawing = Drawing(sampler, fit.split.train, fit.training, fit.key)

    def __enter__(self) -> "Epochs":
        return self

    def __exit__(self, *_: object) -> None:
        self._drawing.close()

    def run(self, number: int) -> float:
        """Train the epoch of this number, counted without gaps; return its mean loss."""
        training = self._fit.training
        batches = self._view.prefetched(self._drawing.take(number))
        twins = self._view.prefetched(self._drawing.again(number)) if training.consistency else None
        loss = self.step.over(batches, twins, key=self._fit.key.fold("inputs", number))
        if self.first_peak is None:
            self.first_peak = peak(self._fit.compute.device)
        self._fit.dataset.check_unchanged()
        if not math.isfinite(loss):
            raise InputError(f"lr: training diverged at epoch {number} with learning rate {training.lr}")
        return loss


class Drawing:
    """Draws each epoch's batches; on a GPU in advance, on another thread and stream, while the last epoch trains.

    On a CPU the matrix products already keep every core busy, and drawing at the same time slows both down.
    """

    def __init__(self, sampler: Sampler, targets: NDArray[np.int64], training: Training, key: Key) -> None:
        self._sampler, self._training, self._key = sampler, training, key
        self._targets: Targets = np.array(targets)
        self._stream: torch.cuda.Stream | None = None
        self._pool: ThreadPoolExecutor | None = None
        if sampler.device.type == "cuda":
            self._targets = torch.from_numpy(self._targets).to(sampler.device)
            self._stream = torch.cuda.Stream(sampler.device)  # type: ignore[no-untyped-call]
            self._stream.wait_stream(torch.cuda.current_stream())
            self._pool = ThreadPoolExecutor(1)
            self._next: Future[Iterator[Batch]] | None = None

    def close(self) -> None:
        """Stop drawing."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def take(self, number: int) -> Iterator[Batch]:
        """The batches of this epoch."""
        if self._pool is None or self._stream is None:
            return self._draw(number)
        batches = (self._next or self._pool.submit(self._draw, number)).result()
        torch.cuda.current_stream().wait_stream(self._stream)
        return self._then_draw(batches, number + 1, self._pool)

    def again(self, number: int) -> Iterator[Batch]:
        """Another draw of the batches of this epoch."""
        return self._sampler.batches(self._order(number), self._key.fold("twin", number), self._training.batch_size)

    def _then_draw(self, batches: Iterator[Batch], number: int, pool: ThreadPoolExecutor) -> Iterator[Batch]:
        """Start to draw epoch ``number`` when the last step of this epoch is in the GPU's queue."""
        yield from batches
        if number <= self._training.epochs:
            self._next = pool.submit(self._draw, number)

    def _draw(self, number: int) -> Iterator[Batch]:
        with torch.cuda.stream(self._stream) if self._stream is not None else nullcontext():
            return self._sampler.batches(
                self._order(number), self._key.fold("picks", number), self._training.batch_size
            )

    def _order(self, number: int) -> Targets:
        is_ordered = not self._training.shuffle or self._sampler.one_batch
        return self._targets if is_ordered else shuffled(self._targets, self._key.fold("order", number))


class Step:
    """Trains a model batch by batch on a view.

    Attributes:
        labels: [num_nodes] on the model's device.
        class_weight: [num_classes] or None.
    """

    def __init__(self, fit: Fit, view: View) -> None:
        dataset, training, compute, model = fit.dataset, fit.training, fit.compute, fit.model
        self._model, self._view, self._training, self._compute = model, view, training, compute
        self.labels = shared_tensor(dataset.y).to(compute.device)
        self.class_weight: Tensor | None = None
        if training.class_weights == "balanced":
            counts = np.bincount(dataset.y[fit.split.train], minlength=dataset.num_classes)
            shares, zeros = counts * np.count_nonzero(counts), np.zeros(counts.size)
            weights = np.divide(counts.sum(), shares, out=zeros, where=counts > 0).astype(np.float32)
            self.class_weight = torch.from_numpy(weights).to(compute.device)
        self._risk: RiskOf | None = None  # takes the place of the cross-entropy if nodes are unlabelled
        if training.background_prior:
            if compute.ranks.size > 1:
                reason = "cannot train with it, because its risk is of whole batches"
                raise InputError(f"background_prior: {compute.ranks.size} ranks {reason}")
            nodes = fit.split.train
            self._risk = background_risk(dataset, nodes, training.background_prior, training.background_risk)
        self._key = Key.of(0)  # of input dropout, another one for every step
        on_gpu = compute.device.type == "cuda"
        self._tally = torch.zeros(2, dtype=torch.float32 if on_gpu else torch.float64, device=compute.device)
        self._adam = Adam(model.parameters(), training.lr, training.weight_decay, self._tally[1:])
        if on_gpu:
            # a small backward pass gives autograd's thread a CUDA context; without one cuBLAS would warn
            torch.zeros(1, device=compute.device, requires_grad=True).sum().backward()  # type: ignore[no-untyped-call]
        is_resident = isinstance(view.inputs, DenseInputs) and view.inputs.copied_to is None
        has_fixed_shapes = view.sampler.device.type == "cuda" and is_resident
        can_capture = on_gpu and has_fixed_shapes and isinstance(model, Layer) and model.capturable
        self._captured = Captured(self._run) if can_capture else None

    def tensors(self) -> dict[str, Tensor]:
        """What the optimiser holds, by name; filling it in place continues from there."""
        moments = {f"adam.{name}": moment for name, moment in self._adam.tensors().items()}
        return {"adam.clock": self._tally, **moments}

    def over(self, batches: Iterable[Batch], twins: Iterable[Batch] | None = None, *, key: Key) -> float:
        """Make one step for each batch of an epoch; return the mean loss over all targets.

        ``twins`` are other draws of the same batches, if training is for consistency; ``key`` is that of input dropout.
        """
        self._model.train()
        self._tally[:1].zero_()
        count = 0
        process: Callable[..., None] = self._captured or self._run
        with self._compute.arithmetic():
            for number, draws in enumerate(zip(batches) if twins is None else zip(batches, twins, strict=True)):
                first, *others = (draw.targets for draw in draws)
                is_checked = not count or first.device.type == "cpu"  # on a GPU it means to wait
                if is_checked and not all(torch.equal(first, other) for other in others):
                    raise InputError("consistency: needs a method whose batches have the same targets in every draw")
                if self._training.input_dropout:
                    self._key = key.fold(number)
                process(*draws)
                count += draws[0].whole_count
            if self._captured is not None:
                self._captured.finish()
        return float(self._compute.ranks.add(self._tally[:1].double())) / count

    def _run(self, *draws: Batch) -> None:
        self._adam.clear()
        if draws[0].targets.numel():
            self._backward(draws)
        else:  # this rank has no share of the last batch
            self._tally[1:] += 1
        self._compute.ranks.add_gradients(self._model.parameters())
        self._adam.step()

    def _backward(self, draws: tuple[Batch, ...]) -> None:
        """Of two draws of a batch: the mean of their losses, and the squared distance of their probabilities."""
        found, penalties = zip(*(self._scores(one, draw) for draw, one in enumerate(draws)), strict=True)
        batch = draws[0].to(self._compute.device)
        if len(draws) == 1 and penalties[0] is None and batch.weight is None and self._risk is None:
            arrays = (found[0].detach(), self.labels, batch.targets, self.class_weight, self._tally)
            gradient = cross_entropy(*arrays, self._training.label_smoothing)
            _Root.apply(found[0], gradient).backward()  # type: ignore[no-untyped-call]
            return
        zero, share = torch.zeros((), device=self._tally.device), batch.targets.numel() / batch.whole_count
        loss = sum((self._loss(scores, batch) for scores in found), zero) / len(draws)
        self._tally += torch.stack([loss.detach() * batch.whole_count, loss.new_ones(())]).to(self._tally)
        if len(draws) == 2:
            one, other = (functional.softmax(scores, dim=1) for scores in found)
            loss = loss + self._training.consistency * share * (one - other).square().sum(dim=1).mean()
        for penalty in penalties:
            loss = loss if penalty is None else loss + penalty * share / len(draws)
        loss.backward()  # type: ignore[no-untyped-call]

    def _scores(self, batch: Batch, draw: int) -> tuple[Tensor, Tensor | None]:
        """The scores of a batch's targets, and the penalty if the model has one; ``draw`` is 1 for a twin."""
        rows = self._view.rows(self._model, batch)
        if self._training.input_dropout:
            rows = dropped(rows, batch.nodes, self._training.input_dropout, self._key.fold(draw))
        out: Tensor | Penalised = self._model(rows, batch.to(self._compute.device).blocks)
        if isinstance(out, Penalised):
            return out.scores.float(), out.penalty
        return out.float(), None

    def _loss(self, scores: Tensor, batch: Batch) -> Tensor:
        """The loss through autograd, for what the fused kernel does not support."""
        labels = self.labels[batch.targets.long()]
        if self._risk is not None:
            if batch.weight is not None:
                raise InputError("background_prior: needs a method whose targets have equal weights in a batch")
            return self._risk(scores, labels)
        loss_of = partial(functional.cross_entropy, label_smoothing=self._training.label_smoothing)
        if batch.weight is None:
            return loss_of(scores, labels, self.class_weight)
        return batch.weight @ loss_of(scores, labels, self.class_weight, reduction="none")


class _Root(torch.autograd.Function):
    """``scores.backward(gradient)``, which itself imports sympy: that takes longer than the first epoch on a GPU."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, gradient: Tensor) -> Tensor:  # noqa: ARG004
        ctx.gradient = gradient
        return torch.zeros(())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:  # noqa: ARG004
        return ctx.gradient, None


def nodes_per_batch(fit: Fit) -> float:
    """The mean number of distinct nodes behind a batch's input rows, over the first batches of an extra epoch."""
    key, sampler = fit.key.fold("count"), fit.prepared.train.sampler
    order: Targets = np.array(fit.split.train)
    if fit.training.shuffle:
        order = shuffled(order, key.fold("order"))
    if sampler.device.type == "cuda":
        order = torch.from_numpy(order).to(sampler.device)
    with torch.no_grad():
        batches = islice(sampler.batches(order, key, fit.training.batch_size), _COUNTED_BATCHES)
        return statistics.fmean(torch.unique(batch.nodes).numel() for batch in batches)


def epoch_seconds(fit: Fit) -> float | None:
    """The seconds of an epoch without its evaluation; None if a few batches do not tell, or on a GPU.

    A copy of the model is trained on some targets, so that kernels are compiled, and timed on others.
    """
    split, few, is_alone = fit.split, _PROBED_BATCHES * fit.training.batch_size, fit.compute.ranks.size == 1
    is_split = fit.prepared.train.sampler.draws_per_target and split.train.size >= 2 * few
    if not is_split or not is_alone or fit.compute.device.type != "cpu":
        return None
    first, second = np.array_split(fit.key.fold("probe").select(split.train, 2 * few), 2)
    seconds = 0.0
    with torch.random.fork_rng([]):
        for targets in (first, second):
            prepared = replace(fit.prepared, model=copy.deepcopy(fit.model))
            part = fit.dataset.with_split(replace(split, train=targets))
            with Epochs(replace(fit, prepared=prepared, dataset=part, key=fit.key.fold("probe"))) as epochs:
                started = time.perf_counter()
                epochs.run(1)
                seconds = time.perf_counter() - started
    return seconds * split.train.size / second.size


def shuffled(targets: Targets, key: Key) -> Targets:
    """The targets, sorted by ``fold(key, position)`` on the device that holds them."""
    if isinstance(targets, Tensor):
        return targets[torch.argsort(_folds_on(targets.device, key.value, targets.numel()), stable=True)]
    return targets[np.argsort(folds(key.value, targets.size), kind="stable")]


def _folds_on(device: torch.device, value: int, count: int) -> Tensor:
    """The hashes as signed integers in the order of the unsigned ones."""
    golden, start, mix_1, mix_2 = np.array([GOLDEN, value, MIX_1, MIX_2], np.uint64).view(np.int64).tolist()
    z: Tensor = torch.arange(1, count + 1, device=device) * golden + start
    z = (z ^ _shift(z, 30)) * mix_1
    z = (z ^ _shift(z, 27)) * mix_2
    return z ^ _shift(z, 31) ^ -(1 << 63)


def _shift(z: Tensor, bits: int) -> Tensor:
    """An unsigned right shift."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)
