"""Sheet: what an experiment says of its runs, so that a report has its titles, labels and the paper's numbers.

``mggcn experiment run`` writes one as ``experiment.json`` beside the ledger, whose runs it names by their specs.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

from mggcn.records.record import suits

_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/:;,()]+/)+")


GROWTH = re.compile(r"O\([\w^ ]+\)")
"""An order of growth, which documents set as mathematics."""


@dataclass(frozen=True)
class Entry:
    """One line of a table.

    Attributes:
        label: how the table calls it.
        method: what is trained.
        paper: the paper's numbers by what they measure: ``accuracy``, ``epoch_seconds`` or ``total_seconds``.
        grows: how the nodes of a batch grow according to the paper, or nothing.
        specs: the digests of its runs, done or not.
        reasons: why some or all of them cannot be had.
    """

    label: str
    method: str
    paper: Mapping[str, float] = field(default_factory=dict)
    grows: str = ""
    specs: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataTable:
    """The lines of one data set, which has the name it has in the experiment."""

    dataset: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Sheet:
    """What an experiment says of its runs.

    Attributes:
        name: of the experiment.
        title: a line for people.
        reproduces: what of the paper it is.
        measure: what it is about, such as ``accuracy``.
        seeds: how many runs each line is to have.
        tables: one for each data set that was tried.
    """

    name: str
    title: str
    reproduces: str
    measure: str
    seeds: int
    tables: tuple[DataTable, ...] = ()

    def table(self, dataset: str) -> DataTable | None:
        """That of a data set, if it was tried."""
        return next((one for one in self.tables if one.dataset == dataset), None)

    def to_json(self) -> str:
        """The sheet as indented JSON."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Sheet":
        """Read what :meth:`to_json` wrote; raises ValueError, TypeError or KeyError where it is something else."""
        given = json.loads(text)
        tables = [
            checked(DataTable, one | {"entries": [checked(Entry, entry) for entry in one["entries"]]})
            for one in given["tables"]
        ]
        return checked(cls, given | {"tables": tables})


Kind = TypeVar("Kind", Entry, DataTable, Sheet)


def without_folders(text: str) -> str:
    """A message with the last parts alone of the absolute paths in it, as the folders are of one machine."""
    return _FOLDERS.sub("…/", text)


def checked(kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """An entry, a table or a sheet of fields as JSON has them; raises TypeError where they are something else."""
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    made = kind(**values)
    for one in fields(made):
        value = getattr(made, one.name)
        if not suits(one.type, value):
            raise TypeError(f"field {one.name} is {value!r}")
    return made
