"""The optimiser: Adam, without the overhead of torch.optim on small tensors.

On a CPU it calls the fused kernel of torch.optim. On a GPU that kernel runs small tensors on too few multiprocessors
so a Triton kernel replaces it, which also reads the number of the step from the device, as a captured step must.
"""

from collections.abc import Iterable
from functools import partial

import torch
from torch import Tensor

_fused_adam = partial(torch._fused_adam_, beta1=0.9, beta2=0.999, eps=1e-8, amsgrad=False, maximize=False)


class Adam:
    """Adam with an L2 penalty, as in the paper and in torch.optim.

    Args:
        parameters: float32 tensors on one device.
        lr: the learning rate.
        weight_decay: factor of the L2 penalty.
        clock: [1] on the parameters' device, the number of the current step, from 1; the caller increases it.
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, weight_decay: float, clock: Tensor) -> None:
        self._parameters = list(parameters)
        self._lr, self._decay, self._clock = lr, weight_decay, clock
        self._moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self._parameters]

    def tensors(self) -> dict[str, Tensor]:
        """Both moments of every parameter, by name; filling them in place continues from there."""
        names = ("first", "second")
        return {
            f"{name}.{number}": moment
            for number, moments in enumerate(self._moments)
            for name, moment in zip(names, moments, strict=True)
        }

    def clear(self) -> None:
        """Set the gradients to None."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter from its gradient."""
        trained = [
            (parameter, parameter.grad.contiguous(), *moments)
            for parameter, moments in zip(self._parameters, self._moments, strict=True)
            if parameter.grad is not None
        ]
        weights, gradients, first, second = (list(tensors) for tensors in zip(*trained, strict=True))
        if self._clock.device.type == "cpu":
            clocks = [self._clock.float()] * len(weights)
            _fused_adam(weights, gradients, first, second, [], clocks, lr=self._lr, weight_decay=self._decay)
        else:
            from mggcn.kernels.gpu import adam as gpu

            gpu.step(weights, gradients, first, second, self._clock, self._lr, self._decay)
