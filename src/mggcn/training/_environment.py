"""The environment of a run: versions, machine, commit, and the memory it used."""

import ctypes
import gc
import os
import platform
import resource
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from mggcn._io import memory

_PACKAGES = ("mggcn", "torch", "numpy", "numba", "scipy", "scikit-learn")


def describe() -> dict[str, Any]:
    """Versions, machine and commit, ready for JSON."""
    machine = {"platform": platform.platform(), "processor": processor(), "cores": os.cpu_count()}
    return versions() | machine | {"commit": commit()}


def versions() -> dict[str, Any]:
    """The versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version(), "packages": {name: version(name) for name in _PACKAGES}}


@cache
def commit() -> str | None:
    """The commit of the source tree that the package runs from, ``+`` for local changes; None outside a checkout."""
    package = Path(__file__).resolve().parents[1]

    def git(*arguments: str) -> str:
        command = ["git", "--no-optional-locks", "-C", str(package), *arguments]  # a killed one leaves no lock
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603

    try:
        if package != Path(git("rev-parse", "--show-toplevel")) / "src" / "mggcn":
            return None
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def version(package: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """The model of the processor; may be empty."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def reset_peak(device: torch.device) -> None:
    """Free what is no longer used, and measure the peak memory from here on.

    Free memory is first returned to the system, so that a small run does not inherit the peak of an earlier large one.
    """
    gc.collect()
    if device.type == "cuda":
        torch._C._cuda_clearCublasWorkspaces()  # noqa: SLF001  (kept for every stream that earlier runs used)
    restart_peak(device)


def restart_peak(device: torch.device) -> None:
    """Do the same without a search for objects that are no longer used, which takes a fifth of a second."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    with suppress(AttributeError):  # not every C library has it
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak(device: torch.device) -> int:
    """The most bytes since the last reset: of tensors on the GPU, or resident of the process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    ever = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return memory.field_bytes("/proc/self/status", "VmHWM:") or ever
