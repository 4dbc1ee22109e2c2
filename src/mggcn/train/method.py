"""What the training loop needs of a method: a model and its views of the graph."""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn

from mggcn.block import Sampler
from mggcn.train.inputs import Inputs
from mggcn.train.scaling import Scaler


@dataclass(frozen=True, eq=False)
class View:
    """A graph as a model sees it: input rows and the batches over them."""

    inputs: Inputs
    sampler: Sampler


@dataclass(frozen=True, eq=False)
class Views:
    """A graph as a model sees it in training and when it is scored, where many methods leave nothing out."""

    train: View
    eval: View


@dataclass(frozen=True, eq=False)
class Method:
    """A model with the view it trains on, the view it is evaluated on, and the scaling behind both."""

    model: nn.Module
    train: View
    eval: View
    scaler: Scaler


class Penalised(NamedTuple):
    """What a model may return in training instead of its scores: the scores, and a term to add to the loss."""

    scores: Tensor
    penalty: Tensor
