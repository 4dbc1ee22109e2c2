"""Which runs to make, the ledger of what they gave, and the tables and pages of it.

Names that are not in ``__all__`` are for the other packages.
"""

from mggcn.experiments import _drawing as drawing  # noqa: F401
from mggcn.experiments._charts import OKABE_ITO, SHAPES
from mggcn.experiments._charts import require_altair as require_altair
from mggcn.experiments._classes import ClassScores as ClassScores
from mggcn.experiments._classes import class_table as class_table
from mggcn.experiments._classes import confusion as confusion
from mggcn.experiments._classes import names
from mggcn.experiments._classes import ranking_table as ranking_table
from mggcn.experiments._classes import scores as scores
from mggcn.experiments._definition import (
    ABLATIONS,
    Experiment,
    Reference,
    Variant,
    ablation,
    comparison,
    folder_name,
    read,
    read_folder,
)
from mggcn.experiments._execution import Job, Outcome
from mggcn.experiments._page import Part, render, vega
from mggcn.experiments._records import Ledger, pack, record_files
from mggcn.experiments._records import read_records as read_records
from mggcn.experiments._rows import ExperimentInfo, Figures, Row, Section, environments, group
from mggcn.experiments._running import ExperimentProgress, Schedule, run, status
from mggcn.experiments._tables import Column, beside, duration, markdown, notes, remarks
from mggcn.experiments._tables import Table as Table
from mggcn.experiments._tables import percent as percent
from mggcn.experiments._tables import section_table as section_table
from mggcn.experiments._tables import table_of_lines as table_of_lines
from mggcn.experiments._tuning import BEST, SPACE, Choice, Range, Search, Trial, Tuning, require_optuna

__all__ = [
    "ABLATIONS",
    "BEST",
    "OKABE_ITO",
    "SHAPES",
    "SPACE",
    "Choice",
    "Column",
    "Experiment",
    "ExperimentInfo",
    "ExperimentProgress",
    "Figures",
    "Job",
    "Ledger",
    "Outcome",
    "Part",
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
    "comparison",
    "duration",
    "environments",
    "folder_name",
    "group",
    "markdown",
    "names",
    "notes",
    "pack",
    "read",
    "read_folder",
    "record_files",
    "remarks",
    "render",
    "require_optuna",
    "run",
    "status",
    "vega",
]
