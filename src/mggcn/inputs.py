"""The rows a model starts from: dense, or sparse where most features are zero."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from scipy.sparse import csr_array, hstack
from torch import Tensor
from torch.nn import functional

from mggcn.dataset import Features

DENSE_ABOVE = 0.15


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Some rows of a sparse matrix, held on the CPU."""

    matrix: csr_array

    def matmul(self, weight: Tensor) -> Tensor:
        """Multiply by a dense [width, channels] matrix; only the columns that occur are read."""
        if weight.device.type == "cpu":
            product: Tensor = _Product.apply(weight, self.matrix)  # type: ignore[no-untyped-call]
            return product
        parts = (self.matrix.indptr, self.matrix.indices, self.matrix.data)
        indptr, columns, values = (torch.from_numpy(part).to(weight.device) for part in parts)
        return functional.embedding_bag(
            columns, weight, indptr, mode="sum", per_sample_weights=values, include_last_offset=True
        )


class _Product(torch.autograd.Function):
    """Sparse times dense through scipy: torch's own CPU kernels are 10 to 200 times slower at this size."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, matrix: csr_array) -> Tensor:
        ctx.matrix = matrix
        return torch.from_numpy(matrix @ weight.detach().numpy())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return torch.from_numpy(ctx.matrix.T @ gradients[0].contiguous().numpy()), None


Rows: TypeAlias = Tensor | SparseRows


class Inputs(Protocol):
    """A matrix with one row per node."""

    @property
    def width(self) -> int:
        """The number of columns."""
        ...

    def rows(self, nodes: Tensor) -> Rows:
        """The rows of ``nodes``, on the device the inputs live on."""
        ...


@dataclass(frozen=True, eq=False)
class DenseInputs:
    """Dense rows, kept on one device."""

    x: Tensor

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.x.shape[1]

    def rows(self, nodes: Tensor) -> Tensor:
        """[n, width]."""
        return self.x.index_select(0, nodes.to(self.x.device))


@dataclass(frozen=True, eq=False)
class SparseInputs:
    """Sparse rows, gathered on the CPU."""

    x: csr_array

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.x.shape[1])

    def rows(self, nodes: Tensor) -> SparseRows:
        """The rows of ``nodes``."""
        return SparseRows(self.x[nodes.cpu().numpy()])


def inputs_of(parts: list[Features], device: torch.device) -> Inputs:
    """Put matrices side by side; they stay sparse when all are sparse and few of their entries are set."""
    if all(not isinstance(part, np.ndarray) for part in parts):
        joined = csr_array(hstack(parts, format="csr"))
        if joined.nnz < DENSE_ABOVE * joined.shape[0] * joined.shape[1]:
            joined.sort_indices()
            return SparseInputs(joined)
        return DenseInputs(torch.from_numpy(joined.toarray()).to(device))
    dense = [part if isinstance(part, np.ndarray) else part.toarray() for part in parts]
    return DenseInputs(torch.from_numpy(np.concatenate(dense, axis=1)).to(device))
