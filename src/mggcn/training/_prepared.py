"""What the training loop needs: a model, and the input rows and samplers that it trains and is scored with."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import torch
from scipy.sparse import csr_array, hstack, vstack
from torch import Tensor, nn

from mggcn._io.mapping import MappedRows, is_too_large
from mggcn.block import Batch, Nodes, Repeats, Sampler
from mggcn.data import Dataset, Features, Split
from mggcn.errors import InputError
from mggcn.kernels.relabel import distinct
from mggcn.keys import Key
from mggcn.nn import Layer
from mggcn.nn.rows import AveragedRows, RepeatedRows, Rows, SparseRows, TableRows, gathered, num_bytes, to_dense
from mggcn.training._compute import Compute
from mggcn.training._scaling import Scaler, dense
from mggcn.training._training import Training

DENSE_ABOVE = 0.15
"""Rows with a larger share of values other than 0 are dense."""
_CSR_ENTRY, _ROWS = 8, 1 << 16  # bytes; rows that are converted at once
_COPIES = 4  # joining copies what views would share, so there has to be room for this many joined matrices
_AHEAD = 4  # batches
_KEPT_SHARE = 8  # kept rows take at most an eighth of the free memory


class Inputs(Protocol):
    """A matrix with one row per node."""

    def rows(self, nodes: Tensor, repeats: Repeats | None = None) -> Rows:
        """The rows of ``nodes``, on the device of the inputs; ``repeats``, if known, saves some work."""


@dataclass(frozen=True, eq=False)
class DenseInputs:
    """Dense rows on one device: one matrix, or on a CPU with little memory several side by side, which views share.

    Rows that do not fit on a GPU stay on the CPU; those of a batch are gathered in pinned memory and copied.
    """

    parts: tuple[Tensor, ...]
    mapped: tuple[MappedRows, ...] = ()  # the parts that are in mapped files and may not stay in memory
    padding: int = 0  # columns of zeros at the end
    copied_to: torch.device | None = None  # the GPU that rows of a batch are copied to

    @classmethod
    def on_gpu(cls, parts: list[Tensor], dtype: torch.dtype) -> "DenseInputs":
        """Matrices on a GPU side by side; zeros let every row start at a multiple of 16 bytes, for faster products."""
        padding = -sum(part.shape[1] for part in parts) % (16 // dtype.itemsize)
        zeros = [parts[0].new_zeros(parts[0].shape[0], padding)] if padding else []
        return cls((torch.cat([part.to(dtype) for part in [*parts, *zeros]], dim=1),), padding=padding)

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(part.shape[1] for part in self.parts) - self.padding

    def rows(self, nodes: Tensor, repeats: Repeats | None = None) -> Tensor | TableRows | RepeatedRows:
        """[n, width]; on a GPU repeated rows are merged only if ``repeats`` says which, so that shapes stay fixed."""
        table, gpu = self.parts[0], self.copied_to
        if gpu is not None:
            found, index = _distinct(nodes.cpu(), table.shape[0])
            pinned = torch.empty(found.numel(), self.width, dtype=table.dtype, pin_memory=True)
            return RepeatedRows(self.gather(found, pinned).to(gpu, non_blocking=True), index.to(gpu))
        if repeats is not None:
            return RepeatedRows(TableRows(table, repeats.nodes, self.width), repeats.index, repeats)
        if self.padding or table.device.type != "cpu":
            return TableRows(table, nodes.to(table.device), self.width)
        if len(self.parts) == 1 and _is_all(nodes, table.shape[0]):
            return table
        found, index = _distinct(nodes, table.shape[0])
        rows: Tensor | TableRows = TableRows(table, found, self.width)
        if len(self.parts) > 1:
            rows = self.gather(found, table.new_empty(found.numel(), self.width))
        return rows if found.numel() == nodes.numel() else RepeatedRows(rows, index)

    def gather(self, nodes: Tensor, out: Tensor) -> Tensor:
        """Fill ``out`` [n, width] with the rows of ``nodes``, all parts side by side, on the CPU."""
        if len(self.parts) == 1:
            return torch.index_select(self.parts[0], 0, nodes, out=out)
        shares = torch.split(out, [part.shape[1] for part in self.parts], dim=1)
        for part, share in zip(self.parts, shares, strict=True):
            torch.index_select(part, 0, nodes, out=share)
        return out


@dataclass(frozen=True, eq=False)
class MultipliedRows(TableRows):
    """Some rows of a matrix on a CPU whose products with the weights of a model are those of the whole matrix."""

    products: dict[nn.Parameter, Tensor]

    def matmul(self, weight: Tensor) -> Tensor:
        """Multiply by a dense [width, channels] matrix, all rows of the matrix at the first time."""
        if not isinstance(weight, nn.Parameter):
            return self.to_dense() @ weight
        if weight not in self.products:
            self.products[weight] = self.table @ weight
        return self.products[weight].index_select(0, self.nodes)


@dataclass(frozen=True, eq=False)
class MultipliedInputs:
    """Dense rows, which a model multiplies whose weights do not change."""

    table: Tensor
    products: dict[nn.Parameter, Tensor] = field(default_factory=dict)

    def rows(self, nodes: Tensor, repeats: Repeats | None = None) -> RepeatedRows:  # noqa: ARG002
        """The rows of ``nodes``."""
        found, index = _distinct(nodes, self.table.shape[0])
        return RepeatedRows(MultipliedRows(self.table, found, self.table.shape[1], self.products), index)


@dataclass(frozen=True, eq=False)
class SparseInputs:
    """Sparse rows, on the CPU."""

    x: csr_array

    def rows(self, nodes: Tensor, repeats: Repeats | None = None) -> SparseRows | RepeatedRows:  # noqa: ARG002
        """The rows of ``nodes``."""
        if _is_all(nodes, self.x.shape[0]):
            return SparseRows(self.x, nodes.cpu())
        found, index = _distinct(nodes.cpu(), self.x.shape[0])
        return RepeatedRows(SparseRows(self.x, found), index.to(nodes.device))


@dataclass(frozen=True, eq=False)
class AveragedInputs:
    """Sparse features and their averages, on the CPU: see :class:`mggcn.nn.rows.AveragedRows`."""

    x: csr_array  # [num_nodes, num_features]
    averages: tuple[csr_array, ...]  # each [num_nodes, num_nodes], the factors of the averages
    hops: int  # their highest power

    def rows(self, nodes: Tensor, repeats: Repeats | None = None) -> RepeatedRows:  # noqa: ARG002
        """The rows of ``nodes``."""
        found, index = _distinct(nodes.cpu(), self.x.shape[0])
        return RepeatedRows(AveragedRows(self.x, self.averages, self.hops, found), index)


def is_read_dense(dataset: Dataset) -> bool:
    """Whether methods read the features as dense rows: that depends on their density, not on how they were given.

    Only a matrix that memory does not hold in its other form stays as it is.
    """
    is_given, is_dense = isinstance(dataset.x, np.ndarray), dataset.density >= DENSE_ABOVE
    entry = 4 if is_dense else _CSR_ENTRY * dataset.density
    return is_given if is_too_large(int(entry * dataset.num_nodes * dataset.num_features)) else is_dense


def features_by_density(dataset: Dataset) -> Features:
    """The features as dense rows or as CSR without zeros, see :func:`is_read_dense`; as they are if that fits."""
    x, is_dense = dataset.x, is_read_dense(dataset)
    if isinstance(x, np.ndarray):
        if is_dense:
            return x
        return vstack([csr_array(x[start : start + _ROWS]) for start in range(0, x.shape[0], _ROWS)], format="csr")
    if is_dense:
        return np.asarray(x.toarray())
    if np.count_nonzero(x.data) < x.nnz:
        x = csr_array(x, copy=True)
        x.eliminate_zeros()
    return x


def inputs_of(parts: list[Features], compute: Compute) -> Inputs:
    """Matrices side by side: on the GPU if they fit, else sparse if most entries are zero, else dense."""
    if compute.holds(4 * sum(part.shape[0] * part.shape[1] for part in parts)):
        return DenseInputs.on_gpu([dense(part).to(compute.device) for part in parts], compute.dtype)
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if not arrays:
        sparse = csr_array(hstack(parts, format="csr"))
        if sparse.nnz < DENSE_ABOVE * sparse.shape[0] * sparse.shape[1]:
            sparse.sort_indices()
            return SparseInputs(sparse)
    is_large = is_too_large(sum(array.nbytes for array in arrays))
    mapped = [rows for array in arrays if (rows := MappedRows.of(array)) is not None] if is_large else []
    tables = [dense(part) for part in parts]
    if len(tables) > 1 and not is_too_large(_COPIES * sum(table.nbytes for table in tables)):
        # in an array of numpy, which asks the system for huge pages: rows are found faster there
        joined = np.empty((tables[0].shape[0], sum(table.shape[1] for table in tables)), np.float32)
        tables = [torch.cat(tables, dim=1, out=torch.from_numpy(joined))]
    return DenseInputs(tuple(tables), tuple(mapped), copied_to=None if compute.device.type == "cpu" else compute.device)


def _distinct(nodes: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    found, index = distinct(nodes.numpy(), num_nodes)
    return torch.from_numpy(found), torch.from_numpy(index)


def _is_all(nodes: Tensor, count: int) -> bool:
    return nodes.numel() == count and torch.equal(nodes, torch.arange(count, dtype=nodes.dtype, device=nodes.device))


@dataclass(frozen=True, eq=False)
class View:
    """A graph as a model receives it: input rows and the batches over them."""

    inputs: Inputs
    sampler: Sampler

    def __post_init__(self) -> None:
        if not isinstance(self.sampler, Sampler):
            raise InputError(f"{type(self.sampler).__name__}: not a mggcn.block.Sampler, which is the base of samplers")

    def rows(self, model: nn.Module, batch: Batch) -> Rows:
        """The input rows of a batch: a dense tensor, unless the model is a Layer that accepts others."""
        rows = self.inputs.rows(batch.nodes, batch.repeats)
        return rows if isinstance(model, Layer) and model.accepts_rows else to_dense(rows)

    def batches(self, nodes: Nodes, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over nodes; see :meth:`mggcn.block.Sampler.batches`."""
        targets = np.array(nodes) if isinstance(nodes, np.ndarray) else nodes  # samplers make tensors of them
        return self.prefetched(self.sampler.batches(targets, key, batch_size))

    def prefetched(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The same batches; rows that are in mapped files are read in the background some batches ahead.

        A sampler that draws whole batches may read the model, so its next batch is not drawn before it is needed.
        """
        if not self._mapped:
            yield from batches
            return
        waiting: deque[Batch] = deque()
        for batch in batches:
            for rows in self._mapped:
                rows.prefetch(batch.nodes.cpu().numpy())
            waiting.append(batch)
            if len(waiting) > (_AHEAD if self.sampler.draws_per_target else 0):
                yield waiting.popleft()
        yield from waiting

    def multiplied(self, count: int) -> "View":
        """This view for a model that accepts rows and whose weights do not change, to score so many targets.

        If the graph has fewer nodes and its rows are in memory, each is multiplied once, not in every batch.
        """
        inputs = self.inputs
        if not isinstance(inputs, DenseInputs) or inputs.mapped or inputs.padding or len(inputs.parts) > 1:
            return self
        (table,) = inputs.parts
        if count < table.shape[0] or table.device.type != "cpu" or inputs.copied_to is not None:
            return self
        return View(MultipliedInputs(table), self.sampler)

    def kept(self, compute: Compute) -> "View":
        """This view for passes that repeat: their batches and rows are kept if the sampler and memory allow."""
        stays = self.sampler.draws_per_target or self.sampler.one_batch
        free = compute.free_bytes()
        if not stays or free is None or self._mapped:
            return self
        return KeptView(self.inputs, self.sampler, free // _KEPT_SHARE)

    @property
    def _mapped(self) -> tuple[MappedRows, ...]:
        """The input rows that are in mapped files."""
        return self.inputs.mapped if isinstance(self.inputs, DenseInputs) else ()


@dataclass(frozen=True, eq=False)
class KeptView(View):
    """A view that keeps the batches of each pass, and input rows of at most ``budget`` bytes."""

    budget: int
    _batches: dict[tuple[int, int, bytes], list[Batch]] = field(default_factory=dict, repr=False)
    _rows: dict[Batch, Rows] = field(default_factory=dict, repr=False)

    def batches(self, nodes: Nodes, key: Key, batch_size: int) -> Iterator[Batch]:
        """The same batches for the same nodes, key and batch size."""
        name = (key.value, batch_size, nodes.tobytes())
        if name not in self._batches:
            self._batches[name] = [*super().batches(nodes, key, batch_size)]
        return iter(self._batches[name])

    def rows(self, model: nn.Module, batch: Batch) -> Rows:
        """The input rows of a batch, gathered once."""
        if batch in self._rows:
            return self._rows[batch]
        rows = super().rows(model, batch)
        if sum(num_bytes(kept) for kept in (*self._rows.values(), rows)) <= self.budget:
            rows = self._rows[batch] = gathered(rows)
        return rows


@dataclass(frozen=True, eq=False)
class Views:
    """The views that a model trains on and is scored on, and lines for the user on how they were made."""

    train: View
    eval: View
    notes: tuple[str, ...] = ()

    @classmethod
    def same(cls, view: View, notes: tuple[str, ...] = ()) -> "Views":
        """One view for training and scoring."""
        return cls(view, view, notes)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model with the view it trains on, the view it is scored on, the scaling of the features, and notes on them."""

    model: nn.Module
    train: View
    eval: View
    scaler: Scaler
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Fit:
    """A model that is trained on a data set: what the loop, evaluation, testing and probing share.

    Attributes:
        prepared: the model and its views.
        dataset: has a split.
        training: the settings.
        key: of all random numbers.
        compute: the device, precision, threads and ranks.
    """

    prepared: Prepared
    dataset: Dataset
    training: Training
    key: Key
    compute: Compute

    @property
    def model(self) -> nn.Module:
        """The model."""
        return self.prepared.model

    @property
    def split(self) -> Split:
        """The split of the data set."""
        return self.dataset.require_split()


class Penalised(NamedTuple):
    """What a model may return in training instead of its scores: the scores, and a term to add to the loss."""

    scores: Tensor
    penalty: Tensor
