"""Feature scaling, fitted on training nodes and stored with the weights, so that new graphs are scaled the same way."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from torch import Tensor

from mggcn._io import memory
from mggcn._io.arrays import shared_tensor
from mggcn.data import Dataset, Features
from mggcn.errors import warn_caller
from mggcn.kernels import threads as threading

Scaling = Literal["auto", "row", "root", "tfidf", "standard", "none"]

FITTED = {"standard": {"mean", "deviation"}, "tfidf": {"idf"}}
"""The arrays that a scaler of this kind has."""

_SUM_ROWS, _NAMED = 1 << 13, 10  # rows that are read at a time; features in a warning


@dataclass(frozen=True, eq=False)
class Scaler:
    """The scaling of the features before a model receives them.

    Attributes:
        kind: ``row`` makes each row sum to 1, ``root`` takes the roots of such a row, ``tfidf`` weighs columns that few
            training nodes have more and gives rows length 1, ``standard`` gives each column mean 0 and deviation 1 on
            the training nodes, or 0 on all nodes if it is constant on these; ``none`` changes nothing.
        mean: [num_features] for ``standard``, else None.
        deviation: [num_features] for ``standard``, else None; infinite for a constant column.
        idf: [num_features] the weight of each column for ``tfidf``, else None.
    """

    kind: Scaling
    mean: NDArray[np.float32] | None = None
    deviation: NDArray[np.float32] | None = None
    idf: NDArray[np.float32] | None = None

    @classmethod
    def fit(cls, kind: Scaling, dataset: Dataset, *, sum_rows: int = _SUM_ROWS) -> "Scaler":
        """Fit on the training nodes; ``auto`` is ``row`` if most values of the features are 0, else ``standard``.

        Nodes of other types than the targets count as training nodes: these do not have their features. Sums are added
        up over ``sum_rows`` nodes at a time, which decides their last digits.
        """
        if kind == "auto":
            kind = "row" if dataset.is_sparse else "standard"
        if kind not in FITTED or dataset.split is None:
            return cls(kind)
        train = np.concatenate([dataset.split.train, np.arange(dataset.num_nodes - dataset.others, dataset.num_nodes)])
        parts = [train[start : start + sum_rows] for start in range(0, train.size, sum_rows)]
        if kind == "tfidf":
            counts = sum(np.asarray((dataset.x[part] != 0).sum(axis=0)).reshape(-1) for part in parts)
            return cls(kind, idf=(np.log((1 + train.size) / (1 + counts)) + 1).astype(np.float32))

        def sums(part: NDArray[np.int64]) -> NDArray[np.float64]:
            x = dense_array(dataset.x[part]).astype(np.float64)
            return np.stack([x.sum(axis=0), np.square(x).sum(axis=0)])

        with ThreadPoolExecutor(threading.available()) as pool:  # added in order, whatever the number of threads
            total, squares = sum(pool.map(sums, parts), np.zeros((2, dataset.num_features)))
        mean = total / train.size
        deviation = np.sqrt(np.maximum(squares / train.size - np.square(mean), 0))
        noise = 1e-6 * np.maximum(np.abs(mean), 1e-12)
        constant = np.flatnonzero(deviation <= noise)
        deviation[constant] = np.inf
        _warn_of_constant(dataset, constant, mean[constant], noise[constant])
        return cls(kind, mean.astype(np.float32), deviation.astype(np.float32))

    def apply(self, x: Features, *, chunk: int = _SUM_ROWS) -> Features:
        """Scale a matrix of the fitted width; a thread scales ``chunk`` rows at a time."""
        if self.kind == "row":
            return _divided(x, _row_sums(x))
        if self.kind == "root":
            return _unit_rows(
                np.sign(x) * np.sqrt(np.abs(x)) if isinstance(x, np.ndarray) else x.sign() * abs(x).sqrt()
            )
        if self.idf is not None:
            return _unit_rows(x * self.idf if isinstance(x, np.ndarray) else x @ diags_array(self.idf))
        if self.mean is None or self.deviation is None:
            return x
        mean, deviation, out = self.mean, self.deviation, np.empty(x.shape, np.float32)

        def fill(start: int, stop: int) -> None:
            np.subtract(dense_array(x[start:stop]), mean, out=out[start:stop])
            out[start:stop] /= deviation

        threading.over_ranges(fill, x.shape[0], chunk=chunk)
        return out

    @property
    def digest(self) -> str:
        """A hash of the scaling: equal for equal results."""
        arrays = (self.mean, self.deviation, self.idf)
        values = b"".join(b"-" if array is None else array.tobytes() for array in arrays)
        return hashlib.sha256(self.kind.encode() + values).hexdigest()


@dataclass(frozen=True, eq=False)
class Scaled:
    """The features of a data set with their scaling, which is applied when they are read."""

    features: Features
    scaler: Scaler
    _copies: dict[torch.device, Tensor] = field(default_factory=dict, repr=False)

    @cached_property
    def whole(self) -> Features:
        """[num_nodes, num_features] in memory, unless they are as they are stored."""
        if self.scaler.kind != "none" and isinstance(self.features, np.ndarray):
            rows, columns = self.features.shape
            memory.require(self.features.nbytes, f"scaled features of {rows:,} nodes, {columns:,} each")
        return self.scaler.apply(self.features)

    def on(self, device: torch.device) -> Tensor:
        """The whole matrix on a GPU, where it is scaled if that means to scale its columns; copied there once."""
        mean, deviation = self.scaler.mean, self.scaler.deviation
        if device not in self._copies and mean is not None and deviation is not None:
            x = dense(self.features).to(device)
            self._copies[device] = (x - torch.from_numpy(mean).to(device)).div_(torch.from_numpy(deviation).to(device))
        elif device not in self._copies:
            self._copies[device] = dense(self.whole).to(device)
        return self._copies[device]

    def rows(self, start: int, stop: int) -> Features:
        """The rows from ``start`` to ``stop``, bit-equal to those of the whole matrix."""
        return self.scaler.apply(self.features[start:stop])


def _row_sums(x: Features) -> NDArray[np.float64]:
    return np.asarray(x.sum(axis=1), dtype=np.float64).reshape(-1)


def _unit_rows(x: Features) -> Features:
    """Rows of length 1."""
    return _divided(x, np.sqrt(_row_sums(x * x)))


def _divided(x: Features, divisors: NDArray[np.float64]) -> Features:
    """Rows divided by numbers; those of the number 0 become 0."""
    factors = np.divide(1.0, divisors, out=np.zeros_like(divisors), where=divisors != 0)
    if isinstance(x, np.ndarray):
        return (x * factors[:, None]).astype(np.float32)
    return csr_array((diags_array(factors) @ x).astype(np.float32))


def _warn_of_constant(
    dataset: Dataset, columns: NDArray[np.intp], mean: NDArray[np.float64], noise: NDArray[np.float64]
) -> None:
    """Name the columns that are constant on the training nodes, if they are not on all others.

    Flags with phrases of their own, such as the roles of accounts, are not named: no user has given them.
    """
    flags = {name for name, measure in dataset.measures.items() if measure.zero}
    named = np.array([not flags.intersection(dataset.feature_names[i : i + 1]) for i in columns.tolist()], bool)
    columns, mean, noise = columns[named], mean[named], noise[named]
    varies = np.zeros(columns.size, bool)
    for start in range(0, 0 if varies.all() else dataset.num_nodes, _SUM_ROWS):
        part = dense_array(dataset.x[start : start + _SUM_ROWS][:, columns])
        varies |= (np.abs(part - mean) > noise).any(axis=0)
    if varies.any():
        names = [dataset.feature_names[i] if dataset.feature_names else str(i) for i in columns[varies]]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        shown = ", ".join(names[:_NAMED]) + more
        warn_caller(f"{dataset.name}: features with one value on all training nodes are not used: {shown}")


def dense(part: Features) -> Tensor:
    """A feature matrix as a dense tensor in memory."""
    return shared_tensor(dense_array(part))


def dense_array(part: Features) -> NDArray[np.float32]:
    """A feature matrix as a dense array in memory."""
    return part if isinstance(part, np.ndarray) else np.asarray(part.toarray(), np.float32)
