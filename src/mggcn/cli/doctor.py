"""``mggcn doctor`` and ``--version``: packages, devices, threads, data roots and caches, and a check of the kernels."""

import json
import os
import platform
import re
import sys
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from mggcn.cli.options import JsonSwitch

_PACKAGE = "mggcn"


def version() -> str:
    """What ``mggcn --version`` prints: the version, and a line on Python, torch and the device that ``auto`` takes."""
    versions = f"Python {platform.python_version()}, torch {metadata.version('torch')}"
    return f"{_PACKAGE} {_version()}\n{versions}, {_devices()[-1]}"


def doctor(*, root: Path | None = None, as_json: JsonSwitch = False) -> int:
    """Print versions, devices, threads and data roots, and check the kernels of mg-gcn on a graph of six nodes.

    Takes a few seconds; the first time on a machine, about half a minute more to compile the kernels. The exit code is
    1 if a kernel gives another result.

    Args:
        root: The folder of data sets; default: $MGGCN_DATA, else a per-user cache.
        as_json: Print one line of JSON instead.
    """
    state = _examine(root)
    print(json.dumps(state) if as_json else "\n".join(_lines(state)))  # noqa: T201
    return 1 if any(check["problem"] for check in state["kernels"]) else 0


def _examine(root: Path | None) -> dict[str, Any]:
    """What this installation consists of, as in ``--json``."""
    import torch

    from mggcn.cli.doctor_kernels import check_kernels
    from mggcn.data import data_roots, stored, user_cache
    from mggcn.kernels import threads
    from mggcn.kernels.gather_sum import sums
    from mggcn.training import environment

    required, extras = _requirements(_required())
    has_gpu = torch.cuda.is_available()
    caches = {"data": user_cache(), "numba": Path(sums.stats.cache_path)}  # type: ignore[attr-defined]
    if has_gpu:
        caches["triton"] = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache")
    return {
        "version": _version(),
        "commit": environment.commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": _versions(required),
        "extras": [{"name": name, "packages": _versions(packages)} for name, packages in extras.items()],
        "devices": _devices(),
        "threads": {"torch": torch.get_num_threads(), "samplers": threads.available()},
        "data_roots": [_folder(path) | {"datasets": stored(path)} for path in data_roots(root)],
        "caches": [{"name": name} | _folder(path) for name, path in caches.items()],
        "kernels": [asdict(check) for check in check_kernels(torch.device("cuda") if has_gpu else None)],
    }


def _lines(state: dict[str, Any]) -> list[str]:
    commit = f" ({state['commit'][:12]})" if state["commit"] else ""
    lines = [f"mggcn {state['version']}{commit}, Python {state['python']}, {state['platform']}", "", "packages"]
    lines += [f"  {name:20}{version or 'MISSING'}" for name, version in state["packages"].items()]
    lines += ["", "extras", *(f"  {extra['name']:20}{_extra_text(**extra)}" for extra in state["extras"])]
    lines += ["", "devices", *(f"  {device}" for device in state["devices"]), "", "threads"]
    lines += [f"  {name:20}{count}" for name, count in state["threads"].items()]
    lines += ["", "data roots, in the order of search"]
    lines += [f"  {_path_text(root)}: {', '.join(root['datasets']) or 'no data sets'}" for root in state["data_roots"]]
    lines += ["", "caches", *(f"  {cache['name']:20}{_path_text(cache)}" for cache in state["caches"])]
    lines += ["", "kernels on a graph of six nodes"]
    checks = state["kernels"]
    for check in checks:
        result = "FAILED" if check["problem"] else "ok"
        line = f"  {check['kernel']:16}{check['back_end']:6}{result:8}{check['milliseconds']:8,.1f} ms"
        lines.append(f"{line}  {check['problem']}".rstrip())
    unused = "" if any(check["back_end"] == "gpu" for check in checks) else "; no GPU, so none ran on one"
    return [*lines, f"{sum(not check['problem'] for check in checks)} of {len(checks)} as expected{unused}"]


def _extra_text(name: str, packages: dict[str, str | None]) -> str:
    if missing := [package for package, version in packages.items() if version is None]:
        return f"missing {', '.join(missing)}: pip install 'mggcn[{name}]'"
    return ", ".join(f"{package} {version}" for package, version in packages.items())


def _path_text(folder: dict[str, Any]) -> str:
    return f"{folder['path']}{'' if folder['writable'] else ' (read-only)'}"


def _version() -> str:
    from mggcn.training import environment

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
        packages: list[str] = []
        for requirement in groups[group]:
            name, inner = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", requirement).groups()  # type: ignore[union-attr]
            packages += [each for part in inner.split(",") for each in names(part)] if name == _PACKAGE else [name]
        return list(dict.fromkeys(packages))

    return names("") if "" in groups else [], {group: names(group) for group in groups if group}


def _versions(packages: list[str]) -> dict[str, str | None]:
    from mggcn.training import environment

    return {name: environment.version(name) for name in packages}


def _devices() -> list[str]:
    """The processor with its cores, and each GPU with its memory."""
    import torch

    from mggcn.kernels import threads
    from mggcn.training import environment

    cpu = f"{environment.processor() or 'CPU'}, {threads.available()} cores"
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    gpus = [torch.cuda.get_device_properties(number) for number in range(count)]
    return [cpu, *(f"{gpu.name}, {gpu.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}" for gpu in gpus)]


def _folder(path: Path) -> dict[str, Any]:
    """A folder, and whether files can be written into it, or it can be created."""
    existing = next(each for each in (path, *path.absolute().parents) if each.exists())
    return {"path": str(path), "writable": existing.is_dir() and os.access(existing, os.W_OK)}
