"""node2vec as in DGL's example and PyTorch Geometric: windows of walks against windows of random nodes."""

from typing import Any

import torch
from torch import Tensor, nn

from .training import Options, timed

_EPS = 1e-15


class WindowModel(nn.Module):
    """An embedding that scores the first node of a window against the others, as DGL's example of node2vec does.

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
