"""constraints.txt, LICENCES.md and the lowest versions agree with pyproject.toml and with what is installed."""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / ".ci"))

import licences  # noqa: E402
import lowest  # noqa: E402

LINE = re.compile(r"([A-Za-z0-9._-]+)==([\w.]+) --hash=sha256:[0-9a-f]{64}")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def packages() -> dict[str, str]:
    """The versions in constraints.txt by the name that pip compares."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#"]
    matches = [LINE.fullmatch(line) for line in lines]
    assert all(matches), "every line has a version and a hash"
    return {normal(match[1]): match[2] for match in matches if match}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_requirement_has_a_version_and_a_hash() -> None:
    named = {normal(re.split(r"[\[=]", line)[0]) for line in lowest.lowest(PROJECT, "2.13.0")}
    assert named - set(packages()) == {"ogb"}, "make constraints; ogb is in no set: its loader brings gigabytes"


def test_no_registry_is_named() -> None:
    for file in (
        "constraints.txt",
        "Makefile",
        ".ci/run",
        ".ci/constraints.py",
        ".github/workflows/ci.yml",
        "LICENCES.md",
    ):
        assert "://" not in (ROOT / file).read_text(), file


def test_the_licences_are_those_of_the_packages() -> None:
    """Rows of packages that are installed in another version, or not at all, are not compared."""
    rows = dict(re.findall(r"^\| ([\w.-]+) \| (.+) \|$", licences.FILE.read_text(), re.MULTILINE))
    names = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert list(rows) == names, "make licences"
    compared = 0
    for name in names:
        version = packages()[normal(name)]
        assert rows[name].startswith(f"{version} | "), "make licences"
        try:
            installed = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            continue
        if installed == version:
            assert rows[name] == f"{version} | {licences.licence(name)}", "make licences"
            compared += 1
    assert compared > 50


def test_a_requirement_without_a_lowest_version_is_an_error() -> None:
    with pytest.raises(SystemExit, match="'numpy' has no lowest version"):
        lowest.lowest({"dependencies": ["numpy"], "optional-dependencies": {}}, "2")


def test_the_version_is_the_same_in_all_files_and_the_changelog_has_it() -> None:
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert citation[1] == PROJECT["version"]
    versions = re.findall(r"^## \[([\w.]+)\]$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[:2] == ["Unreleased", PROJECT["version"]]
