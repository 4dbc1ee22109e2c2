"""The committed records of whole experiments: files under ``results`` that ``mggcn report --format json`` wrote."""

from functools import cache
from pathlib import Path

from generate.repository import ROOT
from mggcn import report
from mggcn.report.lines import Section
from mggcn.report.lines import sections as sorted_into_sections


def packed() -> list[Path]:
    """The files."""
    return sorted((ROOT / "results").glob("*.json"))


def about(path: Path) -> str:
    """The name of the experiment behind a file; the file's own where it is of none."""
    return next((one.sheet.name for one in sections(path) if one.sheet), path.stem)


@cache
def sections(path: Path) -> list[Section]:
    """What a file holds, a section for each data set."""
    return sorted_into_sections(report.read([path]), lambda _: None)
