"""What the training loop needs: a model, and the input rows and samplers that it trains and is scored with."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from torch import Tensor, nn

from mggcn._io.mapping import MappedRows
from mggcn.block import Batch, Nodes, Sampler
from mggcn.data import Dataset, Split
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.nn import Layer
from mggcn.nn.rows import Rows, gathered, num_bytes, to_dense
from mggcn.training._compute import Compute
from mggcn.training._inputs import DenseInputs, Inputs
from mggcn.training._scaling import Scaler
from mggcn.training._training import Training

_AHEAD = 4  # batches
_KEPT_SHARE = 8  # kept rows take at most one part in so many of the free memory


@dataclass(frozen=True, eq=False)
class View:
    """A graph as a model receives it: input rows and the batches over them."""

    inputs: Inputs
    sampler: Sampler

    def __post_init__(self) -> None:
        if not isinstance(self.sampler, Sampler):
            raise InputError(f"{type(self.sampler).__name__}: not a mggcn.block.Sampler, which is the base of samplers")

    def rows(self, model: nn.Module, batch: Batch) -> Rows:
        """The input rows of a batch: a dense tensor, unless the model is a Layer that accepts others."""
        rows = self.inputs.rows(batch.nodes, batch.repeats)
        return rows if isinstance(model, Layer) and model.accepts_rows else to_dense(rows)

    def batches(self, nodes: Nodes, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over nodes; see :meth:`mggcn.block.Sampler.batches`."""
        targets = np.array(nodes) if isinstance(nodes, np.ndarray) else nodes  # samplers make tensors of them
        return self.prefetched(self.sampler.batches(targets, key, batch_size))

    def prefetched(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The same batches; rows that are in mapped files are read in the background some batches ahead.

        A sampler that draws whole batches may read the model, so its next batch is not drawn before it is needed.
        """
        if not self._mapped:
            yield from batches
            return
        waiting: deque[Batch] = deque()
        for batch in batches:
            for rows in self._mapped:
                rows.prefetch(batch.nodes.cpu().numpy())
            waiting.append(batch)
            if len(waiting) > (_AHEAD if self.sampler.draws_per_target else 0):
                yield waiting.popleft()
        yield from waiting

    def kept(self, compute: Compute) -> "View":
        """This view for passes that repeat: their batches and rows are kept if the sampler and memory allow."""
        stays = self.sampler.draws_per_target or self.sampler.one_batch
        free = compute.free_bytes()
        if not stays or free is None or self._mapped:
            return self
        return KeptView(self.inputs, self.sampler, free // _KEPT_SHARE)

    @property
    def _mapped(self) -> tuple[MappedRows, ...]:
        """The input rows that are in mapped files."""
        return self.inputs.mapped if isinstance(self.inputs, DenseInputs) else ()


@dataclass(frozen=True, eq=False)
class KeptView(View):
    """A view that keeps the batches of each pass, and input rows of at most ``budget`` bytes."""

    budget: int
    _batches: dict[tuple[int, int, bytes], list[Batch]] = field(default_factory=dict, repr=False)
    _rows: dict[Batch, Rows] = field(default_factory=dict, repr=False)

    def batches(self, nodes: Nodes, key: Key, batch_size: int) -> Iterator[Batch]:
        """The same batches for the same nodes, key and batch size."""
        name = (key.value, batch_size, nodes.tobytes())
        if name not in self._batches:
            self._batches[name] = [*super().batches(nodes, key, batch_size)]
        return iter(self._batches[name])

    def rows(self, model: nn.Module, batch: Batch) -> Rows:
        """The input rows of a batch, gathered once."""
        if batch in self._rows:
            return self._rows[batch]
        rows = super().rows(model, batch)
        if sum(num_bytes(kept) for kept in (*self._rows.values(), rows)) <= self.budget:
            rows = self._rows[batch] = gathered(rows)
        return rows


@dataclass(frozen=True, eq=False)
class Views:
    """The views that a model trains on and is scored on."""

    train: View
    eval: View

    @classmethod
    def same(cls, view: View) -> "Views":
        """One view for training and scoring."""
        return cls(view, view)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model with the view it trains on, the view it is scored on, and the scaling of the features."""

    model: nn.Module
    train: View
    eval: View
    scaler: Scaler


@dataclass(frozen=True, eq=False)
class Fit:
    """A model that is trained on a data set: what the loop, evaluation, testing and probing share.

    Attributes:
        prepared: the model and its views.
        dataset: has a split.
        training: the settings.
        key: of all random numbers.
        compute: the device, precision, threads and ranks.
    """

    prepared: Prepared
    dataset: Dataset
    training: Training
    key: Key
    compute: Compute

    @property
    def model(self) -> nn.Module:
        """The model."""
        return self.prepared.model

    @property
    def split(self) -> Split:
        """The split of the data set."""
        return self.dataset.require_split()


class Penalised(NamedTuple):
    """What a model may return in training instead of its scores: the scores, and a term to add to the loss."""

    scores: Tensor
    penalty: Tensor
