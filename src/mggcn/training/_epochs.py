"""Epochs of training: draw the batches, make a step for each."""

import copy
import math
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from types import TracebackType
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.block import Batch, Sampler
from mggcn.errors import InputError
from mggcn.keys import GOLDEN, MIX_1, MIX_2, Key, folds
from mggcn.training._environment import peak, restart_peak
from mggcn.training._prepared import Fit
from mggcn.training._ranks import Shares
from mggcn.training._step import Step
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
