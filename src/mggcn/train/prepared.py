"""What the training loop needs: a model, and the input rows and samplers that it trains and is scored with."""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn

from mggcn.block import Batch, Sampler
from mggcn.nn.rows import Rows, to_dense
from mggcn.train.inputs import Inputs
from mggcn.train.scaling import Scaler


@dataclass(frozen=True, eq=False)
class View:
    """A graph as a model receives it: input rows and the batches over them."""

    inputs: Inputs
    sampler: Sampler

    def rows(self, model: nn.Module, batch: Batch) -> Rows:
        """The input rows of a batch: a dense tensor, unless the model declares ``accepts_rows``."""
        rows = self.inputs.rows(batch.nodes, batch.repeats)
        return rows if getattr(model, "accepts_rows", False) else to_dense(rows)


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
