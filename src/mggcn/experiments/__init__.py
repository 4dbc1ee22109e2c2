"""Experiments: which runs to make, from TOML files or Python, and making them in one process or in several.

``mggcn compare`` and ``mggcn ablate`` are experiments on one data set.
"""

from mggcn.experiments._comparisons import ABLATIONS, ablation, comparison
from mggcn.experiments._definition import Experiment, Reference, Variant, folder_name
from mggcn.experiments._file import read, read_folder
from mggcn.experiments._progress import ExperimentProgress
from mggcn.experiments._running import run, status
from mggcn.experiments._schedule import Job, Outcome, Schedule

__all__ = [
    "ABLATIONS",
    "Experiment",
    "ExperimentProgress",
    "Job",
    "Outcome",
    "Reference",
    "Schedule",
    "Variant",
    "ablation",
    "comparison",
    "folder_name",
    "read",
    "read_folder",
    "run",
    "status",
]
