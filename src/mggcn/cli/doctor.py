"""``mggcn doctor`` and ``--version``: packages, devices, threads, data roots and caches, and a small training.

The training finds a broken compiler or driver on a user's machine; the tests compare every kernel with a reference.
"""

import json
import os
import platform
import re
import sys
import time
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from mggcn.cli.options import JsonSwitch

_PACKAGE = "mggcn"
_TRAINING = {"picks": 3, "hidden": 4, "epochs": 3, "lr": 0.1, "dropout": 0, "scaling": "none", "precision": "fp32"}
_EXPECTED = (0.97, 0.7231, 0.2144, 0.1713, 0.186, 0.1429)  # the probabilities of the first class


def version() -> str:
    """What ``mggcn --version`` prints: the version, and a line on Python, torch and the device that ``auto`` takes."""
    versions = f"Python {platform.python_version()}, torch {metadata.version('torch')}"
    return f"{_PACKAGE} {_version()}\n{versions}, {_devices()[-1]}"


def doctor(*, root: Path | None = None, as_json: JsonSwitch = False) -> int:
    """Print versions, devices, threads and data roots, and train mg-gcn on a graph of six nodes on each device.

    Takes a few seconds; the first time on a machine, about half a minute more to compile the kernels. The exit code is
    1 if training fails or gives another result than expected.

    Args:
        root: The folder of data sets; default: $MGGCN_DATA, else a per-user cache.
        as_json: Print one line of JSON instead.
    """
    state = _examine(root)
    print(json.dumps(state) if as_json else "\n".join(_lines(state)))
    return 1 if any(check["problem"] for check in state["training"]) else 0


def _examine(root: Path | None) -> dict[str, Any]:
    """What this installation consists of, as in ``--json``."""
    import torch

    from mggcn.data import data_roots, stored, user_cache
    from mggcn.kernels import threads
    from mggcn.kernels.gather import sums
    from mggcn.training import environment

    try:
        lines = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        lines = []  # it runs from its source
    groups = {
        name: {package: environment.version(package) for package in packages}
        for name, packages in _requirements(lines).items()
    }
    has_gpu = torch.cuda.is_available()
    caches = {"data": user_cache(), "numba": Path(sums.stats.cache_path)}  # type: ignore[attr-defined]
    if has_gpu:
        caches["triton"] = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache")
    return {
        "version": _version(),
        **environment.describe(),
        "packages": groups.pop("", {}),
        "extras": groups,
        "devices": _devices(),
        "threads": {"torch": torch.get_num_threads(), "samplers": threads.available()},
        "data_roots": [_folder(path) | {"datasets": stored(path)} for path in data_roots(root)],
        "caches": [{"name": name} | _folder(path) for name, path in caches.items()],
        "training": [_check_training(device) for device in ("cpu", *(("cuda",) if has_gpu else ()))],
    }


def _check_training(device: str) -> dict[str, Any]:
    """Train mg-gcn, which uses its kernels, and compare probabilities; the milliseconds may include compilation."""
    import numpy as np

    import mggcn
    from mggcn.data import Dataset, Split
    from mggcn.errors import first_line
    from mggcn.graph import Graph

    graph = Graph.from_edges([0, 0, 0, 0, 1, 2], [1, 2, 3, 4, 2, 3], 6)  # node 5 has no neighbours
    x, y = np.arange(-5, 7, dtype=np.float32).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
    split = Split(np.arange(4), np.array([4]), np.array([5]))
    data = Dataset(name="six nodes", graph=graph, x=x, y=y, classes=("even", "odd"), split=split)
    started, problem = time.perf_counter(), ""
    try:
        run = mggcn.fit(data, "mg-gcn", settings=_TRAINING, preset="paper", device=device)
        scores = run.predict(data, calibrated=False, device=device).probabilities[:, 0]
        if not np.allclose(scores, _EXPECTED, atol=1e-3):
            problem = "another result than expected"
    except Exception as error:  # noqa: BLE001 - a broken compiler or driver raises its own exceptions
        problem = first_line(error)
    milliseconds = round((time.perf_counter() - started) * 1000, 3)
    return {"device": device, "milliseconds": milliseconds, "problem": problem}


def _shown(folder: dict[str, Any]) -> str:
    return f"{folder['path']}{'' if folder['writable'] else ' (read-only)'}"


def _lines(state: dict[str, Any]) -> list[str]:
    commit = f" ({state['commit'][:12]})" if state["commit"] else ""
    lines = [f"mggcn {state['version']}{commit}, Python {state['python']}, {state['platform']}", "", "packages"]
    lines += [f"  {name:20}{version or 'MISSING'}" for name, version in state["packages"].items()]
    lines += ["", "extras"]
    for name, packages in state["extras"].items():
        missing = ", ".join(package for package, version in packages.items() if version is None)
        found = ", ".join(f"{package} {version}" for package, version in packages.items())
        lines.append(f"  {name:20}" + (f"missing {missing}: pip install 'mggcn[{name}]'" if missing else found))
    lines += ["", "devices", *(f"  {device}" for device in state["devices"]), "", "threads"]
    lines += [f"  {name:20}{count}" for name, count in state["threads"].items()]
    lines += ["", "data roots, in the order of search"]
    lines += [f"  {_shown(root)}: {', '.join(root['datasets']) or 'no data sets'}" for root in state["data_roots"]]
    lines += ["", "caches", *(f"  {cache['name']:20}{_shown(cache)}" for cache in state["caches"])]
    lines += ["", "training of mg-gcn on a graph of six nodes"]
    for check in state["training"]:
        result = f"FAILED: {check['problem']}" if check["problem"] else "ok"
        lines.append(f"  {check['device']:20}{result}, {check['milliseconds']:,.0f} ms")
    return lines


def _version() -> str:
    from mggcn.training import environment

    return environment.version(_PACKAGE) or "not installed, run from its source"


def _requirements(lines: Iterable[str]) -> dict[str, list[str]]:
    """The packages that mggcn requires, as ``""``, and those of each extra, from lines such as ``a>=6; extra == 'x'``.

    Extras of mggcn that an extra includes are not repeated.
    """
    groups: dict[str, list[str]] = {}
    for line in lines:
        requirement, _, marker = line.partition(";")
        system, extra = (re.search(rf"{field} == ['\"]([\w-]+)['\"]", marker) for field in ("sys_platform", "extra"))
        name = re.split(r"[^\w.-]", requirement)[0]
        if name != _PACKAGE and (system is None or system[1] == sys.platform):
            groups.setdefault(extra[1] if extra else "", []).append(name)
    return groups


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
