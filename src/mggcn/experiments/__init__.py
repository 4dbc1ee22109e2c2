"""Experiments as data: TOML files that name data sets, variants of methods and seeds, and the paper's numbers."""

from mggcn.experiments.definition import MEASURES, Experiment, Line
from mggcn.experiments.file import read, read_folder
from mggcn.experiments.notes import note_identity, noted_identity, sheet

__all__ = ["MEASURES", "Experiment", "Line", "note_identity", "noted_identity", "read", "read_folder", "sheet"]
