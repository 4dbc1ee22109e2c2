"""Scores of single nodes with a run's own model, their picks, and what each pick does to them."""

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
from mggcn.explore.picks import distinct
from mggcn.kernels.pick import Explore
from mggcn.keys import Key
from mggcn.run import Run
from mggcn.sampling import DeviceMixGrainedSampler, MixGrainedSampler, grains
from mggcn.train.compute import Compute

Probabilities = NDArray[np.float64]

_CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """What the picks of one draw do to their target's score.

    Attributes:
        picks: in order.
        whole: [classes] the target's probabilities with all of them.
        without: [picks, classes] those when one of them is taken out of S(v).
    """

    picks: list[int]
    whole: Probabilities
    without: Probabilities


@dataclass(frozen=True, eq=False)
class Scorer:
    """A run made ready to score single nodes of a graph, on the CPU, with the picks that evaluation draws.

    Probabilities are those of :meth:`mggcn.run.Run.predict`, calibrated.
    """

    run: Run
    dataset: Dataset
    view: train.View
    key: Key
    compute: Compute

    @classmethod
    def of(cls, run: Run, dataset: Dataset, device: torch.device = _CPU) -> "Scorer":
        """Prepare a graph once: its inputs and the running sums for the picks; not again where the run has done so."""
        view, compute = run.view(dataset, device)
        return cls(run, dataset, view, run.key, compute)

    @cached_property
    def picker(self) -> MixGrainedSampler | DeviceMixGrainedSampler | None:
        """What draws the picks; None for a method that has none."""
        sampler = self.view.sampler
        if isinstance(sampler, DeviceMixGrainedSampler):
            return sampler if sampler.layers > 1 else None
        if not isinstance(sampler, MixGrainedSampler) or (sampler.layers == 1 and sampler.has_fine):
            return None
        return sampler

    @property
    def explore(self) -> Explore:
        """Whose neighbours are picked."""
        return self.picker.explore if isinstance(self.picker, MixGrainedSampler) else "both"

    @property
    def redraws(self) -> bool:
        """Whether another draw may give other picks."""
        return self.picker is not None and self.picker.fixed_key is None

    def probabilities(self, nodes: NDArray[np.int64], draws: int = 1) -> Probabilities:
        """[n, classes] of nodes, averaged over draws; a method without picks scores all nodes at the first call."""
        if self.picker is None:
            return np.asarray(self._all[nodes])
        return self._scored(self.view, nodes, draws)

    def members(self, node: int, draw: int) -> list[int]:
        """S(v) of one of evaluation's draws: the target, then its picks in order."""
        return distinct(self._row(node, draw))

    def leave_one_out(self, node: int, draw: int) -> LeaveOneOut:
        """Score a target with the picks of a draw, and again with each of them taken out, all else kept."""
        row = self._row(node, draw)
        places = [place for place, member in enumerate(row) if member != node]
        whole = self._given(node, [row])[0]
        fewer = [row[:place] + row[place + 1 :] for place in places]
        without = self._given(node, fewer) if fewer else np.empty((0, whole.size))
        return LeaveOneOut([row[place] for place in places], whole, without)

    @cached_property
    def _all(self) -> Probabilities:
        return self._scored(self.view, np.arange(self.dataset.num_nodes), 1)

    def _scored(self, view: train.View, nodes: NDArray[np.int64], draws: int) -> Probabilities:
        scores = train.predict(self.run.model, view, nodes, self.key, self.compute, draws)
        return np.asarray(train.calibrated(scores, self.run.record.temperature).exp().cpu().numpy(), np.float64)

    def _given(self, node: int, rows: list[list[int]]) -> Probabilities:
        """[n, classes] of one target with each of n sets S(v) of the same size."""
        targets = np.full(len(rows), node)
        if not isinstance(self.picker, MixGrainedSampler):
            return self.probabilities(targets)
        members = np.array(rows)
        batch = Batch(grains.rows(members), self.picker.blocks(members), torch.from_numpy(targets))
        return self._scored(train.View(self.view.inputs, _Given(batch)), targets, 1)

    def _row(self, node: int, draw: int) -> list[int]:
        """S(v) with its padding, as the model sees it."""
        if self.picker is None:
            return [node]
        (batch,) = self.picker.batches(np.array([node]), self.key.fold("eval", draw), 1)
        return [int(member) for member in batch.nodes]


@dataclass(frozen=True, eq=False)
class _Given:
    """A sampler that has one batch to give."""

    batch: Batch

    @property
    def device(self) -> torch.device:
        return self.batch.nodes.device

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        return iter([self.batch])
