"""A method under training whose epochs can be called one by one."""

import dataclasses
from types import TracebackType

import numpy as np
import torch
from torch import Tensor

from mggcn import methods, train
from mggcn.dataset import Dataset, Split
from mggcn.keys import Key

_KEY = Key.of(0)
_FAR = 1 << 20  # an epoch number that training does not reach


class Trained:
    """A method under training, of which every call runs the next epoch."""

    def __init__(self, plan: methods.Plan, dataset: Dataset, device: torch.device, steps: int | None) -> None:
        split = dataset.require_split()
        self.compute = plan.compute(device)
        self.prepared = plan.prepare(dataset, _KEY, self.compute)
        self.training = dataclasses.replace(plan.training, epochs=_FAR)
        targets = split.train
        size = targets.size if steps is None else min(targets.size, steps * plan.training.batch_size)
        some = np.sort(_KEY.fold("bench").generator().permutation(targets)[:size])
        self.factor = targets.size / size
        self.part = dataset.with_split(Split(some, split.val, split.test))
        self._epochs = train.Epochs(self.prepared, self.part, self.training, _KEY, self.compute)
        self._number = 0

    def __enter__(self) -> "Trained":
        self._epochs.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._epochs.__exit__(kind, error, trace)

    def __call__(self) -> None:
        """Run the next epoch."""
        self._number += 1
        self._epochs.run(self._number)

    def batches(self) -> list[Tensor]:
        """The nodes behind each batch's input rows, for an epoch of its own."""
        order = _KEY.fold("order", _FAR).generator().permutation(self.part.require_split().train)
        drawn = self.prepared.train.sampler.batches(order, _KEY.fold("picks", _FAR), self.training.batch_size)
        return [batch.nodes for batch in drawn]
