"""What the training loop needs: a model, and the input rows and samplers that it trains and is scored with."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn

from mggcn.block import Batch, Sampler
from mggcn.nn.rows import Rows, to_dense
from mggcn.train.inputs import DenseInputs, HostInputs, Inputs
from mggcn.train.scaling import Scaler

_AHEAD = 4  # batches


@dataclass(frozen=True, eq=False)
class View:
    """A graph as a model receives it: input rows and the batches over them."""

    inputs: Inputs
    sampler: Sampler

    def rows(self, model: nn.Module, batch: Batch) -> Rows:
        """The input rows of a batch: a dense tensor, unless the model declares ``accepts_rows``."""
        rows = self.inputs.rows(batch.nodes, batch.repeats)
        return rows if getattr(model, "accepts_rows", False) else to_dense(rows)

    def prefetched(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The same batches; rows that are in mapped files are read in the background some batches ahead.

        A sampler that draws whole batches may read the model, so its next batch is not drawn before it is needed.
        """
        table = self.inputs.table if isinstance(self.inputs, HostInputs) else self.inputs
        if not isinstance(table, DenseInputs) or not table.mapped:
            yield from batches
            return
        waiting: deque[Batch] = deque()
        for batch in batches:
            table.prefetch(batch.nodes.cpu())
            waiting.append(batch)
            if len(waiting) > (_AHEAD if getattr(self.sampler, "draws_per_target", False) else 0):
                yield waiting.popleft()
        yield from waiting


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


class Penalised(NamedTuple):
    """What a model may return in training instead of its scores: the scores, and a term to add to the loss."""

    scores: Tensor
    penalty: Tensor
