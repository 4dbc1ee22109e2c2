"""The committed records of whole experiments: files under ``results`` that ``mggcn report --format json`` wrote."""

from functools import cache
from pathlib import Path

from generate.repository import ROOT
from mggcn.experiments import read_records
from mggcn.experiments._sections import Section

_ORDER = ("accuracy", "compare", "depth", "picks", "ablations", "speed", "speed-cpu", "memory", "memory-cpu")


def packed() -> list[Path]:
    """The files: those of the paper's experiments in the order of the page, then others by name."""
    files = {path.stem: path for path in sorted((ROOT / "results").glob("*.json"))}
    return [files[name] for name in sorted(files, key=lambda name: (*_ORDER, name).index(name))]


def about(path: Path) -> str:
    """The name of the experiment of a file, or the file's own name if it is of none."""
    return next((section.experiment.name for section in sections(path) if section.experiment), path.stem)


@cache
def sections(path: Path) -> list[Section]:
    """The sections of a file, one for each data set."""
    return read_records([path])
