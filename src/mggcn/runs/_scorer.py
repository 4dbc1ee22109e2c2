"""A run that is prepared to score nodes of a graph; its picks, and the effect of each pick on the scores."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from mggcn.block import Batch
from mggcn.data import Dataset
from mggcn.errors import InputError
from mggcn.kernels.pick import Explore
from mggcn.keys import Key
from mggcn.nn.rows import Rows, to_dense
from mggcn.sampling import grains
from mggcn.sampling.mix_grained import DeviceMixGrainedSampler, MixGrainedSampler
from mggcn.training import CHUNK, Inference, View, calibrated, choose_temperature, log_odds

if TYPE_CHECKING:
    from mggcn.runs._run import Run

Nodes = NDArray[np.int64]
Probabilities = NDArray[np.float64]

CALIBRATED_ON = 1_000_000
"""The most validation nodes on which a temperature is fitted; more are selected by hash."""

_CPU = torch.device("cpu")
_log = logging.getLogger(__name__)


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
        inference: the model with the same graph, prepared for scoring.
        temperature: of the probabilities; 1 if they are not calibrated.
    """

    run: "Run"
    dataset: Dataset
    inference: Inference
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
    ) -> "Scorer":
        """Prepare the graph for scoring, unless the run has it prepared already; see :meth:`mggcn.runs.Run.predict`."""
        inference, training = run.inference(dataset, device, draws), run.plan.training
        if not calibrated:
            return cls(run, dataset, inference, 1.0)
        if inference.draws == training.draws or training.background_prior:
            return cls(run, dataset, inference, run.record.temperature)
        return cls(run, dataset, inference, _temperature_of(run, dataset, inference.draws, device))

    @cached_property
    def picker(self) -> MixGrainedSampler | DeviceMixGrainedSampler | None:
        """The sampler that draws the picks; None if the method has no picks."""
        sampler = self.inference.view.sampler
        if isinstance(sampler, DeviceMixGrainedSampler):
            return sampler if sampler.layers > 1 else None
        if not isinstance(sampler, MixGrainedSampler) or (sampler.layers == 1 and sampler.has_fine):
            return None
        return sampler

    @property
    def explore(self) -> Explore:
        """Whose neighbours may be picked."""
        return "both" if self.picker is None else self.picker.explore

    def chunks(self, nodes: Nodes) -> Iterator[Probabilities]:
        """[n, classes] the probabilities of some nodes at a time."""
        started = time.perf_counter()
        for scores in self.inference.predict_chunks(nodes):
            rows = calibrated(scores, self.temperature).exp().cpu().numpy()
            self.dataset.check_unchanged()
            yield from (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
        seconds, device = time.perf_counter() - started, self.inference.compute.device
        _log.info("%s: scored %d nodes on %s in %.2f s", self.dataset.name, nodes.size, device, seconds)

    def probabilities(self, nodes: Nodes) -> Probabilities:
        """[n, classes] of some nodes; a method without picks scores all nodes at the first call."""
        return np.asarray(self._all[nodes]) if self.picker is None else np.concatenate([*self.chunks(nodes)])

    @cached_property
    def _all(self) -> Probabilities:
        return np.concatenate([*self.chunks(np.arange(self.dataset.num_nodes))])

    def members(self, node: int, draw: int) -> list[int]:
        """S(v) in one of the evaluation's draws: the target, then its picks in order."""
        return [node, *(member for member in self._row(node, draw)[1:] if member != node)]

    def _row(self, node: int, draw: int) -> list[int]:
        """S(v) with its padding, as the model receives it."""
        return [node] if self.picker is None else [int(member) for member in self.batch(node, draw).nodes.tolist()]

    def batch(self, node: int, draw: int) -> Batch:
        """The batch that scores one target in one of the evaluation's draws, with only the rows that matter for it."""
        (batch,) = self.inference.view.sampler.batches(np.array([node]), self.run.key.fold("eval", draw), 1)
        return batch

    def forward(self, batch: Batch) -> Callable[[Rows], Tensor]:
        """From the input rows of a batch to the calibrated log-probabilities of its targets."""
        model = self.run.model.eval()

        def forward(rows: Rows) -> Tensor:
            scores = functional.log_softmax(model(rows, batch.blocks).double(), dim=1)
            return calibrated(scores, self.temperature)

        return forward

    def scores(self, batch: Batch) -> Tensor:
        """[targets, classes] the calibrated log-probabilities of a batch."""
        with torch.no_grad(), self.inference.compute.arithmetic():
            return self.forward(batch)(dense_rows(self.inference.view, batch))

    def leave_one_out(self, node: int, draw: int) -> tuple[list[int], Tensor]:
        """The picks of a draw in order, and the target's scores with all of them and without each; on the CPU only.

        The scores are [1 + picks, classes] log-probabilities.
        """
        row = self._row(node, draw)
        indices = [index for index, member in enumerate(row) if member != node]
        if not indices:
            return [], torch.from_numpy(self.probabilities(np.array([node]))).log()
        if not isinstance(self.picker, MixGrainedSampler):
            raise TypeError("leave-one-out needs a run prepared on the CPU")
        scores = []
        whole = np.stack([row, self.picker.came_by(np.array([row]))[0]])  # [2, 1 + picks]
        without = np.stack([np.delete(whole, index, axis=1) for index in indices], axis=1)  # [2, picks, picks]
        for members, came_by in (whole[:, None], without):
            batch = Batch(grains.rows(members), self.picker.blocks(members, came_by), torch.from_numpy(members[:, 0]))
            scores.append(self.scores(batch))
        return [row[index] for index in indices], torch.cat(scores)

    def effects(self, node: int, draws: Iterable[int]) -> tuple[Probabilities, list[PickEffect]]:
        """The probabilities of a target, mean over draws, and the leave-one-out effects of all its picks."""
        return mean_effects([self.leave_one_out(node, draw) for draw in draws])


def mean_effects(drawn: Sequence[tuple[list[int], Tensor]]) -> tuple[Probabilities, list[PickEffect]]:
    """The mean of what :meth:`Scorer.leave_one_out` gives for several draws."""
    changes: dict[int, list[tuple[int, Probabilities, Probabilities]]] = defaultdict(list)
    for picks, scores in drawn:
        labels = [torch.full((len(scores),), label) for label in range(scores.shape[1])]
        logits = torch.stack([log_odds(scores, label) for label in labels], dim=1).numpy()
        p = scores.exp().numpy()
        for order, pick in enumerate(picks, 1):
            changes[pick].append((order, p[0] - p[order], logits[0] - logits[order]))
    effects = []
    for pick, of_pick in changes.items():
        orders, differences, logit_changes = (np.mean(values, axis=0) for values in zip(*of_pick, strict=True))
        effects.append(PickEffect(pick, len(of_pick), float(orders), differences, logit_changes))
    return np.mean([scores[0].exp().numpy() for _, scores in drawn], axis=0), effects


def dense_rows(view: View, batch: Batch) -> Tensor:
    """The dense input rows of a batch."""
    return to_dense(view.inputs.rows(batch.nodes)).float()


def calibration_nodes(dataset: Dataset, key: Key) -> Nodes:
    """The validation nodes on which the temperature of a run with this key is fitted."""
    return key.fold("calibration").select(dataset.require_split().val, CALIBRATED_ON)


def _temperature_of(run: "Run", data: Dataset, draws: int, device: torch.device) -> float:
    """The temperature of probabilities that are averaged over ``draws`` draws, fitted on the validation nodes."""
    if data.digest != run.record.dataset["digest"]:
        try:
            data = run.training_data
        except (InputError, OSError) as error:
            raise InputError(
                f"draws: {draws} draws need a temperature fitted on the validation nodes of the training data, "
                f"which are not available ({error}); calibrated=False leaves it out"
            ) from None
    nodes = calibration_nodes(data, run.key)
    scores = run.inference(data, device, draws).predict(nodes)
    return choose_temperature(scores.cpu().numpy(), data.y[nodes])
