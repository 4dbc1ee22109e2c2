"""The columns of a section's table, the notes that explain them, and the table in Markdown."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from mggcn.experiments._row import Figures, Row, Section
from mggcn.training import RunRecord

SortKey = str | float | None
GROWTH = re.compile(r"O\([\w^ ]+\)")
"""An order of growth, which documents set as mathematics."""
NOTES = """\
Accuracy and macro-F1 are of the test nodes, mean ± standard deviation over seeds, with the weights of the epoch that
was best on the validation nodes. Macro-F1 is the mean over the classes that have test nodes. *Epoch* is the median time
of a training epoch, including sampling, without evaluation. *To best* is the median time from the start to the best
epoch: preparing, training and validating. Neither includes loading libraries and compiling kernels. *Memory* is the
maximum over seeds: on a CPU of the whole process, including interpreter, libraries and data set (memory that earlier
runs freed is returned first); on a GPU of all tensors. It includes the evaluation, which some methods do on the whole
graph. *Nodes a batch* is the number of distinct nodes whose rows a training batch reads; what is computed once before
training does not count."""
_NOT_THERE = "–"
_MARKDOWN = str.maketrans({"\\": "\\\\", "|": "\\|", "<": "&lt;", "&": "&amp;"})


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: the text above it.
        key: the value by which a row is sorted; None if it has none.
        write: converts such a value to text.
        words: the text of a row, if it is not the written value.
        optional: whether the column is left out if no row has a value.
        note: a sentence that explains it.
    """

    heading: str
    key: Callable[[Row], SortKey]
    write: Callable[[Any], str] = str
    words: Callable[[Row], str] | None = None
    optional: bool = True
    note: str = ""

    def text(self, row: Row) -> str:
        """The text of a row."""
        if self.words is not None:
            return self.words(row)
        value = self.key(row)
        return _NOT_THERE if value is None else self.write(value)


@dataclass(frozen=True)
class Table:
    """A table of text; ``keys`` are the values by which its cells are sorted."""

    headings: list[str]
    rows: list[list[str]]
    keys: Sequence[Sequence[SortKey]]


def columns(section: Section, *, difference: bool = False) -> list[Column]:
    """The columns of a section; those that no row fills are left out.

    Args:
        section: the rows.
        difference: whether to show the difference from the published accuracy.
    """
    heading = section.experiment.reference if section.experiment else ""
    published, reference = _elsewhere("paper", "published"), _elsewhere(heading, "reference")
    if section.measures_time:
        accuracy, epoch, total = [], [published[1], reference[1]], [published[2], reference[2]]
        total += [_TOTAL] if any(column.key(row) is not None for column in total for row in section.rows) else []
    else:
        accuracy, epoch, total = [published[0], reference[0], *([_DIFFERENCE] if difference else [])], [], []
    runs = [_SPLITS, replace(_SEEDS, heading="runs")] if any(row.splits > 1 for row in section.rows) else [_SEEDS]
    first = Column("method", lambda row: row.label)
    candidates = [first, *accuracy, *_RESULTS, *epoch, *_TIMES, *total, *_COSTS, *runs]
    return [
        column
        for column in candidates
        if not column.optional or any(column.key(row) is not None for row in section.rows)
    ]


def remarks(section: Section) -> list[str]:
    """Why some seeds are missing, the full reasons of rows that have none, and a line on runs that did not converge."""
    partly = [f"{row.label}, {reason}" for row in section.rows if row.records for reason in row.reasons]
    reasons = [_reason(row) for row in section.rows if not row.records]
    cut = dict.fromkeys(reason for reason in reasons if _clause(reason) != reason)
    return [*partly, *(f"not run: {reason}" for reason in cut), *_not_converged(section), *_several_splits(section)]


def notes(section: Section) -> str:
    """What the columns mean."""
    texts = dict.fromkeys([NOTES, *(column.note for column in columns(section) if column.note)])
    if any(row.grows and row.method == "sgc" for row in section.rows):
        texts[_NOTE_ON_SGC] = None
    return "\n".join(texts)


def markdown(section: Section) -> str:
    """The table in Markdown, followed by the reasons why runs are missing."""
    listed = "".join(f"- {escaped(remark)}\n" for remark in remarks(section))
    return f"{pipes(table(section))}\n" + (f"\n{listed}" if listed else "")


def table(section: Section, *, difference: bool = False) -> Table:
    """The table of a section; see :func:`columns`."""
    shown = columns(section, difference=difference)
    return Table(
        [column.heading for column in shown],
        [[column.text(row) for column in shown] for row in section.rows],
        [[column.key(row) for column in shown] for row in section.rows],
    )


def pipes(content: Table, text_columns: int = 1) -> str:
    """A table in Markdown; the columns after the first ``text_columns`` are aligned to the right."""
    rules = ["---" if number < text_columns else "---:" for number in range(len(content.headings))]
    return "\n".join("| " + " | ".join(map(escaped, row)) + " |" for row in (content.headings, rules, *content.rows))


def escaped(text: str) -> str:
    """Text in one line, escaped for Markdown."""
    return " ".join(text.splitlines()).translate(_MARKDOWN)


