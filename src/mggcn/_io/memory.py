"""The memory and the disks of the machine: what is free, and errors for what needs more, before it is allocated."""

import re
import resource
import shutil
from pathlib import Path

from mggcn.errors import InputError

_FEW = 1 << 26  # bytes that are allocated without asking the system
_FOR_LIBRARIES = 768 << 20  # scikit-learn, the buffers of OpenBLAS, and compiled kernels; measured: 610 MiB
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_TORCH = "DefaultCPUAllocator: can't allocate memory: you tried to allocate "
_LOADING = ("failed to map segment", "cannot allocate memory")


def available() -> int | None:
    """The bytes that this process can still allocate; None where the system does not report it."""
    free = field_bytes("/proc/meminfo", "MemAvailable:")
    limits = [limit for limit in (free, _below_ulimit(), _below_cgroup()) if limit is not None]
    return max(0, min(limits)) if limits else None


def require(num_bytes: int, what: str) -> None:
    """Raise InputError if ``num_bytes`` cannot be allocated; it names ``what`` needs them."""
    if num_bytes < _FEW:
        return
    free = available()
    if free is not None and num_bytes > free:
        raise InputError(f"{what}: needs {size(num_bytes)} of memory, and {size(free)} are available")


def require_address_space() -> None:
    """Raise InputError if ``ulimit -v`` leaves too little for the libraries that training loads.

    Where OpenBLAS cannot map its buffers, it tries again without end, and no signal reaches Python.
    """
    left = _below_ulimit()
    if left is not None and left < _FOR_LIBRARIES:
        raise InputError(f"ulimit -v: {size(max(0, left))} are left, and libraries need {size(_FOR_LIBRARIES)}")


def disk(folder: Path) -> tuple[int, int]:
    """The number of the disk of a folder, which may not be there yet, and its free bytes."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return existing.stat().st_dev, shutil.disk_usage(existing).free


def amount(text: str, option: str = "memory") -> int:
    """Read a number of bytes such as ``4GB`` or ``512MiB``; errors name the option."""
    parts = re.fullmatch(r"([0-9]+(?:[.][0-9]+)?) ?([KMGT])(i?)B?", text.strip(), re.IGNORECASE)
    if parts is None:
        raise InputError(f"{option}: {text!r} is not an amount of memory such as 4GB")
    unit = (1024 if parts[3] else 1000) ** (1 + "KMGT".index(parts[2].upper()))
    return int(float(parts[1]) * unit)


def size(num_bytes: int) -> str:
    """A number of bytes in a readable unit."""
    value, unit = float(num_bytes), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:,.1f}".removesuffix(".0") + f" {_UNITS[unit]}"


def shortage(error: BaseException) -> str:
    """What could not be allocated, as a line, if an error is a lack of memory; else empty."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return text or "an allocation failed"
    if isinstance(error, RuntimeError) and _TORCH in text:
        return f"Unable to allocate {size(int(text.partition(_TORCH)[2].split()[0]))}"
    if isinstance(error, RuntimeError) and "out of memory" in text:
        return text
    if isinstance(error, ImportError) and any(part in text.lower() for part in _LOADING):
        return f"a library cannot be loaded ({text})"
    left = _below_ulimit()
    if isinstance(error, SystemError | ImportError | RuntimeError) and left is not None and left < _FEW:
        return f"{size(left)} are left of what ulimit -v allows"
    return ""


def _below_ulimit() -> int | None:
    """What ``ulimit -v`` leaves of the address space."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = field_bytes("/proc/self/status", "VmSize:")
    return None if limit == resource.RLIM_INFINITY or used is None else limit - used


def _below_cgroup() -> int | None:
    """What the limit of a container leaves; cached files do not count, as they make room."""
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        counts = dict(line.split() for line in Path("/sys/fs/cgroup/memory.stat").read_text().splitlines())
        return limit - int(counts["anon"])
    except (OSError, ValueError, KeyError):
        return None


def field_bytes(path: str, field: str) -> int | None:
    """The bytes of a field that a file of Linux gives in KiB; None elsewhere."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), None)
