"""Which runs to make, the ledger of what they gave, and the tables and pages of it.

Names that are not in ``__all__`` are for the other packages.
"""

from mggcn.experiments._charts import OKABE_ITO, SHAPES, Spec, as_spec, colours, require_altair, second_marks, sized
from mggcn.experiments._classes import class_table, ranking_table
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
from mggcn.experiments._page import Part, page, render, vega
from mggcn.experiments._recipes import recipe_table, selection
from mggcn.experiments._records import Ledger, pack, read_records, record_files
from mggcn.experiments._report_tables import Column, Table, beside, duration, markdown, section_table
from mggcn.experiments._schedule import ExperimentProgress, Schedule, run, status
from mggcn.experiments._sections import ExperimentInfo, Figures, Row, Section, group
from mggcn.experiments._tuning import BEST, SPACE, Choice, Range, Search, Trial, Tuning, require_optuna

__all__ = [
    "SPACE",
    "Choice",
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
    "group",
    "markdown",
    "pack",
    "read",
    "read_folder",
    "read_records",
    "render",
    "run",
    "status",
]
