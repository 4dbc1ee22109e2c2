"""Tables: items in rows, and columns that say what of them is shown, as Markdown or HTML; and those of sections.

All tables are of one type: results of methods, scores of classes, rankings, and commands.
"""

import itertools
import json
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from operator import itemgetter
from typing import Any, Generic, Literal, TypeVar

from mggcn.experiments._sections import Row, Section, environments, setting_text

T = TypeVar("T")

Value = str | float | None
"""The value of an item in a column, by which the table is sorted; None if it has none."""

NO_VALUE = "–"
_MARKDOWN = str.maketrans({"\\": "\\\\", "|": "\\|", "<": "&lt;", "&": "&amp;"})
_MOST_LEVEL = 11  # columns whose headings are written horizontally in HTML

NOTES = """\
Accuracy and macro-F1 are of the test nodes, mean ± standard deviation over seeds, with the weights of the epoch that
was best on the validation nodes. Macro-F1 is the mean over the classes that have test nodes. *Epoch* is the median time
of a training epoch, including sampling, without evaluation. *To best* is the median time from the start to the best
epoch: preparing, training and validating. Neither includes loading libraries and compiling kernels. *Memory* is the
maximum over seeds: on a CPU of the whole process, including interpreter, libraries and data set (memory that earlier
runs freed is returned first); on a GPU of all tensors. It includes the evaluation, which some methods do on the whole
graph. *Nodes a batch* is the number of distinct nodes whose rows a training batch reads; what is computed once before
training does not count."""
NOTE_ON_COMMANDS = (
    "Each command trains the runs of one row again, with every setting; the name of a data set that mggcn does not "
    "know stands for its folder."
)
_NOTE_ON_PAPER = (
    "*Paper* is the result in the MG-GCN paper, shown only for the same data, split and settings as in the paper."
)


@dataclass(frozen=True)
class Column(Generic[T]):
    """A column of a table.

    Attributes:
        heading: the text above it.
        value: the value of an item.
        write: converts such a value to text.
        words: the text of an item, if it is not the written value.
        optional: whether the column is left out if no item has a value.
        note: a sentence that explains it.
        whole: the text of which the shown one is a short form, for the pointer.
    """

    heading: str
    value: Callable[[T], Value]
    write: Callable[[Any], str] = str
    words: Callable[[T], str] | None = None
    optional: bool = False
    note: str = ""
    whole: Callable[[T], str] | None = None

    def text(self, item: T) -> str:
        """The text of an item."""
        if self.words is not None:
            return self.words(item)
        value = self.value(item)
        return NO_VALUE if value is None else self.write(value)


class Table(Generic[T]):
    """Items with columns; optional columns that no item fills are left out.

    Args:
        columns: from left to right.
        items: what each row is about.
    """

    def __init__(self, columns: Sequence[Column[T]], items: Sequence[T]) -> None:
        shown = [one for one in columns if not one.optional or any(one.value(item) is not None for item in items)]
        self.columns, self.items = shown, items

    @property
    def headings(self) -> list[str]:
        """The text above each column."""
        return [column.heading for column in self.columns]

    @property
    def texts(self) -> list[list[str]]:
        """The text of each row."""
        return [[column.text(item) for column in self.columns] for item in self.items]

    def markdown(self, text_columns: int = 1) -> str:
        """The table in Markdown; the columns after the first ``text_columns`` are aligned to the right."""
        rules = ["---" if number < text_columns else "---:" for number in range(len(self.columns))]
        rows = (self.headings, rules, *self.texts)
        return "\n".join("| " + " | ".join(map(escaped, row)) + " |" for row in rows)

    def html(self, code: str = "") -> str:
        """The table in an element that scrolls if it is wider than the page; a click on a heading sorts it.

        Text, headings and commands are broken into lines to fit.

        Args:
            code: the heading of a column of commands.
        """
        head = ""
        for column in self.columns:
            kind = ' class="number"' * any(isinstance(column.value(item), int | float) for item in self.items)
            heading = escape(column.heading).replace("_", "_<wbr>").replace(" %", "&nbsp;%")
            head += f'<th{kind} aria-sort="none"><button type="button">{heading}</button></th>'
        rows = []
        for item in self.items:
            row = ""
            for column in self.columns:
                text, value = column.text(item), column.value(item)
                shown = f"<code>{escape(text)}</code>" if column.heading == code else escape(text)
                key = escape("" if value is None else str(value))
                whole = f' title="{escape(column.whole(item))}"' if column.whole else ""
                row += f'<td{_kind(text, value)} data-key="{key}"{whole}>{shown}</td>'
            rows.append(f"<tr>{row}</tr>")
        body = "\n".join(rows)
        upright = ' class="upright"' if len(self.columns) > _MOST_LEVEL else ""
        whole = f"<table{upright}><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"
        return f'<div class="scroll">{whole}</div>'


