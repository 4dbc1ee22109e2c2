"""What training has in common in all libraries: the data, timing, a step, models of rows and of walks."""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

WARMUP = 3  # steps
_FEWEST = 3  # steps that are measured even if they take long
_EPS = 1e-15

Options = dict[str, Any]


class TrainingData:
    """The graph, features, labels and training nodes of a dataset folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.indptr = torch.from_numpy(np.load(folder / "indptr.npy"))
        self.indices = torch.from_numpy(np.load(folder / "indices.npy").astype(np.int64))
        self.y = torch.from_numpy(np.load(folder / "y.npy"))
        self.train = torch.from_numpy(np.load(folder / "train.npy"))
        self.num_nodes, self.num_classes = self.y.numel(), int(self.y.max()) + 1

    @cached_property
    def x(self) -> Tensor:
        """[num_nodes, num_features] dense features."""
        return torch.from_numpy(_features(self.folder, self.num_nodes))

    @property
    def degrees(self) -> Tensor:
        """[num_nodes] the number of neighbours that each row lists."""
        return self.indptr.diff()

    @property
    def train_mask(self) -> Tensor:
        """[num_nodes] whether a node is trained on."""
        mask = torch.zeros(self.num_nodes, dtype=torch.bool)
        mask[self.train] = True
        return mask

    def edges(self, *, loops: bool = False) -> Tensor:
        """[2, num_stored]: from each neighbour to the node whose row lists it; ``loops`` adds one at every node."""
        nodes = torch.arange(self.num_nodes)
        edges = torch.stack([self.indices, torch.repeat_interleave(nodes, self.degrees)])
        return torch.cat([edges, torch.stack([nodes, nodes])], dim=1) if loops else edges


def _features(folder: Path, num_nodes: int) -> Any:
    if (folder / "x.npy").is_file():
        return np.load(folder / "x.npy")
    indptr, columns, values = (np.load(folder / f"x_{part}.npy") for part in ("indptr", "indices", "data"))
    width = json.loads((folder / "meta.json").read_text())["num_features"]
    x = np.zeros((num_nodes, width), np.float32)
    x[np.repeat(np.arange(num_nodes), np.diff(indptr)), columns] = values
    return x


def timed(loader: Any, step: Callable[[Any], int], options: Options) -> dict[str, Any]:
    """Time steps, sampling and gathering included; ``step`` returns the number of nodes in its batch.

    ``options`` has the number of ``steps``; if an epoch has fewer, whole epochs are timed. Timing goes on for at least
    ``least_seconds`` and ends early after ``most_seconds``, if they are given.
    """
    size, wanted = len(loader), options["steps"]
    least, most = options.get("least_seconds", 0.0), options.get("most_seconds", math.inf)
    unit = size if size <= wanted else 1
    seconds: list[float] = []
    nodes: list[int] = []
    spent, started = 0.0, time.perf_counter()
    for batch in chain.from_iterable(repeat(loader)):
        nodes.append(step(batch))
        if options["device"] == "cuda":
            torch.cuda.synchronize()
        finished = time.perf_counter()
        seconds.append(finished - started)
        started = finished
        count = len(seconds) - WARMUP
        if count < 1:
            continue
        spent += seconds[-1]
        is_enough = count >= wanted and count % unit == 0 and spent >= least
        if is_enough or (count >= _FEWEST and spent > most):
            break
    return {"step_seconds": seconds[WARMUP:], "nodes": nodes[WARMUP:], "steps_an_epoch": size}


def two_layers(conv: Callable[..., Any], data: TrainingData, options: Options) -> tuple[Any, Any, torch.optim.Adam]:
    """Two convolutions and their optimiser."""
    first = conv(data.x.shape[1], options["hidden"]).to(options["device"])
    second = conv(options["hidden"], data.num_classes).to(options["device"])
    return first, second, adam([*first.parameters(), *second.parameters()], options)


def adam(parameters: Any, options: Options) -> torch.optim.Adam:
    """Adam with our learning rate and weight decay."""
    return torch.optim.Adam(parameters, lr=options.get("lr", 0.001), weight_decay=options.get("weight_decay", 0.0))


def activate(h: Tensor, options: Options) -> Tensor:
    """ReLU and dropout of hidden rows."""
    share = options.get("dropout", 0.0)
    return functional.dropout(torch.relu(h), share) if share else torch.relu(h)


def descend(optimizer: torch.optim.Optimizer, scores: Tensor, labels: Tensor, weight: Any = None) -> None:
    """One step on the cross-entropy; ``weight`` [n] makes it a weighted sum instead of the mean."""
    if weight is None:
        loss = functional.cross_entropy(scores, labels)
    else:
        loss = weight @ functional.cross_entropy(scores, labels, reduction="none")
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


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


class WindowModel(nn.Module):
    """An embedding that scores the first node of a window against the others, as DGL's example of node2vec does.

    Windows of walks compete with windows of random nodes.

    Args:
        num_nodes: rows of the embedding.
        walk: takes start nodes [b]; returns walks [b, length].
        options: has ``dim``, ``length``, ``window`` and ``negatives``.
    """

    def __init__(self, num_nodes: int, walk: Any, options: Options) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_nodes, options["dim"], sparse=True)
        self._walk, self._options = walk, options

    def sample(self, nodes: Any) -> tuple[Tensor, Tensor]:
        """[m, window + 1] the windows of walks from nodes, and those of random nodes after the same starts."""
        starts = torch.as_tensor(nodes)
        others = starts.repeat(self._options["negatives"])
        drawn = torch.randint(self.embedding.num_embeddings, (others.numel(), self._options["length"] - 1))
        return self._windows(self._walk(starts)), self._windows(torch.cat([others[:, None], drawn], dim=1))

    def _windows(self, walks: Tensor) -> Tensor:
        size = self._options["window"] + 1
        return walks.unfold(1, size, 1).reshape(-1, size)

    def loss(self, near: Tensor, random: Tensor) -> Tensor:
        """The loss of windows of walks and of random nodes."""
        near_loss = -torch.log(torch.sigmoid(self._scores(near)) + _EPS).mean()
        return near_loss - torch.log(1 - torch.sigmoid(self._scores(random)) + _EPS).mean()

    def _scores(self, windows: Tensor) -> Tensor:
        scores: Tensor = (self.embedding(windows[:, :1]) * self.embedding(windows[:, 1:])).sum(dim=-1)
        return scores


def train_embedding(model: nn.Module, loader: Any, loss_of: Any, options: Options) -> dict[str, Any]:
    """Time an epoch over all walks: ``loss_of`` takes a batch of the loader, which has one walk from every node."""
    device = options["device"]
    model = model.to(device)
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)

    def step(batch: Any) -> int:
        parts = batch if isinstance(batch, (tuple, list)) else (batch,)
        loss = loss_of(*(part.to(device) for part in parts))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # type: ignore[no-untyped-call]
        return int(options["walks_per_step"])

    result = timed(loader, step, options)
    return {**result, "steps_an_epoch": len(loader) * options["walks"]}
