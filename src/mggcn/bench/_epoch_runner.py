"""Runs training epochs one by one."""

import dataclasses
from contextlib import ExitStack

import numpy as np
import torch
from torch import Tensor

from mggcn import methods, train
from mggcn.dataset import Dataset, Split
from mggcn.keys import Key

_KEY = Key.of(0)
_FAR = 1 << 20  # an epoch number that training does not reach


class EpochRunner(ExitStack):
    """Prepares a training; every call runs its next epoch, or only some steps of it. Close it as a context manager."""

    def __init__(self, plan: methods.Plan, dataset: Dataset, device: torch.device, steps: int | None) -> None:
        super().__init__()
        self.plan, self.dataset, self.device = plan, dataset, device
        split = dataset.require_split()
        self.compute = plan.compute(device)
        self.prepared = plan.prepare(dataset, _KEY, self.compute)
        self.training = dataclasses.replace(plan.training, epochs=_FAR)
        size = split.train.size if steps is None else min(split.train.size, steps * plan.training.batch_size)
        targets = np.sort(_KEY.fold("bench").generator().permutation(split.train)[:size])
        self.factor = split.train.size / size
        self.part = dataset.with_split(Split(targets, split.val, split.test))
        self._epochs = train.Epochs(self.prepared, self.part, self.training, _KEY, self.compute)
        self._number = 0

    def __enter__(self) -> "EpochRunner":
        self.enter_context(self._epochs)
        return self

    def __call__(self) -> None:
        """Run the next epoch."""
        self._number += 1
        self._epochs.run(self._number)

    def batches(self) -> list[Tensor]:
        """The nodes of the input rows of each batch, for an epoch that training does not reach."""
        order = _KEY.fold("order", _FAR).generator().permutation(self.part.require_split().train)
        drawn = self.prepared.train.sampler.batches(order, _KEY.fold("picks", _FAR), self.training.batch_size)
        return [batch.nodes for batch in drawn]
