"""What runs leave: records, ledgers of them, packed files, and the rows of tables that they make. Needs no torch."""

from mggcn.records._packing import pack
from mggcn.records.grouping import environments, group
from mggcn.records.ledger import Ledger
from mggcn.records.ranking import Alerts, Ranking
from mggcn.records.reading import read, record_files
from mggcn.records.record import Epoch, RunRecord, Smoothed
from mggcn.records.row import ExperimentInfo, Figures, PublishedLookup, Row, Section
from mggcn.records.side_by_side import beside
from mggcn.records.spec import RunSpec, identity
from mggcn.records.tables import Column, columns, duration, markdown, notes, remarks

__all__ = [
    "Alerts",
    "Column",
    "Epoch",
    "ExperimentInfo",
    "Figures",
    "Ledger",
    "PublishedLookup",
    "Ranking",
    "Row",
    "RunRecord",
    "RunSpec",
    "Section",
    "Smoothed",
    "beside",
    "columns",
    "duration",
    "environments",
    "group",
    "identity",
    "markdown",
    "notes",
    "pack",
    "read",
    "record_files",
    "remarks",
]
