"""Feature scaling, fitted on training nodes and stored with the weights, so that new graphs are scaled the same way."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, dia_array, diags_array
from torch import Tensor

from mggcn._io import memory
from mggcn.data import Dataset, Features
from mggcn.errors import warn_caller
from mggcn.kernels import threads as threading
from mggcn.training._inputs import dense

Scaling = Literal["auto", "row", "root", "tfidf", "standard", "none"]

FITTED = {"standard": {"mean", "deviation"}, "tfidf": {"idf"}}
"""The arrays that a scaler of this kind has."""

_SUM_ROWS, _NAMED = 1 << 13, 10  # rows; features in a warning


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
    def fit(cls, kind: Scaling, dataset: Dataset) -> "Scaler":
        """Fit on the training nodes; ``auto`` is ``row`` if most values of the features are 0, else ``standard``."""
        if kind == "auto":
            kind = "row" if dataset.is_sparse else "standard"
        if kind not in ("standard", "tfidf") or dataset.split is None:
            return cls(kind)
        train = dataset.split.train
        if kind == "tfidf":
            return cls(kind, idf=_idf(dataset, train))

        def sums(start: int) -> NDArray[np.float64]:
            part = _dense(dataset.x[train[start : start + _SUM_ROWS]]).astype(np.float64)
            return np.stack([part.sum(axis=0), np.square(part).sum(axis=0)])

        with ThreadPoolExecutor(threading.available()) as pool:  # added in order, whatever the number of threads
            total, squares = sum(pool.map(sums, range(0, train.size, _SUM_ROWS)), np.zeros((2, dataset.num_features)))
        mean = total / train.size
        deviation = np.sqrt(np.maximum(squares / train.size - np.square(mean), 0))
        noise = 1e-6 * np.maximum(np.abs(mean), 1e-12)
        constant = np.flatnonzero(deviation <= noise)
        deviation[constant] = np.inf
        _warn_of_constant(dataset, constant, mean, noise)
        return cls(kind, mean.astype(np.float32), deviation.astype(np.float32))

    def apply(self, x: Features) -> Features:
        """Scale a matrix of the fitted width."""
        if self.kind == "row":
            return _normalise_rows(x)
        if self.kind == "root":
            return _roots(x)
        if self.idf is not None:
            return _unit_rows(x * self.idf if isinstance(x, np.ndarray) else x @ diags_array(self.idf))
        if self.mean is None or self.deviation is None:
            return x
        mean, deviation, out = self.mean, self.deviation, np.empty(x.shape, np.float32)

        def fill(start: int, stop: int) -> None:
            np.subtract(_dense(x[start:stop]), mean, out=out[start:stop])
            out[start:stop] /= deviation

        threading.over_ranges(fill, x.shape[0], chunk=_SUM_ROWS)
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
        if device not in self._copies:
            self._copies[device] = self._copied(device)
        return self._copies[device]

    def _copied(self, device: torch.device) -> Tensor:
        mean, deviation = self.scaler.mean, self.scaler.deviation
        if mean is None or deviation is None:
            return dense(self.whole).to(device)
        x = dense(self.features).to(device)
        return (x - torch.from_numpy(mean).to(device)).div_(torch.from_numpy(deviation).to(device))

    def rows(self, start: int, stop: int) -> Features:
        """The rows from ``start`` to ``stop``, bit-equal to those of the whole matrix."""
        return self.scaler.apply(self.features[start:stop])


def _normalise_rows(x: Features) -> Features:
    totals = np.asarray(x.sum(axis=1), dtype=np.float64).reshape(-1)
    return _scale_rows(x, np.divide(1.0, totals, out=np.zeros_like(totals), where=totals != 0))


def _scale_rows(x: Features, factors: NDArray[np.float64]) -> Features:
    if isinstance(x, np.ndarray):
        return (x * factors[:, None]).astype(np.float32)
    n = x.shape[0]
    return csr_array((dia_array((factors[None, :], [0]), shape=(n, n)) @ x).astype(np.float32))


def _warn_of_constant(
    dataset: Dataset, columns: NDArray[np.intp], mean: NDArray[np.float64], noise: NDArray[np.float64]
) -> None:
    """Name the columns that are constant on the training nodes, if they are not on all others."""
    varies = np.zeros(columns.size, bool)
    for start in range(0, dataset.num_nodes, _SUM_ROWS):
        if varies.all():
            break
        part = _dense(dataset.x[start : start + _SUM_ROWS][:, columns])
        varies |= (np.abs(part - mean[columns]) > noise[columns]).any(axis=0)
    if varies.any():
        names = [dataset.feature_names[i] if dataset.feature_names else str(i) for i in columns[varies]]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        warn_caller(
            f"{dataset.name}: {len(names)} feature{'s' * (len(names) > 1)} not used, which all training nodes have the "
            f"same value of, but others do not: {', '.join(names[:_NAMED])}{more}"
        )


def _idf(dataset: Dataset, train: NDArray[np.int64]) -> NDArray[np.float32]:
    """The logarithm of the inverse share of the training nodes that have a nonzero value in each column, plus 1."""
    counts = np.zeros(dataset.num_features)
    for start in range(0, train.size, _SUM_ROWS):
        part = dataset.x[train[start : start + _SUM_ROWS]]
        counts += np.asarray((part != 0).sum(axis=0)).reshape(-1)
    return (np.log((1 + train.size) / (1 + counts)) + 1).astype(np.float32)


def _roots(x: Features) -> Features:
    """The roots of the absolute values, with their signs, in rows of length 1."""
    if isinstance(x, np.ndarray):
        return _unit_rows(np.sign(x) * np.sqrt(np.abs(x)))
    roots = x.copy()
    roots.data = np.sign(x.data) * np.sqrt(np.abs(x.data))
    return _unit_rows(roots)


def _unit_rows(x: Features) -> Features:
    squares = (x * x) if isinstance(x, np.ndarray) else x.multiply(x)
    lengths = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).reshape(-1))
    return _scale_rows(x, np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths != 0))


def _dense(x: Features) -> NDArray[np.float32]:
    return x if isinstance(x, np.ndarray) else np.asarray(x.toarray(), dtype=np.float32)
