"""``mggcn doctor``: the installation, and every kernel on a graph of six nodes."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from mggcn.cli.doctor_diagnosis import Diagnosis


def version() -> str:
    """What ``mggcn --version`` prints."""
    from mggcn.cli.doctor_diagnosis import summary

    return summary()


def doctor(*, root: Path | None = None, as_json: Annotated[bool, Parameter(name="--json", negative=())] = False) -> int:
    """Print versions, devices, threads and data roots, and check the result of every kernel on a graph of six nodes.

    Takes a few seconds; the first time on a machine, about half a minute more to compile the kernels. The exit code is
    1 if a kernel gives another result.

    Args:
        root: The folder of data sets; default: $MGGCN_DATA, else a per-user cache.
        as_json: Print one line of JSON instead.
    """
    from mggcn.cli.doctor_diagnosis import examine

    diagnosis = examine(root)
    print(json.dumps(asdict(diagnosis)) if as_json else "\n".join(_lines(diagnosis)))  # noqa: T201
    return 0 if diagnosis.is_healthy else 1


def _lines(diagnosis: "Diagnosis") -> list[str]:
    commit = f" ({diagnosis.commit[:12]})" if diagnosis.commit else ""
    lines = [f"mggcn {diagnosis.version}{commit}, Python {diagnosis.python}, {diagnosis.platform}", "", "packages"]
    lines += [f"  {name:20}{version or 'MISSING'}" for name, version in diagnosis.packages.items()]
    lines += ["", "extras"]
    for extra in diagnosis.extras:
        state = ", ".join(f"{name} {version}" for name, version in extra.packages.items())
        if extra.missing:
            state = f"missing {', '.join(extra.missing)}: pip install 'mggcn[{extra.name}]'"
        lines.append(f"  {extra.name:20}{state}")
    lines += ["", "devices", *(f"  {device}" for device in diagnosis.devices), "", "threads"]
    lines += [f"  {name:20}{count}" for name, count in diagnosis.threads.items()]
    lines += ["", "data roots, in the order of search"]
    lines += [
        f"  {root.path}{_state(root.writable)}: {', '.join(root.datasets) or 'no data sets'}"
        for root in diagnosis.data_roots
    ]
    lines += ["", "caches", *(f"  {cache.name:20}{cache.path}{_state(cache.writable)}" for cache in diagnosis.caches)]
    return [*lines, "", *_kernel_lines(diagnosis)]


def _kernel_lines(diagnosis: "Diagnosis") -> list[str]:
    lines = ["kernels on a graph of six nodes"]
    lines += [
        f"  {check.kernel:16}{check.back_end:6}{'FAILED' if check.problem else 'ok':8}{check.milliseconds:8,.1f} ms"
        + (f"  {check.problem}" if check.problem else "")
        for check in diagnosis.kernels
    ]
    failed = sum(bool(check.problem) for check in diagnosis.kernels)
    unused = "" if any(check.back_end == "gpu" for check in diagnosis.kernels) else "; no GPU, so none ran on one"
    return [*lines, f"{len(diagnosis.kernels) - failed} of {len(diagnosis.kernels)} as expected{unused}"]


def _state(writable: bool) -> str:
    return "" if writable else " (read-only)"
