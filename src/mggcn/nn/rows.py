"""The input rows of a model: dense, not yet gathered, sparse, averaged later, or distinct rows that repeat."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from mggcn.block import Repeats
from mggcn.kernels.dropout import dropout, dropout_gathered, dropout_sparse
from mggcn.kernels.gather import gather_product, gather_sum, sparse_product
from mggcn.kernels.relabel import block_between, expand
from mggcn.keys import Key

_NARROW = 10  # channels; up to here both products of a step take half the time or less


@dataclass(frozen=True, eq=False)
class TableRows:
    """Some rows of a matrix, not copied until they are dropped or multiplied, in bfloat16 on a GPU not even then.

    Attributes:
        table: [num_nodes, stride], with zeros in the columns from ``width`` on.
        nodes: [n] int32 or int64, on the same device.
        width: of the rows.
    """

    table: Tensor
    nodes: Tensor
    width: int

    def to_dense(self) -> Tensor:
        """A copy of the rows."""
        return self.table.index_select(0, self.nodes)[:, : self.width]

    def matmul(self, weight: Tensor) -> Tensor:
        """Multiply by a dense [width, channels] matrix."""
        if self.table.device.type == "cpu":
            return product(self.to_dense(), weight)
        return gather_product(self.table, self.nodes, weight)


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
class AveragedRows:
    """Rows ``[x | Ax | … | A^hops x | Bx | …]`` of some nodes, never computed: x is multiplied first. On the CPU.

    Averages of sparse features over many neighbours have many entries; the products that are averaged have few columns.

    Attributes:
        x: [num_nodes, width] sparse features.
        averages: each [num_nodes, num_nodes], the factors of a node's average: A, B, … for each group of relations.
        hops: their highest power.
        nodes: distinct.
    """

    x: csr_array
    averages: tuple[csr_array, ...]
    hops: int
    nodes: Tensor

    def to_dense(self) -> Tensor:
        """The rows as a dense tensor."""
        parts = [self.x[self.nodes.numpy()]]
        for a in self.averages:
            factors = a[self.nodes.numpy()]
            for _ in range(self.hops):
                parts.append(factors @ self.x)
                factors = factors @ a
        return torch.from_numpy(np.hstack([part.toarray() for part in parts]))

    def matmul(self, weight: Tensor) -> Tensor:
        """Multiply by a dense [width of the rows, channels] matrix: x W0 + A (x W1 + A (…)) + B (…)."""
        own, *weights = weight.chunk(1 + len(self.averages) * self.hops)
        out = SparseRows(self.x, self.nodes).matmul(own)
        for index, a in enumerate(self.averages):
            out = out + self._averaged(a, self.nodes, weights[index * self.hops : (index + 1) * self.hops])
        return out

    def _averaged(self, a: csr_array, nodes: Tensor, weights: list[Tensor]) -> Tensor:
        rows = a[nodes.numpy()]
        block, found = block_between(nodes.numpy(), rows.indptr, rows.indices, rows.shape[1], rows.data)
        senders = torch.from_numpy(found)
        products = SparseRows(self.x, senders).matmul(weights[0])
        if len(weights) > 1:
            products = products + self._averaged(a, senders, weights[1:])
        return gather_sum(products, block)


@dataclass(frozen=True, eq=False)
class RepeatedRows:
    """Rows of which some repeat: hubs are picked for many targets of a batch, but gathered and multiplied only once.

    Attributes:
        rows: the distinct rows.
        index: [n] the position of each row among them.
        repeats: the same with the fixed shape that a GPU needs, if the sampler provides it.
    """

    rows: "DistinctRows"
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
        out = product(self.rows, weight)
        return out.index_select(0, self.index) if self.repeats is None else expand(out, self.repeats)


DistinctRows: TypeAlias = Tensor | TableRows | SparseRows | AveragedRows
Rows: TypeAlias = DistinctRows | RepeatedRows


def dropped(x: Rows, nodes: Tensor, share: float, key: Key) -> Rows:
    """Set a share of the values to zero and scale the others up, as dropout does; repeated rows stay equal.

    Rows in every form lose values of the rows themselves: those of averages, not of what is averaged.

    Args:
        x: [n, width] rows.
        nodes: [n] the node of each row.
        share: in [0, 1).
        key: decides on a CPU which values of a node are dropped; a GPU reads torch's generator instead.
    """
    if not isinstance(x, RepeatedRows):
        return _dropped(x, nodes, share, key)
    if isinstance(x.rows, Tensor) and x.rows.device.type == "cpu":
        nodes = nodes.new_empty(x.rows.shape[0]).scatter_(0, x.index, nodes)
    return RepeatedRows(_dropped(x.rows, nodes, share, key), x.index, x.repeats)


def _dropped(x: DistinctRows, nodes: Tensor, share: float, key: Key) -> DistinctRows:
    threads = torch.get_num_threads()
    if isinstance(x, TableRows) and x.table.device.type == "cpu" and x.table.dtype == torch.float32:
        return dropout_gathered(x.table, x.width, x.nodes, share, key, threads=threads)
    if isinstance(x, TableRows | AveragedRows):
        nodes, x = x.nodes, x.to_dense()
    if isinstance(x, SparseRows):
        part = dropout_sparse(x.x, x.nodes, share, key, threads=threads)
        return SparseRows(part, torch.arange(part.shape[0]))
    if x.device.type == "cpu" and x.dtype == torch.float32:
        return dropout(x, nodes, share, key, threads=threads)
    return functional.dropout(x, share)


def product(x: Rows, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply by a dense [width, channels] matrix; for few channels, a CPU is faster with the matrix transposed."""
    if isinstance(x, Tensor) and x.device.type == "cpu" and weight.shape[1] <= _NARROW:
        return functional.linear(x, weight.t().contiguous(), bias)
    out = x.matmul(weight)
    return out if bias is None else out + bias


def is_sparse(x: Rows) -> bool:
    """Whether the rows are sparse, so that multiplying them is faster than converting them to dense rows."""
    return isinstance(x, SparseRows | AveragedRows) or (isinstance(x, RepeatedRows) and is_sparse(x.rows))


def num_bytes(x: Rows) -> int:
    """The memory of the rows themselves, once gathered; sparse rows are those of the whole matrix."""
    if isinstance(x, RepeatedRows):
        return num_bytes(x.rows) + x.index.nbytes
    if isinstance(x, TableRows):
        return x.nodes.numel() * x.width * x.table.itemsize
    return x.nbytes if isinstance(x, Tensor) else x.nodes.nbytes


def gathered(x: Rows) -> Rows:
    """The same rows, those of a table copied, which pays if they are multiplied often."""
    if isinstance(x, RepeatedRows) and isinstance(x.rows, TableRows):
        return replace(x, rows=x.rows.to_dense())
    return x.to_dense() if isinstance(x, TableRows) else x


def to_dense(x: Rows) -> Tensor:
    """The rows as a tensor."""
    return x if isinstance(x, Tensor) else x.to_dense()
