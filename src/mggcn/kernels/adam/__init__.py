"""The optimiser: Adam, one kernel a tensor."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

_BETA_1, _BETA_2 = 0.9, 0.999


class Adam:
    """Adam with an L2 penalty, as in the paper and in torch.optim, without its overhead on small tensors.

    Args:
        parameters: float32 tensors on one device.
        lr: the learning rate.
        weight_decay: factor of the L2 penalty.
        clock: [1] on the parameters' device, the number of the current step, from 1; the caller moves it on.
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, weight_decay: float, clock: Tensor) -> None:
        self._parameters = list(parameters)
        self._lr, self._decay, self._clock = lr, weight_decay, clock
        self._moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self._parameters]

    def clear(self) -> None:
        """Forget the gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter from its gradient."""
        if self._clock.device.type == "cpu":
            self._step_cpu(float(self._clock))
        else:
            self._step_gpu()

    def _step_cpu(self, number: float) -> None:
        from mggcn.kernels.adam import cpu

        size = np.float32(self._lr / (1 - _BETA_1**number))
        root = np.float32(1 / (1 - _BETA_2**number) ** 0.5)
        for parameter, (first, second) in zip(self._parameters, self._moments, strict=True):
            if parameter.grad is not None:
                tensors = (parameter, parameter.grad.contiguous(), first, second)
                weight, gradient, one, two = (tensor.detach().view(-1).numpy() for tensor in tensors)
                cpu.step(weight, gradient, one, two, size, root, np.float32(self._decay))

    def _step_gpu(self) -> None:
        from mggcn.kernels.adam import gpu

        for parameter, (first, second) in zip(self._parameters, self._moments, strict=True):
            if parameter.grad is not None:
                gradient = parameter.grad.contiguous()
                gpu.step(parameter, gradient, first, second, self._clock, self._lr, self._decay)
