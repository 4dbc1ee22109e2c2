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
    """Dense rows on one device, as matrices that stand side by side; views of a graph may share some of them."""

    parts: tuple[Tensor, ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(part.shape[1] for part in self.parts)

    def rows(self, nodes: Tensor) -> Tensor:
        """[n, width]."""
        first = self.parts[0]
        nodes = nodes.to(first.device)
        if len(self.parts) == 1:
            return first.index_select(0, nodes)
        out = first.new_empty(nodes.numel(), self.width)
        column = 0
        for part in self.parts:
            torch.index_select(part, 0, nodes, out=out[:, column : column + part.shape[1]])
            column += part.shape[1]
        return out


@dataclass(frozen=True, eq=False)
class HostInputs:
    """Dense rows too many for the GPU: gathered on the host, through pinned memory, and moved batch by batch."""

    table: DenseInputs
    device: torch.device

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.table.width

    def rows(self, nodes: Tensor) -> Tensor:
        """[n, width] on the GPU."""
        return self.table.rows(nodes).pin_memory().to(self.device, non_blocking=True)


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


def sparse_inputs(parts: list[Features]) -> SparseInputs | None:
    """Sparse matrices side by side, or None where one is dense or too many of their entries are set."""
    if any(isinstance(part, np.ndarray) for part in parts):
        return None
    joined = csr_array(hstack(parts, format="csr"))
    if joined.nnz >= DENSE_ABOVE * joined.shape[0] * joined.shape[1]:
        return None
    joined.sort_indices()
    return SparseInputs(joined)


def dense(part: Features) -> Tensor:
    """A feature matrix as a dense tensor in memory."""
    array = part if isinstance(part, np.ndarray) else np.asarray(part.toarray(), np.float32)
    return torch.from_numpy(array if array.flags.writeable else np.array(array))
