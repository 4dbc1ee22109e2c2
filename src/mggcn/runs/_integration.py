"""The gradient of a model on the line from zero to its input rows, the integrand of integrated gradients.

Models begin with a product of their rows and a matrix of weights. On the line it is that of the rows themselves times a
number, so it is computed once; gradients are those of the products, and multiplied by the weights once at the end.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from mggcn.nn import Layer
from mggcn.nn.rows import Rows, product, to_dense

_PAIRS = 1 << 14  # whose gradients with respect to whole rows are in memory at a time


class _Line:
    """Rows times a number from 0 to 1, in the form that a layer multiplies; results are leaves of the gradient."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self._at = rows, 1.0
        self._whole: dict[int, tuple[Tensor | None, Tensor]] = {}
        self.leaves: dict[int, Tensor] = {}

    def move(self, at: float) -> None:
        """Take these rows at another point of the line."""
        self._at, self.leaves = at, {}

    def matmul(self, weight: Tensor) -> Tensor:
        """Multiply by a dense [width, channels] matrix."""
        return self._leaf(weight, lambda: product(self._rows, weight))

    def to_dense(self) -> Tensor:
        """The rows as a dense tensor."""
        return self._leaf(None, lambda: to_dense(self._rows).float())

    def _leaf(self, weight: Tensor | None, compute: Callable[[], Tensor]) -> Tensor:
        name = id(weight)
        if name not in self._whole:
            with torch.no_grad():
                self._whole[name] = weight, compute()  # the weight, too, so that its name stays its own
        if name not in self.leaves:
            self.leaves[name] = (self._at * self._whole[name][1]).requires_grad_()
        return self.leaves[name]

    def parts(self, gradients: dict[int, Tensor]) -> "list[Part]":
        """What each product contributes to a gradient."""
        return [Part(*self._whole[name], gradient) for name, gradient in gradients.items()]


@dataclass(frozen=True, eq=False)
class Part:
    """The gradient with respect to one product of the input rows.

    Attributes:
        weight: [width, channels] what the rows were multiplied by; None for the rows themselves.
        product: [n, channels].
        gradient: [n, channels].
    """

    weight: Tensor | None
    product: Tensor
    gradient: Tensor

    @property
    def of_rows(self) -> Tensor:
        """[n, width] the gradient with respect to the rows."""
        return self.gradient if self.weight is None else self.gradient @ self.weight.detach().float().t()


def gauss_legendre(steps: int) -> list[tuple[float, float]]:
    """Points between 0 and 1 with their weights, by Gauss and Legendre's rule."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    return [*zip(((points + 1) / 2).tolist(), (weights / 2).tolist(), strict=True)]


def interleaved(steps: int, part: int, parts: int) -> list[tuple[float, float]]:
    """One part of ``parts · steps`` midpoints between 0 and 1 with equal weights; together the parts are all of them.

    Gradients of models with ReLUs jump, so that an error falls only with the number of points. The gradients of several
    draws differ little, so that their mean over one part each is almost as exact as over all points each.
    """
    return [((number + (part + 0.5) / parts) / steps, 1 / steps) for number in range(steps)]


def mean_gradient(
    model: nn.Module, function: Callable[[Rows], Tensor], rows: Rows, points: Sequence[tuple[float, float]]
) -> list[Part]:
    """The mean of a function's gradient on the line from zero to ``rows``.

    Args:
        model: what the function calls with the rows it is given: dense ones, unless it is a Layer that accepts others.
        function: from rows to a number.
        rows: [n, width].
        points: on the line, each with its weight.

    Returns:
        parts, the sum of whose ``of_rows`` is the gradient.
    """
    line, totals = _Line(rows), dict[int, Tensor]()
    is_multiplied = isinstance(model, Layer) and model.accepts_rows
    for at, weight in points:
        line.move(at)
        value = function(cast("Rows", line) if is_multiplied else line.to_dense())
        for name, gradient in zip(line.leaves, torch.autograd.grad(value, [*line.leaves.values()]), strict=True):
            share = weight * gradient.float()
            totals[name] = share if name not in totals else totals[name].add_(share)
    return line.parts(totals)


def total_gradient(parts: Sequence[Part]) -> Tensor:
    """[n, width] the gradient with respect to the rows."""
    return torch.stack([part.of_rows for part in parts]).sum(dim=0)


class PairGradients:
    """Sums of gradients with respect to the rows of nodes that targets read; a target may read a node several times."""

    def __init__(self) -> None:
        self._pairs: list[Tensor] = []
        self._parts: list[list[Part]] = []

    def add(self, owner: Tensor, node: Tensor, parts: list[Part]) -> None:
        """Add the gradients of n rows: the target that reads each, and the node that it is of."""
        self._pairs.append(torch.stack([owner, node]))
        self._parts.append(parts)

    def of_rows(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Some pairs at a time: their targets [n], their nodes [n] and the sums of their gradients [n, width]."""
        pairs = torch.cat(self._pairs, dim=1)
        names, index = torch.unique(pairs[0] * (int(pairs[1].max()) + 1) + pairs[1], return_inverse=True)
        first = index.new_empty(names.numel()).scatter_(0, index, torch.arange(index.numel(), device=index.device))
        owner, node = pairs[:, first]
        sums = []
        for parts in zip(*self._parts, strict=True):  # of one matrix of weights
            gradients = torch.cat([part.gradient for part in parts])
            total = gradients.new_zeros(names.numel(), gradients.shape[1]).index_add_(0, index, gradients)
            sums.append(replace(parts[0], gradient=total))
        for start in range(0, names.numel(), _PAIRS):
            chunk = slice(start, start + _PAIRS)
            part_of = [replace(part, gradient=part.gradient[chunk]) for part in sums]
            yield owner[chunk], node[chunk], total_gradient(part_of)