def table_of_lines(headings: Sequence[str], lines: Sequence[Sequence[Value]]) -> Table[Sequence[Value]]:
    """A table of lines that hold their values in the order of the headings."""
    return Table([Column(heading, itemgetter(number)) for number, heading in enumerate(headings)], lines)


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


def brief_percent(share: float) -> str:
    """A share in percent with one digit."""
    return f"{share * 100:.1f}"


def whole(number: float) -> str:
    """A number without digits after the point."""
    return f"{number:,.0f}"


def _kind(text: str, value: Value) -> str:
    """The class of a cell: numbers are aligned to the right, words instead of a number are broken into lines."""
    if isinstance(value, str):
        return ""
    return ' class="words"' if value is None and len(text) > 1 else ' class="number"'


def section_table(section: Section) -> Table[Row]:
    """The results of a section."""
    heading = section.experiment.reference if section.experiment else ""
    published, reference = _elsewhere("paper", "published"), _elsewhere(heading, "reference")
    if section.measures_time:
        accuracy, epoch, total = [], [published[1], reference[1]], [published[2], reference[2]]
        total += [_TOTAL] if any(column.value(row) is not None for column in total for row in section.rows) else []
    else:
        accuracy, epoch, total = [published[0], reference[0], _DIFFERENCE], [], []
    runs = [_SPLITS, replace(_SEEDS, heading="runs")] if any(row.splits > 1 for row in section.rows) else [_SEEDS]
    first: Column[Row] = Column("method", lambda row: row.label)
    results = [_RESULTS[0], _standing(section), *_RESULTS[1:]]
    return Table([first, *accuracy, *results, *epoch, *_TIMES, *total, *_COSTS, *runs], section.rows)


def beside(sections: Sequence[Section]) -> Table[str]:
    """A line for each label of a row, with the main figures of every section; – where it was not run."""
    labels = list(dict.fromkeys(row.label for section in sections for row in section.rows))
    columns = [_beside(column, section) for column in _RESULTS[:3] for section in sections]
    return Table([Column("method", str), *columns], labels)


def _standing(section: Section) -> Column[Row]:
    """How the rows of a section stand, sorted by how far they are behind."""
    known = section.standings.by_label
    return Column(
        "standing",
        lambda row: known[row.label].behind if row.label in known else None,
        words=lambda row: known[row.label].text if row.label in known else NO_VALUE,
        optional=True,
        note=_NOTE_ON_STANDING,
    )


def _beside(column: Column[Row], section: Section) -> Column[str]:
    """A column of a section, by the label of a row."""
    rows = {row.label: row for row in reversed(section.measured)}
    return Column(
        f"{column.heading}: {section.dataset}",
        lambda label: column.value(rows[label]) if label in rows else None,
        words=lambda label: column.text(rows[label]) if label in rows else NO_VALUE,
        optional=column.optional,
    )


def remarks(section: Section) -> list[str]:
    """Why some seeds are missing, the full reasons of rows that have none, and a line on runs that did not converge."""
    partly = [f"{row.label}, {reason}" for row in section.rows if row.records for reason in row.reasons]
    reasons = [_reason(row) for row in section.rows if not row.records]
    cut = dict.fromkeys(reason for reason in reasons if _clause(reason) != reason)
    most = max((row.splits for row in section.rows), default=0)
    several = f"± is the standard deviation over runs on {most} random splits, with all seeds on each"
    return [
        *partly,
        *(f"not run: {reason}" for reason in cut),
        *_not_converged(section),
        *([section.standings.decided] if section.standings.decided else []),
        *([several] if most > 1 else []),
    ]


def notes(sections: Sequence[Section]) -> str:
    """What the columns of sections mean."""
    columns = [column for section in sections for column in section_table(section).columns]
    texts = dict.fromkeys([NOTES, *(column.note for column in columns if column.note)])
    if any(row.grows and row.method == "sgc" for section in sections for row in section.rows):
        texts[_NOTE_ON_SGC] = None
    return " ".join(" ".join(texts).splitlines())


