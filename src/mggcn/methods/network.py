"""The settings that most networks share."""

from dataclasses import dataclass

from mggcn.errors import InputError


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
