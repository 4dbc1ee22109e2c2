"""What an installation consists of: packages, devices, threads, data roots and caches."""

import os
import platform
import re
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import torch

from mggcn import data as datasets
from mggcn.cli.doctor_kernels import KernelCheck, check_kernels
from mggcn.data import data_roots, user_cache
from mggcn.kernels import threads
from mggcn.kernels.gather_sum import sums
from mggcn.training import _environment as environment

_PACKAGE = "mggcn"


@dataclass(frozen=True)
class Extra:
    """A group of optional packages.

    Attributes:
        name: as in ``pip install 'mggcn[name]'``.
        packages: the version of each of its packages, None where it is not installed.
    """

    name: str
    packages: dict[str, str | None]

    @property
    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [name for name, version in self.packages.items() if version is None]


@dataclass(frozen=True)
class DataRoot:
    """A folder in which data sets are searched, and the names of those found in it."""

    path: str
    writable: bool
    datasets: list[str]


@dataclass(frozen=True)
class Cache:
    """A folder that keeps what would otherwise be computed or fetched again."""

    name: str
    path: str
    writable: bool


@dataclass(frozen=True)
class Diagnosis:
    """An installation of mggcn.

    Attributes:
        version: of mggcn.
        commit: of its source tree, ``+`` for local changes; None outside a checkout.
        python: the version of Python.
        platform: the operating system.
        packages: the version of each package that mggcn requires.
        extras: its optional packages.
        devices: the processor, and each GPU.
        threads: the threads of torch and of the samplers.
        data_roots: in the order in which they are searched.
        caches: of fetched data and of compiled kernels.
        kernels: a check of every back end that this machine can run.
    """

    version: str
    commit: str | None
    python: str
    platform: str
    packages: dict[str, str | None]
    extras: list[Extra]
    devices: list[str]
    threads: dict[str, int]
    data_roots: list[DataRoot]
    caches: list[Cache]
    kernels: list[KernelCheck]

    @property
    def is_healthy(self) -> bool:
        """Whether every kernel gives what is expected."""
        return not any(check.problem for check in self.kernels)


def examine(root: Path | None = None) -> Diagnosis:
    """Examine this installation; kernels that are not compiled yet take about half a minute.

    Args:
        root: the data root; else the environment's ``MGGCN_DATA``, else the per-user cache.
    """
    required, extras = _requirements(_required())
    has_gpu = torch.cuda.is_available()
    return Diagnosis(
        version=_version(),
        commit=environment.commit(),
        python=platform.python_version(),
        platform=platform.platform(),
        packages=_versions(required),
        extras=[Extra(name, _versions(packages)) for name, packages in extras.items()],
        devices=_devices(),
        threads={"torch": torch.get_num_threads(), "samplers": threads.available()},
        data_roots=[DataRoot(str(path), _is_writable(path), datasets.stored(path)) for path in data_roots(root)],
        caches=_caches(has_gpu),
        kernels=list(check_kernels(torch.device("cuda") if has_gpu else None)),
    )


def summary() -> str:
    """The version of mggcn, and on a second line those of Python and torch and the device that ``auto`` takes."""
    devices = _devices()
    versions = f"Python {platform.python_version()}, torch {metadata.version('torch')}"
    return f"{_PACKAGE} {_version()}\n{versions}, {devices[-1]}"


def _version() -> str:
    return environment.version(_PACKAGE) or "not installed, run from its source"


def _required() -> list[str]:
    """The requirements of mggcn with their markers; none if it runs from its source and is not installed."""
    try:
        return metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        return []


def _requirements(lines: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The packages that mggcn requires, and those of each extra, from lines such as ``altair>=6; extra == 'x'``."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        requirement, _, marker = line.partition(";")
        system, extra = (re.search(rf"{field} == ['\"]([\w-]+)['\"]", marker) for field in ("sys_platform", "extra"))
        if system is None or system[1] == sys.platform:
            groups.setdefault(extra[1] if extra else "", []).append(requirement)

    def names(group: str) -> list[str]:
        found: list[str] = []
        for requirement in groups[group]:
            name, inner = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", requirement).groups()  # type: ignore[union-attr]
            found += [each for part in inner.split(",") for each in names(part)] if name == _PACKAGE else [name]
        return list(dict.fromkeys(found))

    return names("") if "" in groups else [], {group: names(group) for group in groups if group}


def _versions(packages: list[str]) -> dict[str, str | None]:
    return {name: environment.version(name) for name in packages}


def _devices() -> list[str]:
    """The processor with its cores, and each GPU with its memory."""
    cpu = f"{environment.processor() or 'CPU'}, {threads.available()} cores"
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    gpus = [torch.cuda.get_device_properties(number) for number in range(count)]
    return [cpu, *(f"{gpu.name}, {gpu.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}" for gpu in gpus)]


def _caches(has_gpu: bool) -> list[Cache]:
    folders = {"data": user_cache(), "numba": Path(sums.stats.cache_path)}  # type: ignore[attr-defined]
    if has_gpu:
        folders["triton"] = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache")
    return [Cache(name, str(path), _is_writable(path)) for name, path in folders.items()]


def _is_writable(folder: Path) -> bool:
    """Whether files can be written into a folder, or it can be created."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return existing.is_dir() and os.access(existing, os.W_OK)
