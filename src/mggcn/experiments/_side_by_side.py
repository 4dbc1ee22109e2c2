"""Results of the same methods on several data sets, or splits of one, side by side."""

from collections.abc import Sequence

from mggcn.experiments._record_tables import SortKey, Table, percent
from mggcn.experiments._row import Figures, Row, Section

_METRICS = (("accuracy, %", "accuracy"), ("macro-F1, %", "macro_f1"), ("PR-AUC, %", "pr_auc"))


def beside(sections: Sequence[Section]) -> Table:
    """A line for each label of a row, with the main figures of every section; – where it was not run."""
    labels = list(dict.fromkeys(row.label for section in sections for row in section.rows))
    rows = [[_row(section, label) for section in sections] for label in labels]
    metrics = [(heading, name) for heading, name in _METRICS if any(_value(row, name) for line in rows for row in line)]
    headings = [f"{heading}: {section.dataset}" for heading, _ in metrics for section in sections]
    cells = [[_text(row, name) for _, name in metrics for row in line] for line in rows]
    keys: list[list[SortKey]] = [[_value(row, name) for _, name in metrics for row in line] for line in rows]
    return Table(
        ["method", *headings],
        [[label, *line] for label, line in zip(labels, cells, strict=True)],
        [[label, *line] for label, line in zip(labels, keys, strict=True)],
    )


def _row(section: Section, label: str) -> Row | None:
    return next((row for row in section.measured if row.label == label), None)


def _value(row: Row | None, name: str) -> float | None:
    value: float | None = getattr(row.figures, name) if row else None
    return value


def _text(row: Row | None, name: str) -> str:
    figures: Figures | None = row.figures if row else None
    mean = getattr(figures, name, None)
    return "–" if mean is None else percent(mean, getattr(figures, f"{name}_std"))