def duration(seconds: float) -> str:
    """A time in a suitable unit."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"


def percent(mean: float, deviation: float | None = None) -> str:
    """A share in percent, with its standard deviation if there is one."""
    return f"{mean * 100:.2f}" + ("" if deviation is None else f" ± {deviation * 100:.2f}")


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB"


def _figure(read: Callable[[Figures], float | None]) -> Callable[[Row], float | None]:
    return lambda row: read(row.figures) if row.records else None


def _elsewhere(heading: str, kind: Literal["published", "reference"]) -> tuple[Column, Column, Column]:
    """Columns of results from elsewhere: accuracy, seconds of an epoch, seconds in total."""

    def value(measure: str) -> Callable[[Row], float | None]:
        return lambda row: (row.published if kind == "published" else row.reference).get(measure)

    seconds = partial(Column, write=lambda seconds: f"{seconds:,.4g}", note=_ON_OTHER_HARDWARE)
    return (
        Column(f"{heading}, %", value("accuracy"), lambda share: f"{share * 100:.1f}"),
        seconds(f"epoch ({heading}, s)", value("epoch_seconds")),
        seconds(f"total ({heading}, s)", value("total_seconds")),
    )


def _accuracy(row: Row) -> str:
    if row.records:
        return percent(row.figures.accuracy, row.figures.accuracy_std)
    return f"not run: {_clause(_reason(row))}" if row.reasons else "not run yet"


def _macro_f1(row: Row) -> str:
    return percent(row.figures.macro_f1, row.figures.macro_f1_std) if row.records else _NOT_THERE


def _optional(heading: str, name: str, note: str) -> Column:
    """A column of a metric that not all records have."""

    def text(row: Row) -> str:
        mean = getattr(row.figures, name) if row.records else None
        return _NOT_THERE if mean is None else percent(mean, getattr(row.figures, f"{name}_std"))

    return Column(heading, _figure(lambda figures: getattr(figures, name)), words=text, note=note)


def _seeds(row: Row) -> str:
    return str(row.done) if row.done == row.seeds else f"{row.done} of {row.seeds}"


def _several_splits(section: Section) -> list[str]:
    most = max((row.splits for row in section.rows), default=0)
    return (
        [f"± is the standard deviation over runs on {most} random splits, with all seeds on each"] if most > 1 else []
    )


def _run(record: RunRecord) -> str:
    return str(record.seed) if record.split_seed is None else f"{record.seed} of split {record.split_seed}"


def _not_converged(section: Section) -> list[str]:
    trained = [record for row in section.rows for record in row.records if record.epochs]
    if all(record.is_converged for record in trained):
        return []
    rows = []
    for row in section.rows:
        seeds = [_run(record) for record in row.records if not record.is_converged]
        if seeds:
            rows.append(row.label if len(seeds) == row.done else f"{row.label} (seed {', '.join(seeds)})")
    names = ", ".join(rows) if any(record.is_converged for record in trained) else "all runs"
    return [f"not converged, the best epoch is the last one: {names}"]


def _reason(row: Row) -> str:
    """The reason a row has no figures, without the seed or data set before it."""
    return row.reasons[0].partition(": ")[2] if row.reasons else ""


def _clause(reason: str) -> str:
    """The first part of a reason, which fits into a table."""
    return re.split(r"; | \(", reason, maxsplit=1)[0]


_ON_OTHER_HARDWARE = """\
The paper's seconds were measured on its own hardware: compare the ratios of methods, not the seconds."""
_NOTE_ON_SGC = """\
SGC averages over neighbours once before training here, so its batches read their own targets only, at any depth."""
_NOTE_ON_AREAS = """\
*PR-AUC* (average precision) and *ROC-AUC* are areas under curves of test nodes ranked by the probability of a class,
means over the classes that have test nodes."""
_DIFFERENCE = Column("difference, points", lambda row: row.difference, lambda share: f"{share * 100:+.2f}")
_TOTAL = Column(
    "total",
    _figure(lambda figures: figures.total_seconds),
    duration,
    note="*Total* is the median time of preparing, training and testing, over all epochs of a run.",
)
_RESULTS = (
    Column("accuracy, %", _figure(lambda figures: figures.accuracy), words=_accuracy, optional=False),
    Column("macro-F1, %", _figure(lambda figures: figures.macro_f1), words=_macro_f1, optional=False),
    _optional("PR-AUC, %", "pr_auc", _NOTE_ON_AREAS),
    _optional("ROC-AUC, %", "roc_auc", _NOTE_ON_AREAS),
)
_TIMES = (
    Column(
        "epoch", _figure(lambda figures: figures.epoch_seconds if figures.epochs else None), duration, optional=False
    ),
    Column(
        "to 99 %",
        _figure(lambda figures: figures.seconds_to_near_best),
        duration,
        note="*To 99 %* is the same to the first epoch with 99 % of the best validation accuracy.",
    ),
    Column("to best", _figure(lambda figures: figures.seconds_to_best), duration, optional=False),
)
_COSTS = (
    Column("epochs", _figure(lambda figures: figures.epochs), lambda count: f"{count:,.0f}", optional=False),
    Column("memory", _figure(lambda figures: figures.peak_memory_bytes), _mebibytes, optional=False),
    Column(
        "memory in training",
        _figure(lambda figures: figures.training_memory_bytes),
        _mebibytes,
        note="*Memory in training* is that of the first epoch alone, before anything is evaluated.",
    ),
    Column(
        "nodes a batch", _figure(lambda figures: figures.nodes_per_batch or None), lambda n: f"{n:,.0f}", optional=False
    ),
    Column(
        "growth (paper)",
        lambda row: row.grows or None,
        note="*Growth* is the paper's order of the nodes that a batch involves: b targets a batch, d neighbours a "
        "node, s samples,\nL layers.",
    ),
)
_SPLITS = Column("splits", lambda row: row.splits)
_SEEDS = Column("seeds", lambda row: row.done, words=_seeds)
