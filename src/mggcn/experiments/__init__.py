"""Which runs to make, the ledger of what they gave, and the tables and pages of it."""

from mggcn.experiments._charts import OKABE_ITO, SHAPES, require_altair
from mggcn.experiments._classes import ClassScores, class_table, confusion, names, scores
from mggcn.experiments._definition import ABLATIONS, Experiment, Reference, Variant, ablation, comparison, folder_name
from mggcn.experiments._file import read, read_folder
from mggcn.experiments._ledger import Ledger
from mggcn.experiments._page import Part, render
from mggcn.experiments._ranking import ranking_table
from mggcn.experiments._records import pack, read_records, record_files
from mggcn.experiments._rows import ExperimentInfo, Figures, PublishedLookup, Row, Section, environments, group
from mggcn.experiments._running import ExperimentProgress, run, status
from mggcn.experiments._schedule import Job, Outcome, Schedule
from mggcn.experiments._search import SPACE, Choice, Range, Search
from mggcn.experiments._section_tables import beside, markdown, notes, remarks, section_table
from mggcn.experiments._table import Column, Table, duration, percent, table_of_lines
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
    "Table",
    "Trial",
    "Tuning",
    "Variant",
    "ablation",
    "beside",
    "class_table",
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
    "percent",
    "ranking_table",
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
    "section_table",
    "status",
    "table_of_lines",
    "vega",
]
