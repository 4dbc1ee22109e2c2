"""Experiments: which runs to make, from TOML files or Python, and making them in one process or in several.

``mggcn compare`` and ``mggcn ablate`` are experiments on one data set.
"""

from mggcn.experiments._definition import ABLATIONS, Experiment, Reference, Variant, ablation, comparison, folder_name
from mggcn.experiments._file import read, read_folder
from mggcn.experiments._running import ExperimentProgress, run, status
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
