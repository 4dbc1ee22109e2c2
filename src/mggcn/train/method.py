"""What the training loop needs of a method: a model and its views of the graph."""

from dataclasses import dataclass

from torch import nn

from mggcn.block import Sampler
from mggcn.inputs import Inputs
from mggcn.scaling import Scaler


@dataclass(frozen=True, eq=False)
class View:
    """A graph as a model sees it: input rows and the batches over them."""

    inputs: Inputs
    sampler: Sampler


@dataclass(frozen=True, eq=False)
class Method:
    """A model with the view it trains on, the view it is evaluated on, and the scaling behind both."""

    model: nn.Module
    train: View
    eval: View
    scaler: Scaler
