"""One step of training: forward, loss, backward, Adam."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Batch
from mggcn.kernels.adam import Adam
from mggcn.kernels.loss import cross_entropy
from mggcn.train.capture import Captured
from mggcn.train.compute import Compute
from mggcn.train.inputs import DenseInputs
from mggcn.train.method import Penalised, View
from mggcn.train.training import Training


class Step:
    """Trains a model batch by batch.

    Args:
        model: takes input rows and blocks; returns scores, or scores with a penalty.
        view: of the graph it trains on.
        labels: [num_nodes] on the model's device.
        class_weight: [num_classes] or None.
        training: the settings.
        place: where and how to compute.
    """

    def __init__(
        self,
        model: nn.Module,
        view: View,
        labels: Tensor,
        class_weight: Tensor | None,
        training: Training,
        place: Compute,
    ) -> None:
        self._model, self._inputs, self._labels, self._class_weight = model, view.inputs, labels, class_weight
        self._place = place
        on_gpu = place.device.type == "cuda"
        self._tally = torch.zeros(2, dtype=torch.float32 if on_gpu else torch.float64, device=place.device)
        self._adam = Adam(model.parameters(), training.lr, training.weight_decay, self._tally[1:])
        if on_gpu:
            _give_autograd_a_context(place.device)
        has_fixed_shapes = view.sampler.device.type == "cuda" and isinstance(view.inputs, DenseInputs)
        self._take = Captured(self._run) if on_gpu and has_fixed_shapes else self._run

    def over(self, batches: Iterable[Batch]) -> float:
        """Take one step for each batch; return the mean loss over all targets."""
        self._model.train()
        self._tally[:1].zero_()
        count = 0
        with self._place.arithmetic():
            for batch in batches:
                self._take(batch)
                count += batch.targets.numel()
        return float(self._tally[0]) / count

    def _run(self, batch: Batch) -> None:
        rows = self._inputs.rows(batch.nodes, batch.repeats)
        placed = batch.to(self._place.device)
        out: Tensor | Penalised = self._model(rows, placed.blocks)
        scores = (out.scores if isinstance(out, Penalised) else out).float()
        self._adam.clear()
        if isinstance(out, Penalised) or placed.weight is not None:
            self._loss(scores, placed, out.penalty if isinstance(out, Penalised) else None).backward()  # type: ignore[no-untyped-call]
        else:
            gradient = cross_entropy(scores.detach(), self._labels, placed.targets, self._class_weight, self._tally)
            scores.backward(gradient)  # type: ignore[no-untyped-call]
        self._adam.step()

    def _loss(self, scores: Tensor, batch: Batch, penalty: Tensor | None) -> Tensor:
        """The loss of a batch that weighs its targets or has a penalty, which the fused kernel does not know."""
        labels = self._labels[batch.targets.long()]
        if batch.weight is None:
            loss = functional.cross_entropy(scores, labels, self._class_weight)
        else:
            loss = batch.weight @ functional.cross_entropy(scores, labels, self._class_weight, reduction="none")
        self._tally += torch.stack([loss.detach() * batch.targets.numel(), loss.new_ones(())]).to(self._tally)
        return loss if penalty is None else loss + penalty


def _give_autograd_a_context(device: torch.device) -> None:
    """Run some backward pass, so that the engine's thread has a CUDA context before cuBLAS asks, and warns, for one."""
    torch.zeros(1, device=device, requires_grad=True).sum().backward()  # type: ignore[no-untyped-call]
