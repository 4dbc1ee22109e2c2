"""Arrays that nobody can write to, and their checksums, which are computed once for each array.

Data sets and graphs are checked when they are created, and kernels rely on it. So their arrays are read-only, and
not memory that somebody else can write to.
"""

import hashlib
import io
import logging
import math
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Array = TypeVar("Array", bound=NDArray[Any])

_log = logging.getLogger(__name__)

_BLOCK = 1 << 24  # bytes that are converted and hashed at a time

_checksums: dict[int, tuple["weakref.ref[NDArray[Any]]", str]] = {}  # by the identity of the array


def read_only(array: Array) -> Array:
    """The array if nobody can write to its memory, else a copy that nobody can write to."""
    return locked(cast("Array", np.array(array)) if any(part.flags.writeable for part in _bases(array)) else array)


def locked(array: Array) -> Array:
    """Make an array read-only in place, with all arrays that it is a view of; nobody else may use their memory."""
    for part in _bases(array):
        part.flags.writeable = False
    return array if isinstance(array.base, np.ndarray) else array.view()  # the flag of a view cannot be set again


def shared_tensor(array: NDArray[Any]) -> "Tensor":
    """A tensor in the memory of an array, which must not be written to: torch has no read-only tensors."""
    import torch

    return torch.from_numpy(array if array.flags.writeable else np.asarray(_Writable(array)))


def checksum(array: NDArray[Any], stored: Callable[[NDArray[Any]], NDArray[Any]] = lambda array: array) -> str:
    """The sha256 of the ``.npy`` file of ``stored(array)``, which is computed once if the array is read-only."""
    known = _checksums.get(id(array))
    if known is not None and known[0]() is array and not array.flags.writeable:
        return known[1]
    written = stored(array)
    content = hashlib.sha256(header(written.dtype, written.shape))
    for block in blocks(written):
        content.update(block)
    _log.debug("hashed an array of %s %s", array.dtype, list(array.shape))
    remember(array, content.hexdigest())
    return content.hexdigest()


def remember(array: NDArray[Any], sha256: str) -> None:
    """Keep the checksum of a read-only array for as long as the array exists."""
    if not array.flags.writeable:
        key = id(array)
        _checksums[key] = (weakref.ref(array, lambda _: _checksums.pop(key, None)), sha256)


def compact_text(array: NDArray[Any]) -> NDArray[Any]:
    """Text as bytes if it is ASCII, which needs a quarter of the space; other arrays as they are."""
    if array.dtype.kind not in "US":
        return array
    try:
        return array.astype(np.bytes_)
    except UnicodeEncodeError:
        return array


def blocks(array: NDArray[Any]) -> Iterator[bytes]:
    """The values of an array as in a ``.npy`` file, some rows at a time."""
    step = max(_BLOCK // max(array.dtype.itemsize * math.prod(array.shape[1:]), 1), 1)
    for start in range(0, array.shape[0], step):
        yield array[start : start + step].tobytes()


def header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """What precedes the values in a ``.npy`` file."""
    content = io.BytesIO()
    descr = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(content, {"descr": descr, "fortran_order": False, "shape": shape})
    return content.getvalue()


class _Writable:
    """The memory of an array by numpy's array interface, which says that it can be written to."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def _bases(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """An array and the arrays that it is a view of."""
    part: Any = array
    while isinstance(part, np.ndarray):
        yield part
        part = part.base
