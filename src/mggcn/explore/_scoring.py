"""Scores of single nodes with a run's model, their picks, and the effect of each pick on the scores."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn import train
from mggcn.block import Batch
from mggcn.dataset import Dataset
from mggcn.explore._picks import without_padding
from mggcn.kernels.pick import Explore
from mggcn.keys import Key
from mggcn.run import Run
from mggcn.sampling import DeviceMixGrainedSampler, MixGrainedSampler, grains
from mggcn.train.compute import Compute

Probabilities = NDArray[np.float64]

_CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The picks of one draw in order, and their target's probabilities with all of them and without each."""

    picks: list[int]
    whole: Probabilities  # [classes]
    without: Probabilities  # [picks, classes]


@dataclass(frozen=True, eq=False)
class Scorer:
    """A run that is prepared to score single nodes of a graph, with the picks that the evaluation draws.

    Probabilities are calibrated, as those of :meth:`mggcn.run.Run.predict`.
    """

    run: Run
    dataset: Dataset
    view: train.View
    compute: Compute

    @classmethod
    def of(cls, run: Run, dataset: Dataset, device: torch.device = _CPU) -> "Scorer":
        """Prepare the graph for scoring, unless the run has it prepared already."""
        return cls(run, dataset, *run.view(dataset, device))

    @cached_property
    def picker(self) -> MixGrainedSampler | DeviceMixGrainedSampler | None:
        """The sampler that draws the picks; None if the method has no picks."""
        sampler = self.view.sampler
        if isinstance(sampler, DeviceMixGrainedSampler):
            return sampler if sampler.layers > 1 else None
        if not isinstance(sampler, MixGrainedSampler) or (sampler.layers == 1 and sampler.has_fine):
            return None
        return sampler

    @property
    def explore(self) -> Explore:
        """Whose neighbours may be picked."""
        return self.picker.explore if isinstance(self.picker, MixGrainedSampler) else "both"

    @property
    def redraws(self) -> bool:
        """Whether another draw can give other picks."""
        return self.picker is not None and self.picker.fixed_key is None

    def probabilities(self, nodes: NDArray[np.int64]) -> Probabilities:
        """[n, classes] of some nodes; a method without picks scores all nodes at the first call."""
        return np.asarray(self._all[nodes]) if self.picker is None else self._scores(self.view, nodes)

    def members(self, node: int, draw: int) -> list[int]:
        """S(v) in one of the evaluation's draws: the target, then its picks in order."""
        return without_padding(self._row(node, draw))

    def leave_one_out(self, node: int, draw: int) -> LeaveOneOut:
        """Score a target with the picks of a draw, and again without each of them; on the CPU only."""
        row = self._row(node, draw)
        indices = [index for index, member in enumerate(row) if member != node]
        if not indices:
            whole = self.probabilities(np.array([node]))[0]
            return LeaveOneOut([], whole, np.empty((0, whole.size)))
        whole = self._score_members([row])[0]
        without = self._score_members([row[:index] + row[index + 1 :] for index in indices])
        return LeaveOneOut([row[index] for index in indices], whole, without)

    @cached_property
    def _all(self) -> Probabilities:
        return self._scores(self.view, np.arange(self.dataset.num_nodes))

    def _scores(self, view: train.View, nodes: NDArray[np.int64]) -> Probabilities:
        scores = train.predict(self.run.model, view, nodes, self.run.key, self.compute)
        return np.asarray(train.calibrated(scores, self.run.record.temperature).exp().cpu().numpy(), np.float64)

    def _score_members(self, rows: list[list[int]]) -> Probabilities:
        """[n, classes] of the target with each of n sets S(v) of the same size."""
        if not isinstance(self.picker, MixGrainedSampler):
            raise TypeError("leave-one-out needs a run prepared on the CPU")
        members = np.array(rows)
        targets = members[:, 0]
        batch = Batch(grains.rows(members), self.picker.blocks(members), torch.from_numpy(targets))
        return self._scores(train.View(self.view.inputs, _OneBatch(batch)), targets)

    def _row(self, node: int, draw: int) -> list[int]:
        """S(v) with its padding, as the model receives it."""
        if self.picker is None:
            return [node]
        (batch,) = self.picker.batches(np.array([node]), self.run.key.fold("eval", draw), 1)
        return [int(member) for member in batch.nodes.tolist()]


@dataclass(frozen=True, eq=False)
class _OneBatch:
    """A sampler that always returns the same batch."""

    batch: Batch

    @property
    def device(self) -> torch.device:
        return self.batch.nodes.device

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        return iter([self.batch])
