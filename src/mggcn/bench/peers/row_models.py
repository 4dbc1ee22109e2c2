"""SGC and SIGN after propagation: models of single rows, trained in mini-batches of rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .data import TrainingData
from .training import Options, activate, adam, descend, timed


class RowBatches:
    """The training nodes in a new order at every pass, cut into batches."""

    def __init__(self, nodes: Tensor, batch_size: int) -> None:
        self._nodes, self._batch_size = nodes, batch_size

    def __len__(self) -> int:
        return -(-self._nodes.numel() // self._batch_size)

    def __iter__(self) -> Iterator[Tensor]:
        order = torch.randperm(self._nodes.numel(), device=self._nodes.device)
        return iter(torch.split(self._nodes[order], self._batch_size))


class HopNetwork(nn.Module):
    """SIGN's network: a linear map for each hop, and one over all of them."""

    def __init__(self, channels: int, data: TrainingData, options: Options) -> None:
        super().__init__()
        hops, hidden = options["hops"] + 1, options["hidden"]
        self.hops = nn.ModuleList(nn.Linear(channels, hidden) for _ in range(hops))
        self.last = nn.Linear(hops * hidden, data.num_classes)
        self.options = options

    def forward(self, parts: Sequence[Tensor]) -> Tensor:
        """One [n, channels] for each hop to [n, num_classes]."""
        h = torch.cat([layer(part) for layer, part in zip(self.hops, parts)], dim=1)  # noqa: B905
        scores: Tensor = self.last(activate(h, self.options))
        return scores


def train_regression(linear: nn.Module, x: Tensor, data: TrainingData, options: Options) -> dict[str, Any]:
    """Time SGC: a linear map of propagated rows."""
    return _train(linear, x, lambda rows: x[rows], data, options)


def train_hops(parts: Sequence[Tensor], data: TrainingData, options: Options) -> dict[str, Any]:
    """Time SIGN: a network on the rows of every hop."""
    model = HopNetwork(parts[0].shape[1], data, options)
    return _train(model, parts[0], lambda rows: [part[rows] for part in parts], data, options)


def _train(model: nn.Module, x: Tensor, inputs: Any, data: TrainingData, options: Options) -> dict[str, Any]:
    model, y = model.to(x.device), data.y.to(x.device)
    optimizer = adam(model.parameters(), options)

    def step(rows: Tensor) -> int:
        descend(optimizer, model(inputs(rows)), y[rows])
        return rows.numel()

    return timed(RowBatches(data.train.to(x.device), options["batch_size"]), step, options)
