"""Write constraints.txt: the packages that ``make demo``, ``make docs`` and ``make test`` install, with their hashes.

pip resolves pyproject.toml here, and the hashes are those of the files it selects: run this with Python 3.11 on x86-64
Linux and an index that has torch's CPU wheel. Versions stay as they are unless ``--upgrade`` is given.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "constraints.txt"
TORCH = "torch==2.13.0"
BUILDING = ("editables", "setuptools>=70.1")  # for hatchling's editable wheel, and for pyspark, which has no wheel
SETS = {"demo": "report", "docs": "docs", "test": "test"}  # what installs it: its extra; each set contains those before
HEADER = f"""\
# What `make demo`, `make docs` and `make test` install, with the hashes of the files for Python 3.11 on x86-64 Linux;
# each set contains those above it. pyproject.toml has the ranges the package supports. Written by `make constraints`.
# {TORCH} is the release whose CPU wheel the set-up expects; an unpinned torch may bring gigabytes of CUDA packages.
"""


def versions(text: str) -> dict[str, str]:
    """The version of every package in a constraints file."""
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", text, re.MULTILINE))


def resolve(extra: str, pins: dict[str, str]) -> dict[str, tuple[str, str]]:
    """The version and the SHA-256 of every package that an extra and building the package need."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    with tempfile.TemporaryDirectory() as folder:
        constraints, report = Path(folder, "pins.txt"), Path(folder, "report.json")
        constraints.write_text("".join(f"{name}=={version}\n" for name, version in pins.items()))
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--dry-run",
            "--ignore-installed",
            "--report",
        ]
        command += [report, "--constraint", constraints, f"{ROOT}[{extra}]", TORCH, *build, *BUILDING]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL if pins else None)  # noqa: S603
        packages = json.loads(report.read_text())["install"]
    found = {}
    for package in packages:
        metadata, archive = package["metadata"], package["download_info"].get("archive_info")
        if archive:  # the package itself is a folder
            found[metadata["name"]] = metadata["version"].partition("+")[0], archive["hashes"]["sha256"]
    return found


def main() -> None:
    """Resolve the largest set, then the others with its versions, and write all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows")
    upgrade = parser.parse_args().upgrade
    pins = {} if upgrade else versions(FILE.read_text())
    pins |= {name: version for name, (version, _) in resolve(SETS["test"], pins).items()}
    lines, written = [HEADER], set[str]()
    for name, extra in SETS.items():
        packages = {key: value for key, value in resolve(extra, pins).items() if key not in written}
        written |= set(packages)
        rows = sorted(packages.items(), key=lambda item: item[0].lower())
        lines += [f"\n# {name}\n", *(f"{key}=={version} --hash=sha256:{digest}\n" for key, (version, digest) in rows)]
        lines.append(f"# end of {name}\n")
    FILE.write_text("".join(lines))


if __name__ == "__main__":
    main()
