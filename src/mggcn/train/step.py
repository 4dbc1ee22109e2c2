"""One step of training: forward, loss, backward, Adam."""

from collections.abc import Iterable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Batch
from mggcn.kernels.adam import Adam
from mggcn.kernels.loss import cross_entropy
from mggcn.nn.rows import dropped
from mggcn.train.capture import Captured
from mggcn.train.compute import Compute
from mggcn.train.inputs import DenseInputs
from mggcn.train.prepared import Penalised, View
from mggcn.train.training import Training


class Step:
    """Trains a model batch by batch.

    Args:
        model: takes input rows and blocks; returns scores, or scores with a penalty.
        view: the view it trains on.
        labels: [num_nodes] on the model's device.
        class_weight: [num_classes] or None.
        training: the settings.
        compute: the device, precision and threads.
    """

    def __init__(
        self,
        model: nn.Module,
        view: View,
        labels: Tensor,
        class_weight: Tensor | None,
        training: Training,
        compute: Compute,
    ) -> None:
        self._model, self._view, self._labels, self._class_weight = model, view, labels, class_weight
        self._training, self._compute = training, compute
        on_gpu = compute.device.type == "cuda"
        self._tally = torch.zeros(2, dtype=torch.float32 if on_gpu else torch.float64, device=compute.device)
        self._adam = Adam(model.parameters(), training.lr, training.weight_decay, self._tally[1:])
        if on_gpu:
            _give_autograd_a_context(compute.device)
        has_fixed_shapes = view.sampler.device.type == "cuda" and isinstance(view.inputs, DenseInputs)
        can_capture = on_gpu and has_fixed_shapes and getattr(model, "capturable", False)
        self._process = Captured(self._run) if can_capture else self._run

    def over(self, batches: Iterable[Batch]) -> float:
        """Make one step for each batch; return the mean loss over all targets."""
        self._model.train()
        self._tally[:1].zero_()
        count = 0
        with self._compute.arithmetic():
            for batch in batches:
                self._process(batch)
                count += batch.targets.numel()
        return float(self._tally[0]) / count

    def _run(self, batch: Batch) -> None:
        rows = self._view.rows(self._model, batch)
        if self._training.input_dropout:
            rows = dropped(rows, self._training.input_dropout)
        batch = batch.to(self._compute.device)
        out: Tensor | Penalised = self._model(rows, batch.blocks)
        scores = (out.scores if isinstance(out, Penalised) else out).float()
        self._adam.clear()
        if isinstance(out, Penalised) or batch.weight is not None:
            self._loss(scores, batch, out.penalty if isinstance(out, Penalised) else None).backward()  # type: ignore[no-untyped-call]
        else:
            arrays = (scores.detach(), self._labels, batch.targets, self._class_weight, self._tally)
            gradient = cross_entropy(*arrays, self._training.label_smoothing)
            scores.backward(gradient)  # type: ignore[no-untyped-call]
        self._adam.step()

    def _loss(self, scores: Tensor, batch: Batch, penalty: Tensor | None) -> Tensor:
        """The loss of a batch that weighs its targets or has a penalty, which the fused kernel does not support."""
        labels = self._labels[batch.targets.long()]
        loss_of = partial(functional.cross_entropy, label_smoothing=self._training.label_smoothing)
        if batch.weight is None:
            loss = loss_of(scores, labels, self._class_weight)
        else:
            loss = batch.weight @ loss_of(scores, labels, self._class_weight, reduction="none")
        self._tally += torch.stack([loss.detach() * batch.targets.numel(), loss.new_ones(())]).to(self._tally)
        return loss if penalty is None else loss + penalty


def _give_autograd_a_context(device: torch.device) -> None:
    """Give autograd's thread a CUDA context by a small backward pass; without one cuBLAS would warn."""
    torch.zeros(1, device=device, requires_grad=True).sum().backward()  # type: ignore[no-untyped-call]
