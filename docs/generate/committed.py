"""The committed records of whole experiments: files under ``results`` that ``mggcn report --format json`` wrote."""

from functools import cache
from pathlib import Path

from generate.repository import ROOT
from mggcn import report
from mggcn.records.lines import Section
from mggcn.records.lines import sections as sorted_into_sections

_ORDER = ("accuracy", "depth", "picks", "ablations", "speed", "speed-cpu", "memory", "memory-cpu")


def packed() -> list[Path]:
    """The files: those of the paper's experiments as a reader wants them, then others by name."""
    found = {path.stem: path for path in sorted((ROOT / "results").glob("*.json"))}
    return [found[name] for name in sorted(found, key=lambda name: (*_ORDER, name).index(name))]


def about(path: Path) -> str:
    """The name of the experiment behind a file; the file's own where it is of none."""
    return next((one.sheet.name for one in sections(path) if one.sheet), path.stem)


@cache
def sections(path: Path) -> list[Section]:
    """What a file holds, a section for each data set."""
    return sorted_into_sections(report.read([path]), lambda _: None)
