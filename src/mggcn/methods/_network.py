"""The settings that most networks share, and the stack of convolutions built from them."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import nn

from mggcn.methods.method import Method
from mggcn.nn.conv import Linear
from mggcn.nn.stack import Stack
from mggcn.training import Count, Share


@dataclass(frozen=True)
class Network(Method):
    """The settings that most networks share.

    Attributes:
        layers: the number of layers.
        hidden: the width of the hidden layers.
        dropout: the share of hidden units dropped in training.
        bias: add a bias to each layer.
    """

    linear_in_features: ClassVar[bool] = True

    layers: Count = 2
    hidden: Count = 16
    dropout: Share = 0.0
    bias: bool = True

    def widths(self, in_channels: int, out_channels: int) -> list[int]:
        """The widths of the input, every hidden layer and the output."""
        return [in_channels, *[self.hidden] * (self.layers - 1), out_channels]

    def _stack(
        self,
        conv: Callable[..., nn.Module],
        in_channels: int,
        out_channels: int,
        generator: torch.Generator | None,
        *,
        linear_first: bool = False,
        normalise: bool = False,
        dropout: float | None = None,
    ) -> Stack:
        """One convolution per layer; with ``linear_first`` the first layer is linear, on rows already aggregated."""
        widths, first = self.widths(in_channels, out_channels), None
        if linear_first:
            first = Linear(*widths[:2], bias=self.bias, generator=generator)
            widths = widths[1:]
        convs = [conv(a, b, bias=self.bias, generator=generator) for a, b in pairwise(widths)]
        share = self.dropout if dropout is None else dropout
        return Stack(convs, first=first, dropout=share, normalise=normalise)
