"""The limits of the machine: the rates of reading memory, copying memory and multiplying matrices."""

from functools import partial

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray

from mggcn.bench import _clock
from mggcn.kernels import threads as threading

_BYTES = 1 << 29
_CHUNK = 1 << 22
_SIDE = 8192


@njit(nogil=True, cache=True, fastmath=True)  # type: ignore[untyped-decorator]
def _sum(values: NDArray[np.float32], start: int, stop: int) -> np.float32:
    total = np.float32(0)
    part = values[start:stop]
    for i in range(part.size):
        total += part[i]
    return total


def read_rates(repeats: int, threads: int) -> list[float]:
    """Bytes per second of reading a large array from start to end, one value per repeat."""
    values = np.ones(_BYTES // 4, np.float32)
    read = partial(threading.over_ranges, partial(_sum, values), values.size, chunk=_CHUNK, threads=threads)
    seconds = _clock.rounds({"read": read}, repeats, torch.device("cpu"))["read"]
    return [values.nbytes / value for value in seconds]


def copy_rates(repeats: int, device: torch.device) -> list[float]:
    """Bytes per second, read and written, of copying a large array inside the device."""
    source = torch.ones(_BYTES, dtype=torch.int32, device=device)
    target = torch.empty_like(source)
    seconds = _clock.rounds({"copy": partial(target.copy_, source)}, repeats, device)["copy"]
    return [2 * source.nbytes / value for value in seconds]


def product_rates(repeats: int, device: torch.device, *, tf32: bool) -> list[float]:
    """Operations per second of a large float32 product, with or without tf32."""
    left, right = (torch.randn(_SIDE, _SIDE, device=device) for _ in range(2))
    out = torch.empty_like(left)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    try:
        seconds = _clock.rounds({"product": partial(torch.mm, left, right, out=out)}, repeats, device)["product"]
    finally:
        torch.set_float32_matmul_precision(before)
    return [2 * _SIDE**3 / value for value in seconds]
