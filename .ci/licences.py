"""Write LICENCES.md: the licence of every package in constraints.txt, as its own metadata state it."""

import re
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "LICENCES.md"
HEADER = """\
# Licences of dependencies

mggcn is under the [MIT licence](LICENSE). It contains no code of the packages below: pip installs them. The first set
is what `mggcn train` and its report need (`make demo`), the second builds the documentation, the third runs the tests;
the extras of `pyproject.toml` choose among them. Written by `make licences` from the packages' own metadata.
"""
_CLASSIFIER = "License :: OSI Approved :: "


def licence(name: str) -> str:
    """The licence of an installed package: SPDX expression, else classifiers, else the first line of its text."""
    fields = metadata.metadata(name)
    if expression := fields.get("License-Expression"):
        return expression
    classifiers = [
        value.removeprefix(_CLASSIFIER) for value in fields.get_all("Classifier", []) if _CLASSIFIER in value
    ]
    text = (fields.get("License") or "").strip().splitlines()
    return " and ".join(classifiers) or (text[0] if text else "not stated")


def content() -> str:
    """The text of LICENCES.md for the packages that are installed."""
    lines = [HEADER]
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if section := re.fullmatch(r"# (demo|docs|test)", line):
            lines.append(f"\n| `make {section[1]}` | version | licence |\n|---|---|---|\n")
        elif package := re.match(r"([\w.-]+)==(\S+)", line):
            lines.append(f"| {package[1]} | {package[2]} | {licence(package[1])} |\n")
    return "".join(lines)


if __name__ == "__main__":
    FILE.write_text(content())
