"""One step of training: forward, loss, backward, Adam."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mggcn._io.arrays import shared_tensor
from mggcn.block import Batch
from mggcn.errors import InputError
from mggcn.kernels.adam import Adam
from mggcn.kernels.loss import cross_entropy
from mggcn.keys import Key
from mggcn.nn import Layer
from mggcn.nn.rows import dropped
from mggcn.training._background import BackgroundRisk
from mggcn.training._capture import Captured
from mggcn.training._inputs import DenseInputs
from mggcn.training._prepared import Fit, Penalised, View


class Step:
    """Trains a model batch by batch on a view.

    Attributes:
        labels: [num_nodes] on the model's device.
        class_weight: [num_classes] or None.
    """

    def __init__(self, fit: Fit, view: View) -> None:
        dataset, training, compute, model = fit.dataset, fit.training, fit.compute, fit.model
        self._model, self._view, self._training, self._compute = model, view, training, compute
        self.labels = shared_tensor(dataset.y).to(compute.device)
        self.class_weight: Tensor | None = None
        if training.class_weights == "balanced":
            counts = np.bincount(dataset.y[fit.split.train], minlength=dataset.num_classes)
            shares, zeros = counts * np.count_nonzero(counts), np.zeros(counts.size)
            weights = np.divide(counts.sum(), shares, out=zeros, where=counts > 0).astype(np.float32)
            self.class_weight = torch.from_numpy(weights).to(compute.device)
        self._risk: BackgroundRisk | None = None  # takes the place of the cross-entropy if nodes are unlabelled
        if training.background_prior:
            if compute.ranks.size > 1:
                reason = "cannot train with it, because its risk is of whole batches"
                raise InputError(f"background_prior: {compute.ranks.size} ranks {reason}")
            nodes = fit.split.train
            self._risk = BackgroundRisk.of(dataset, nodes, training.background_prior, training.background_risk)
        self._key = Key.of(0)  # of input dropout, another one for every step
        on_gpu = compute.device.type == "cuda"
        self._tally = torch.zeros(2, dtype=torch.float32 if on_gpu else torch.float64, device=compute.device)
        self._adam = Adam(model.parameters(), training.lr, training.weight_decay, self._tally[1:])
        if on_gpu:
            # a small backward pass gives autograd's thread a CUDA context; without one cuBLAS would warn
            torch.zeros(1, device=compute.device, requires_grad=True).sum().backward()  # type: ignore[no-untyped-call]
        is_resident = isinstance(view.inputs, DenseInputs) and view.inputs.copied_to is None
        has_fixed_shapes = view.sampler.device.type == "cuda" and is_resident
        can_capture = on_gpu and has_fixed_shapes and isinstance(model, Layer) and model.capturable
        self._captured = Captured(self._run) if can_capture else None

    def tensors(self) -> dict[str, Tensor]:
        """What the optimiser holds, by name; filling it in place continues from there."""
        moments = {f"adam.{name}": moment for name, moment in self._adam.tensors().items()}
        return {"adam.clock": self._tally, **moments}

    def over(self, batches: Iterable[Batch], twins: Iterable[Batch] | None = None, *, key: Key) -> float:
        """Make one step for each batch of an epoch; return the mean loss over all targets.

        ``twins`` are other draws of the same batches, if training is for consistency; ``key`` is that of input dropout.
        """
        self._model.train()
        self._tally[:1].zero_()
        count = 0
        process: Callable[..., None] = self._captured or self._run
        with self._compute.arithmetic():
            for number, draws in enumerate(zip(batches) if twins is None else zip(batches, twins, strict=True)):
                first, *others = (draw.targets for draw in draws)
                is_checked = not count or first.device.type == "cpu"  # on a GPU it means to wait
                if is_checked and not all(torch.equal(first, other) for other in others):
                    raise InputError("consistency: needs a method whose batches have the same targets in every draw")
                if self._training.input_dropout:
                    self._key = key.fold(number)
                process(*draws)
                count += draws[0].whole_count
            if self._captured is not None:
                self._captured.finish()
        return float(self._compute.ranks.add(self._tally[:1].double())) / count

    def _run(self, *draws: Batch) -> None:
        self._adam.clear()
        if draws[0].targets.numel():
            self._backward(draws)
        else:  # this rank has no share of the last batch
            self._tally[1:] += 1
        self._compute.ranks.add_gradients(self._model.parameters())
        self._adam.step()

    def _backward(self, draws: tuple[Batch, ...]) -> None:
        """Of two draws of a batch: the mean of their losses, and the squared distance of their probabilities."""
        found, penalties = zip(*(self._scores(one, draw) for draw, one in enumerate(draws)), strict=True)
        batch = draws[0].to(self._compute.device)
        if len(draws) == 1 and penalties[0] is None and batch.weight is None and self._risk is None:
            arrays = (found[0].detach(), self.labels, batch.targets, self.class_weight, self._tally)
            gradient = cross_entropy(*arrays, self._training.label_smoothing)
            _Root.apply(found[0], gradient).backward()  # type: ignore[no-untyped-call]
            return
        zero, share = torch.zeros((), device=self._tally.device), batch.targets.numel() / batch.whole_count
        loss = sum((self._loss(scores, batch) for scores in found), zero) / len(draws)
        self._tally += torch.stack([loss.detach() * batch.whole_count, loss.new_ones(())]).to(self._tally)
        if len(draws) == 2:
            one, other = (functional.softmax(scores, dim=1) for scores in found)
            loss = loss + self._training.consistency * share * (one - other).square().sum(dim=1).mean()
        for penalty in penalties:
            loss = loss if penalty is None else loss + penalty * share / len(draws)
        loss.backward()  # type: ignore[no-untyped-call]

    def _scores(self, batch: Batch, draw: int) -> tuple[Tensor, Tensor | None]:
        """The scores of a batch's targets, and the penalty if the model has one; ``draw`` is 1 for a twin."""
        rows = self._view.rows(self._model, batch)
        if self._training.input_dropout:
            rows = dropped(rows, batch.nodes, self._training.input_dropout, self._key.fold(draw))
        out: Tensor | Penalised = self._model(rows, batch.to(self._compute.device).blocks)
        if isinstance(out, Penalised):
            return out.scores.float(), out.penalty
        return out.float(), None

    def _loss(self, scores: Tensor, batch: Batch) -> Tensor:
        """The loss through autograd, for what the fused kernel does not support."""
        labels = self.labels[batch.targets.long()]
        if self._risk is not None:
            if batch.weight is not None:
                raise InputError("background_prior: needs a method whose targets have equal weights in a batch")
            return self._risk(scores, labels)
        loss_of = partial(functional.cross_entropy, label_smoothing=self._training.label_smoothing)
        if batch.weight is None:
            return loss_of(scores, labels, self.class_weight)
        return batch.weight @ loss_of(scores, labels, self.class_weight, reduction="none")


class _Root(torch.autograd.Function):
    """``scores.backward(gradient)``, which itself imports sympy: that takes longer than the first epoch on a GPU."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, gradient: Tensor) -> Tensor:  # noqa: ARG004
        ctx.gradient = gradient
        return torch.zeros(())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:  # noqa: ARG004
        return ctx.gradient, None
