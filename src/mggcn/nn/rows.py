"""The input rows of a model: dense, sparse if most features are zero, or distinct rows that repeat."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from mggcn.block import Repeats
from mggcn.kernels.expand import expand
from mggcn.kernels.sparse_product import sparse_product


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Some rows of a sparse matrix on the CPU, not copied until they are multiplied."""

    x: csr_array
    nodes: Tensor

    def to_dense(self) -> Tensor:
        """The rows as a dense tensor on the CPU."""
        return torch.from_numpy(np.asarray(self.x[self.nodes.numpy()].toarray()))

    def matmul(self, weight: Tensor) -> Tensor:
        """Multiply by a dense [width, channels] matrix; only the columns that occur are read."""
        if weight.device.type == "cpu":
            return sparse_product(self.x, self.nodes, weight)
        part = self.x[self.nodes.numpy()]
        indptr, columns, values = (
            torch.from_numpy(a).to(weight.device) for a in (part.indptr, part.indices, part.data)
        )
        return functional.embedding_bag(
            columns, weight, indptr, mode="sum", per_sample_weights=values, include_last_offset=True
        )


@dataclass(frozen=True, eq=False)
class RepeatedRows:
    """Rows of which some repeat: hubs are picked for many targets of a batch, but gathered and multiplied only once.

    Attributes:
        rows: the distinct rows.
        index: [n] the position of each row among them.
        repeats: the same with the fixed shape that a GPU needs, if the sampler provides it.
    """

    rows: "Tensor | SparseRows"
    index: Tensor
    repeats: Repeats | None = None

    def to_dense(self) -> Tensor:
        """The rows as a dense tensor."""
        distinct = self.rows if isinstance(self.rows, Tensor) else self.rows.to_dense()
        if self.repeats is not None:
            return expand(distinct, self.repeats)
        return distinct.index_select(0, self.index.to(distinct.device))

    def matmul(self, weight: Tensor) -> Tensor:
        """Multiply by a dense [width, channels] matrix."""
        product = self.rows.matmul(weight)
        return product.index_select(0, self.index) if self.repeats is None else expand(product, self.repeats)


Rows: TypeAlias = Tensor | SparseRows | RepeatedRows


def dropped(x: Rows, share: float) -> Rows:
    """Set a share of the values to zero and scale the others up, as dropout does; repeated rows stay equal."""
    if isinstance(x, RepeatedRows):
        return RepeatedRows(_dropped(x.rows, share), x.index, x.repeats)
    return _dropped(x, share)


def _dropped(x: Tensor | SparseRows, share: float) -> Tensor | SparseRows:
    if isinstance(x, Tensor):
        return functional.dropout(x, share)
    part = csr_array(x.x[x.nodes.numpy()])
    part.data = functional.dropout(torch.from_numpy(part.data), share).numpy()
    return SparseRows(part, torch.arange(part.shape[0]))


def is_sparse(x: Rows) -> bool:
    """Whether the rows are sparse, so that multiplying them is faster than converting them to dense rows."""
    return isinstance(x, SparseRows) or (isinstance(x, RepeatedRows) and is_sparse(x.rows))


def to_dense(x: Rows) -> Tensor:
    """The rows as a tensor."""
    return x if isinstance(x, Tensor) else x.to_dense()
