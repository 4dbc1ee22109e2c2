"""One step of training: forward, loss, backward, Adam."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Batch
from mggcn.inputs import Inputs
from mggcn.train.training import Training


class Step:
    """Trains a model batch by batch.

    Args:
        model: takes input rows and blocks.
        inputs: of the graph it trains on.
        labels: [num_nodes] on the model's device.
        class_weight: [num_classes] or None.
        training: the settings.
    """

    def __init__(
        self, model: nn.Module, inputs: Inputs, labels: Tensor, class_weight: Tensor | None, training: Training
    ) -> None:
        self._model, self._inputs, self._labels, self._class_weight = model, inputs, labels, class_weight
        self._optimizer = torch.optim.Adam(
            model.parameters(), lr=training.lr, weight_decay=training.weight_decay, fused=True
        )

    def over(self, batches: Iterable[Batch]) -> float:
        """Take one step for each batch; return the mean loss over all targets."""
        self._model.train()
        total = torch.zeros((), dtype=torch.float64, device=self._labels.device)
        count = 0
        for batch in batches:
            total += self._take(batch) * batch.targets.numel()
            count += batch.targets.numel()
        return float(total) / count

    def _take(self, batch: Batch) -> Tensor:
        placed = batch.to(self._labels.device)
        scores = self._model(self._inputs.rows(placed.nodes), placed.blocks)
        loss = functional.cross_entropy(scores, self._labels[placed.targets], weight=self._class_weight)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        return loss.detach()