def markdown(section: Section) -> str:
    """The table in Markdown, followed by the reasons why runs are missing."""
    listed = "".join(f"- {escaped(remark)}\n" for remark in remarks(section))
    return f"{section_table(section).markdown()}\n" + (f"\n{listed}" if listed else "")


def provenance(sections: Sequence[Section]) -> Table[Sequence[Value]]:
    """For each row, the commands that train its runs and the numbers of their environments."""
    known = environments(sections)
    rows = [
        [section.title, row.label, _numbers(known, row), command]
        for section in sections
        for row in section.rows
        for command in commands(section, row)
    ]
    return table_of_lines(["data set", "method", "environment", "command"], rows)


def commands(section: Section, row: Row) -> list[str]:
    """The commands that train the runs of a row again: one for each range of seeds, or one for all splits.

    Records name every setting that their version had; the preset ``paper`` leaves newer ones neutral.
    """
    if not row.records:
        return []
    dataset = row.records[0].dataset
    name = dataset.get("path") or (section.dataset if section.experiment else dataset["name"])
    settings = [f"{key}={setting_text(value)}" for key, value in row.settings.items()]
    device = ["--device", row.device]
    changed = ["--preset", "paper", *(["--set", *settings] if settings else [])]
    if row.splits > 1:
        splits, seeds = (1 + max(getattr(run, part) or 0 for run in row.records) for part in ("split_seed", "seed"))
        start = ["mggcn", "compare", name, "--methods", row.records[0].method, *device]
        return [shlex.join([*start, "--splits", str(splits), "--seeds", str(seeds), *changed])]
    start = ["mggcn", "train", name, "--method", row.records[0].method, *device]
    return [
        shlex.join([*start, "--seed", str(seed), "--seeds", str(count), *changed])
        for seed, count in ranges(record.seed for record in row.records)
    ]


def environment(values: dict[str, Any]) -> str:
    """An environment in a line of text."""
    parts = []
    for name, value in values.items():
        if isinstance(value, dict):
            parts += [f"{key} {text}" for key, text in value.items() if text is not None]
        elif value is not None:
            parts.append(f"{name.replace('_', ' ')} {value if isinstance(value, str) else json.dumps(value)}")
    return ", ".join(parts) or "not recorded"


def document(sections: Sequence[Section], together: Sequence[str] = ()) -> str:
    """The tables in Markdown, with what their columns mean, commands and environments.

    ``together`` is Markdown on several sections, which follows them.
    """
    parts = ["# Results"]
    for section in sections:
        parts += [f"## {escaped(section.title)}", escaped(section.about), markdown(section).strip()]
    parts += together
    if known := [escaped(environment(values)) for values in environments(sections)]:
        parts += [notes(sections), "## Commands", NOTE_ON_COMMANDS, provenance(sections).markdown(text_columns=4)]
        parts += ["## Environments", "\n".join(f"{number}. {text}" for number, text in enumerate(known, 1))]
    return "\n\n".join(part for part in parts if part) + "\n"


def ranges(seeds: Iterable[int]) -> list[tuple[int, int]]:
    """First seed and length of each range of consecutive seeds."""
    groups = itertools.groupby(enumerate(seeds), key=lambda pair: pair[1] - pair[0])
    ranges = [[seed for _, seed in pairs] for _, pairs in groups]
    return [(consecutive[0], len(consecutive)) for consecutive in ranges]


def _numbers(known: list[dict[str, Any]], row: Row) -> str:
    used = [record.environment for record in row.records]
    return ", ".join(str(number) for number, values in enumerate(known, 1) if values in used)


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB"


def _figure(heading: str, name: str, write: Callable[[Any], str], **options: Any) -> Column[Row]:
    """A column of a figure of the rows that have records."""
    return Column(heading, lambda row: getattr(row.figures, name) if row.records else None, write, **options)


def _metric(heading: str, name: str, **options: Any) -> Column[Row]:
    """A column of the mean and standard deviation of a metric."""

    def text(row: Row) -> str:
        mean = getattr(row.figures, name) if row.records else None
        return NO_VALUE if mean is None else percent(mean, getattr(row.figures, f"{name}_std"))

    return _figure(heading, name, percent, **{"words": text, **options})


