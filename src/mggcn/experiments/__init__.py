"""Which runs to make, the ledger of what they gave, and the tables and pages of it."""

from mggcn.experiments._charts import OKABE_ITO, SHAPES, require_altair
from mggcn.experiments._classes_page import ClassScores, confusion, names, scores
from mggcn.experiments._definition import ABLATIONS, Experiment, Reference, Variant, ablation, comparison, folder_name
from mggcn.experiments._file import read, read_folder
from mggcn.experiments._grouping import environments, group
from mggcn.experiments._ledger import Ledger
from mggcn.experiments._packing import pack
from mggcn.experiments._page import Part
from mggcn.experiments._ranking_page import table
from mggcn.experiments._reading import read_records, record_files
from mggcn.experiments._record_tables import Column, columns, duration, markdown, notes, pipes, remarks
from mggcn.experiments._report import render
from mggcn.experiments._row import ExperimentInfo, Figures, PublishedLookup, Row, Section
from mggcn.experiments._running import ExperimentProgress, run, status
from mggcn.experiments._schedule import Job, Outcome, Schedule
from mggcn.experiments._search import SPACE, Choice, Range, Search
from mggcn.experiments._side_by_side import beside
from mggcn.experiments._tuning import BEST, Trial, Tuning, require_optuna
from mggcn.experiments._vega import vega

__all__ = [
    "ABLATIONS",
    "BEST",
    "OKABE_ITO",
    "SHAPES",
    "SPACE",
    "Choice",
    "ClassScores",
    "Column",
    "Experiment",
    "ExperimentInfo",
    "ExperimentProgress",
    "Figures",
    "Job",
    "Ledger",
    "Outcome",
    "Part",
    "PublishedLookup",
    "Range",
    "Reference",
    "Row",
    "Schedule",
    "Search",
    "Section",
    "Trial",
    "Tuning",
    "Variant",
    "ablation",
    "beside",
    "columns",
    "comparison",
    "confusion",
    "duration",
    "environments",
    "folder_name",
    "group",
    "markdown",
    "names",
    "notes",
    "pack",
    "pipes",
    "read",
    "read_folder",
    "read_records",
    "record_files",
    "remarks",
    "render",
    "require_altair",
    "require_optuna",
    "run",
    "scores",
    "status",
    "table",
    "vega",
]
