"""Scores of single nodes with a run's model, their picks, and the effect of each pick on the scores."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.block import Batch, Sampler
from mggcn.data import Dataset
from mggcn.kernels.pick import Explore
from mggcn.keys import Key
from mggcn.runs._calibration import temperature_of
from mggcn.sampling import grains
from mggcn.sampling.mix_grained import MixGrainedSampler
from mggcn.sampling.mix_grained_gpu import DeviceMixGrainedSampler
from mggcn.training import Compute, Inference, View, calibrated

if TYPE_CHECKING:
    from mggcn.runs._run import Run

Probabilities = NDArray[np.float64]

_CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The picks of one draw in order, and their target's probabilities with all of them and without each."""

    picks: list[int]
    whole: Probabilities  # [classes]
    without: Probabilities  # [picks, classes]


@dataclass(frozen=True, eq=False)
class PickEffect:
    """What a pick adds to the probabilities of its target's classes.

    Attributes:
        node: its node number.
        draws: the number of draws that contain it; the other numbers are means over these.
        order: its position among the picks, from 1.
        changes: [classes] the probability with all picks minus that without this one.
        logit_changes: [classes] the same of the log-odds, which differ also where probabilities are near 0 or 1.
    """

    node: int
    draws: int
    order: float
    changes: Probabilities
    logit_changes: Probabilities


@dataclass(frozen=True, eq=False)
class Scorer:
    """A run that is prepared to score nodes of a graph, with the picks that the evaluation draws.

    Attributes:
        run: the run.
        dataset: the graph.
        view: the same graph, prepared for scoring.
        compute: the device, precision and threads.
        draws: the number of draws over which probabilities are averaged.
        temperature: of calibrated probabilities; 1 for others.
    """

    run: "Run"
    dataset: Dataset
    view: View
    compute: Compute
    draws: int
    temperature: float

    @classmethod
    def of(
        cls,
        run: "Run",
        dataset: Dataset,
        device: torch.device = _CPU,
        draws: int | None = None,
        *,
        calibrated: bool = True,
        root: Path | None = None,
    ) -> "Scorer":
        """Prepare the graph for scoring, unless the run has it prepared already; see :meth:`mggcn.runs.Run.predict`."""
        count = run.draws_of(draws)
        view, compute = run.view(dataset, device)
        temperature = temperature_of(run, count, dataset, view, compute, root) if calibrated else 1.0
        return cls(run, dataset, view, compute, count, temperature)

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
        return "both" if self.picker is None else self.picker.explore

    @property
    def redraws(self) -> bool:
        """Whether another draw can give other picks."""
        return self.picker is not None and self.picker.fixed_key is None

    def probabilities(self, nodes: NDArray[np.int64]) -> Probabilities:
        """[n, classes] of some nodes; a method without picks scores all nodes at the first call."""
        return np.asarray(self._all[nodes]) if self.picker is None else self._scores(self.view, nodes, self.draws)

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

    def effects(self, node: int, draws: Iterable[int]) -> tuple[Probabilities, list[PickEffect]]:
        """The probabilities of a target, mean over draws, and the leave-one-out effects of all its picks."""
        results = [self.leave_one_out(node, draw) for draw in draws]
        changes: dict[int, list[tuple[int, Probabilities, Probabilities]]] = defaultdict(list)
        for result in results:
            for order, (pick, without) in enumerate(zip(result.picks, result.without, strict=True), 1):
                logits = log_odds(result.whole) - log_odds(without)
                changes[pick].append((order, result.whole - without, logits))
        effects = []
        for pick, of_pick in changes.items():
            orders, differences, logits = (np.mean(values, axis=0) for values in zip(*of_pick, strict=True))
            effects.append(PickEffect(pick, len(of_pick), float(orders), differences, logits))
        return np.mean([result.whole for result in results], axis=0), effects

    def batch(self, node: int, draw: int) -> Batch:
        """The batch that scores one target in one of the evaluation's draws, with only the rows that matter for it."""
        (batch,) = self.view.sampler.batches(np.array([node]), self.run.key.fold("eval", draw), 1)
        return batch

    @cached_property
    def _all(self) -> Probabilities:
        return self._scores(self.view, np.arange(self.dataset.num_nodes), self.draws)

    def _scores(self, view: View, nodes: NDArray[np.int64], draws: int = 1) -> Probabilities:
        scores = Inference(self.run.model, view, self.run.key, self.compute, draws).predict(nodes)
        return np.asarray(calibrated(scores, self.temperature).exp().cpu().numpy(), np.float64)

    def _score_members(self, rows: list[list[int]]) -> Probabilities:
        """[n, classes] of the target with each of n sets S(v) of the same size."""
        if not isinstance(self.picker, MixGrainedSampler):
            raise TypeError("leave-one-out needs a run prepared on the CPU")
        members = np.array(rows)
        targets = members[:, 0]
        batch = Batch(grains.rows(members), self.picker.blocks(members), torch.from_numpy(targets))
        return self._scores(View(self.view.inputs, _OneBatch(batch)), targets)

    def _row(self, node: int, draw: int) -> list[int]:
        """S(v) with its padding, as the model receives it."""
        return [node] if self.picker is None else [int(member) for member in self.batch(node, draw).nodes.tolist()]


def log_odds(probabilities: Probabilities) -> Probabilities:
    """[classes] log p - log(1 - p) of each class; 1 - p is the sum of the others, so that it is exact near p = 1."""
    lowest = np.finfo(np.float64).tiny
    others = np.array([np.delete(probabilities, label).sum() for label in range(probabilities.size)])
    return np.asarray(np.log(np.maximum(probabilities, lowest)) - np.log(np.maximum(others, lowest)))


def without_padding(members: Sequence[int]) -> list[int]:
    """S(v) without its padding: the target, then its picks."""
    return [members[0], *(node for node in members[1:] if node != members[0])]


@dataclass(frozen=True, eq=False)
class _OneBatch(Sampler):
    """A sampler that always returns the same batch."""

    batch: Batch

    @property
    def device(self) -> torch.device:
        return self.batch.nodes.device

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        return iter([self.batch])