def _accuracy(row: Row) -> str:
    if row.records:
        return percent(row.figures.accuracy, row.figures.accuracy_std)
    return f"not run: {_clause(_reason(row))}" if row.reasons else "not run yet"


def _elsewhere(heading: str, kind: Literal["published", "reference"]) -> tuple[Column[Row], Column[Row], Column[Row]]:
    """Columns of results from elsewhere: accuracy, seconds of an epoch, seconds in total."""

    def value(measure: str) -> Callable[[Row], float | None]:
        return lambda row: (row.published if kind == "published" else row.reference).get(measure)

    note = f" {_NOTE_ON_PAPER}" if kind == "published" else ""
    seconds = partial(Column, write=lambda seconds: f"{seconds:,.4g}", optional=True, note=_ON_OTHER_HARDWARE + note)
    return (
        Column(f"{heading}, %", value("accuracy"), brief_percent, optional=True, note=note.strip()),
        seconds(f"epoch ({heading}, s)", value("epoch_seconds")),
        seconds(f"total ({heading}, s)", value("total_seconds")),
    )


def _not_converged(section: Section) -> list[str]:
    trained = [record for row in section.rows for record in row.records if record.epochs]
    if all(record.is_converged for record in trained):
        return []
    rows = []
    for row in section.rows:
        runs = [(record.seed, record.split_seed) for record in row.records if not record.is_converged]
        seeds = [str(seed) if split is None else f"{seed} of split {split}" for seed, split in runs]
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


_ON_OTHER_HARDWARE = (
    "The paper's seconds were measured on its own hardware: compare the ratios of methods, not the seconds."
)
_NOTE_ON_SGC = (
    "SGC averages over neighbours once before training here, so its batches read their own targets only, at any depth."
)
_NOTE_ON_STANDING = (
    "*Standing* compares with the highest mean test accuracy of the table: *first* if all others are behind, *tied* if "
    "the difference may be chance, else *behind* by these percentage points."
)
_NOTE_ON_AREAS = (
    "*PR-AUC* (average precision) and *ROC-AUC* are areas under curves of test nodes ranked by the probability of a "
    "class, means over the classes that have test nodes."
)
_DIFFERENCE: Column[Row] = Column(
    "difference, points",
    lambda row: (
        row.figures.accuracy - row.published["accuracy"] if row.records and "accuracy" in row.published else None
    ),
    lambda share: f"{share * 100:+.2f}",
    optional=True,
    note="*Difference* is the accuracy minus the paper's, in percentage points.",
)
_TOTAL = _figure(
    "total",
    "total_seconds",
    duration,
    note="*Total* is the median time of preparing, training and testing, over all epochs of a run.",
    optional=True,
)
_RESULTS = (
    _metric("accuracy, %", "accuracy", words=_accuracy),
    _metric("macro-F1, %", "macro_f1"),
    _metric("PR-AUC, %", "pr_auc", note=_NOTE_ON_AREAS, optional=True),
    _metric("ROC-AUC, %", "roc_auc", note=_NOTE_ON_AREAS, optional=True),
)
_TIMES: tuple[Column[Row], ...] = (
    Column("epoch", lambda row: row.figures.epoch_seconds if row.records and row.figures.epochs else None, duration),
    _figure(
        "to 99 %",
        "seconds_to_near_best",
        duration,
        note="*To 99 %* is the same to the first epoch with 99 % of the best validation accuracy.",
        optional=True,
    ),
    _figure("to best", "seconds_to_best", duration),
)
_COSTS: tuple[Column[Row], ...] = (
    _figure("epochs", "epochs", whole),
    _figure("memory", "peak_memory_bytes", _mebibytes),
    _figure(
        "memory in training",
        "training_memory_bytes",
        _mebibytes,
        note="*Memory in training* is that of the first epoch alone, before anything is evaluated.",
        optional=True,
    ),
    Column("nodes a batch", lambda row: (row.figures.nodes_per_batch or None) if row.records else None, whole),
    Column(
        "growth (paper)",
        lambda row: row.grows or None,
        optional=True,
        note="*Growth* is the paper's order of the nodes that a batch involves: b targets a batch, d neighbours a "
        "node, s samples, L layers.",
    ),
)
_SPLITS: Column[Row] = Column("splits", lambda row: row.splits)
_SEEDS: Column[Row] = Column(
    "seeds",
    lambda row: row.done,
    words=lambda row: str(row.done) if row.done == row.seeds else f"{row.done} of {row.seeds}",
)
