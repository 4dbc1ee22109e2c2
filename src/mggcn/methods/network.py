"""The settings that most networks share, and the stack that they make."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn

from mggcn.errors import InputError
from mggcn.nn import Stack


@dataclass(frozen=True)
class Network:
    """The settings that most networks share.

    Attributes:
        layers: how many.
        hidden: width of the hidden layers.
        dropout: share of hidden units dropped in training.
        bias: add a bias to each layer.
    """

    layers: int = 2
    hidden: int = 16
    dropout: float = 0.0
    bias: bool = True

    def __post_init__(self) -> None:
        at_least_one(self, "layers", "hidden")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout: {self.dropout} is not in [0, 1)")

    def widths(self, in_channels: int, out_channels: int) -> list[int]:
        """Of the input, every hidden layer and the output."""
        return [in_channels, *[self.hidden] * (self.layers - 1), out_channels]


def at_least_one(config: object, *names: str) -> None:
    """Refuse settings below 1."""
    for name in names:
        if getattr(config, name) < 1:
            raise InputError(f"{name}: {getattr(config, name)} is less than 1")


def stacked(
    config: Network,
    conv: Callable[..., nn.Module],
    in_channels: int,
    out_channels: int,
    generator: torch.Generator | None,
    *,
    normalise: bool = False,
) -> Stack:
    """A stack with one convolution of a kind for each layer."""
    widths = config.widths(in_channels, out_channels)
    convs = [conv(a, b, bias=config.bias, generator=generator) for a, b in pairwise(widths)]
    return Stack(convs, dropout=config.dropout, normalise=normalise)
