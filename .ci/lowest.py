"""Print the lowest version of every package that pyproject.toml allows, as requirements for pip.

torch has few releases with a CPU wheel on every index, so it is that of constraints.txt unless a version is given.
"""

import re
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def lowest(project: dict[str, Any], torch: str) -> list[str]:
    """``NAME==VERSION`` for every requirement ``NAME>=VERSION`` of a ``[project]`` table."""
    bounds = {}
    for requirement in chain(project["dependencies"], *project["optional-dependencies"].values()):
        if found := re.fullmatch(r"([\w.-]+)(\[\w+\])?>=([\w.]+)(;.*)?", requirement):
            name, extra, version, marker = found.groups(default="")
            bounds[name] = f"{name}{extra}=={torch if name == 'torch' else version}{marker}"
        elif not requirement.startswith("mggcn["):
            raise SystemExit(f"pyproject.toml: {requirement!r} has no lowest version")
    return sorted(bounds.values())


if __name__ == "__main__":
    pinned = re.search(r"^torch==([\w.]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    if pinned is None:
        raise SystemExit("constraints.txt: has no torch")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    torch = sys.argv[1] if len(sys.argv) > 1 else pinned.group(1)
    sys.stdout.write("".join(f"{line}\n" for line in lowest(project, torch)))
