"""Planetoid's Python 2 pickles, read by an unpickler that accepts six names and refuses all others.

A pickle can call anything that it names. These files name parts of NumPy arrays, SciPy's CSR matrix and two containers.
The CSR matrix becomes an object with its fields only, so that no code of SciPy's own unpickling runs.
"""

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mggcn.dataset import csr_parts
from mggcn.errors import InputError, first_line, prefix_errors


class _Fields:
    """The fields of a pickled csr_matrix, as attributes."""


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("scipy.sparse.csr", "csr_matrix"): _Fields,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise InputError(f"pickle names {module}.{name}, which no data file needs; not read") from None

    def persistent_load(self, pid: Any) -> Any:
        raise InputError(f"pickle names the external object {pid!r}; not read")


def read(path: Path) -> Any:
    """Read one pickle of arrays, CSR matrices (as :class:`csr_array`), lists and dictionaries."""
    with prefix_errors(path), path.open("rb") as file:
        try:
            value = _Unpickler(file, encoding="latin1").load()
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - a damaged pickle can raise almost anything
            raise InputError(f"not a readable pickle ({first_line(error)})") from None
        return _csr(vars(value)) if isinstance(value, _Fields) else value


def _csr(fields: dict[str, Any]) -> csr_array:
    try:
        data, indices, indptr = (np.asarray(fields[name]) for name in ("data", "indices", "indptr"))
        rows, columns = map(int, fields["_shape"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"pickled matrix lacks a part ({first_line(error)})") from None
    return csr_parts(data, indices, indptr, (rows, columns))
