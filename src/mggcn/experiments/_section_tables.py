"""Tables of sections: the results of each row, data sets side by side, the commands; and the document in Markdown."""

import itertools
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from mggcn.experiments._rows import Figures, Row, Section, environments, setting_text
from mggcn.experiments._table import (
    NO_VALUE,
    Column,
    Table,
    Value,
    brief_percent,
    duration,
    escaped,
    percent,
    table_of_lines,
    whole,
)
from mggcn.training import RunRecord

_BESIDE = (("accuracy, %", "accuracy"), ("macro-F1, %", "macro_f1"), ("PR-AUC, %", "pr_auc"))
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
_NOTE_ON_DIFFERENCE = "*Difference* is the accuracy minus the paper's, in percentage points."


def section_table(section: Section, *, difference: bool = False) -> Table[Row]:
    """The results of a section.

    Args:
        section: the rows.
        difference: whether to show the difference from the published accuracy.
    """
    heading = section.experiment.reference if section.experiment else ""
    published, reference = _elsewhere("paper", "published"), _elsewhere(heading, "reference")
    if section.measures_time:
        accuracy, epoch, total = [], [published[1], reference[1]], [published[2], reference[2]]
        total += [_TOTAL] if any(column.value(row) is not None for column in total for row in section.rows) else []
    else:
        accuracy, epoch, total = [published[0], reference[0], *([_DIFFERENCE] if difference else [])], [], []
    runs = [_SPLITS, replace(_SEEDS, heading="runs")] if any(row.splits > 1 for row in section.rows) else [_SEEDS]
    first: Column[Row] = Column("method", lambda row: row.label)
    return Table([first, *accuracy, *_RESULTS, *epoch, *_TIMES, *total, *_COSTS, *runs], section.rows)


def beside(sections: Sequence[Section]) -> Table[str]:
    """A line for each label of a row, with the main figures of every section; – where it was not run."""
    labels = list(dict.fromkeys(row.label for section in sections for row in section.rows))
    found = [{row.label: row.figures for row in reversed(section.measured)} for section in sections]
    columns: list[Column[str]] = [Column("method", str)]
    for heading, name in _BESIDE:
        if any(getattr(figures, name) for each in found for figures in each.values()):
            columns += [
                _beside(f"{heading}: {section.dataset}", name, each)
                for section, each in zip(sections, found, strict=True)
            ]
    return Table(columns, labels)


def remarks(section: Section) -> list[str]:
    """Why some seeds are missing, the full reasons of rows that have none, and a line on runs that did not converge."""
    partly = [f"{row.label}, {reason}" for row in section.rows if row.records for reason in row.reasons]
    reasons = [_reason(row) for row in section.rows if not row.records]
    cut = dict.fromkeys(reason for reason in reasons if _clause(reason) != reason)
    return [*partly, *(f"not run: {reason}" for reason in cut), *_not_converged(section), *_several_splits(section)]


def notes(section: Section) -> str:
    """What the columns mean."""
    texts = dict.fromkeys([NOTES, *(column.note for column in section_table(section).columns if column.note)])
    if any(row.grows and row.method == "sgc" for row in section.rows):
        texts[_NOTE_ON_SGC] = None
    return "\n".join(texts)


def markdown(section: Section) -> str:
    """The table in Markdown, followed by the reasons why runs are missing."""
    listed = "".join(f"- {escaped(remark)}\n" for remark in remarks(section))
    return f"{section_table(section).markdown()}\n" + (f"\n{listed}" if listed else "")


def provenance(sections: Sequence[Section]) -> Table[Sequence[Value]]:
    """For each row, the commands that train its runs and the numbers of their environments."""
    known = environments(sections)
    rows = [
        [section.short, row.label, _numbers(known, row), command]
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


def all_notes(sections: Sequence[Section]) -> str:
    """What the columns of several sections mean."""
    texts = {line: None for section in sections for line in notes(section).splitlines()}
    headings = {heading for section in sections for heading in section_table(section, difference=True).headings}
    if headings & {"paper, %", "epoch (paper, s)", "total (paper, s)"}:
        texts[_NOTE_ON_PAPER] = None
    if "difference, points" in headings:
        texts[_NOTE_ON_DIFFERENCE] = None
    return " ".join(texts)


def document(sections: Sequence[Section]) -> str:
    """The tables in Markdown."""
    parts = ["# Results"]
    for section in sections:
        parts += [
            f"## {escaped(section.title)}",
            escaped(section.about),
            section_table(section, difference=True).markdown(),
        ]
        parts.append("\n".join(f"- {escaped(remark)}" for remark in remarks(section)))
    parts += [all_notes(sections), "## Commands", NOTE_ON_COMMANDS, provenance(sections).markdown(text_columns=4)]
    parts.append("## Environments")
    known = [escaped(environment(values)) for values in environments(sections)]
    parts.append("\n".join(f"{number}. {text}" for number, text in enumerate(known, 1)))
    return "\n\n".join(part for part in parts if part) + "\n"


def ranges(seeds: Iterable[int]) -> list[tuple[int, int]]:
    """First seed and length of each range of consecutive seeds."""
    groups = itertools.groupby(enumerate(seeds), key=lambda pair: pair[1] - pair[0])
    ranges = [[seed for _, seed in pairs] for _, pairs in groups]
    return [(consecutive[0], len(consecutive)) for consecutive in ranges]


def _beside(heading: str, name: str, figures: Mapping[str, Figures]) -> Column[str]:
    """A metric of one section by the label of a row."""

    def value(label: str) -> Value:
        number: float | None = getattr(figures.get(label), name, None)
        return number

    def text(label: str) -> str:
        mean = getattr(figures.get(label), name, None)
        return NO_VALUE if mean is None else percent(mean, getattr(figures[label], f"{name}_std"))

    return Column(heading, value, words=text)


def _numbers(known: list[dict[str, Any]], row: Row) -> str:
    used = [record.environment for record in row.records]
    return ", ".join(str(number) for number, values in enumerate(known, 1) if values in used)


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB"


def _figure(read: Callable[[Figures], float | None]) -> Callable[[Row], float | None]:
    return lambda row: read(row.figures) if row.records else None


def _elsewhere(heading: str, kind: Literal["published", "reference"]) -> tuple[Column[Row], Column[Row], Column[Row]]:
    """Columns of results from elsewhere: accuracy, seconds of an epoch, seconds in total."""

    def value(measure: str) -> Callable[[Row], float | None]:
        return lambda row: (row.published if kind == "published" else row.reference).get(measure)

    seconds = partial(Column, write=lambda seconds: f"{seconds:,.4g}", optional=True, note=_ON_OTHER_HARDWARE)
    return (
        Column(f"{heading}, %", value("accuracy"), brief_percent, optional=True),
        seconds(f"epoch ({heading}, s)", value("epoch_seconds")),
        seconds(f"total ({heading}, s)", value("total_seconds")),
    )


def _accuracy(row: Row) -> str:
    if row.records:
        return percent(row.figures.accuracy, row.figures.accuracy_std)
    return f"not run: {_clause(_reason(row))}" if row.reasons else "not run yet"


def _macro_f1(row: Row) -> str:
    return percent(row.figures.macro_f1, row.figures.macro_f1_std) if row.records else NO_VALUE


def _optional(heading: str, name: str, note: str) -> Column[Row]:
    """A column of a metric that not all records have."""

    def text(row: Row) -> str:
        mean = getattr(row.figures, name) if row.records else None
        return NO_VALUE if mean is None else percent(mean, getattr(row.figures, f"{name}_std"))

    return Column(heading, _figure(lambda figures: getattr(figures, name)), words=text, optional=True, note=note)


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
_DIFFERENCE: Column[Row] = Column(
    "difference, points", lambda row: row.difference, lambda share: f"{share * 100:+.2f}", optional=True
)
_TOTAL = Column(
    "total",
    _figure(lambda figures: figures.total_seconds),
    duration,
    optional=True,
    note="*Total* is the median time of preparing, training and testing, over all epochs of a run.",
)
_RESULTS = (
    Column("accuracy, %", _figure(lambda figures: figures.accuracy), words=_accuracy),
    Column("macro-F1, %", _figure(lambda figures: figures.macro_f1), words=_macro_f1),
    _optional("PR-AUC, %", "pr_auc", _NOTE_ON_AREAS),
    _optional("ROC-AUC, %", "roc_auc", _NOTE_ON_AREAS),
)
_TIMES = (
    Column("epoch", _figure(lambda figures: figures.epoch_seconds if figures.epochs else None), duration),
    Column(
        "to 99 %",
        _figure(lambda figures: figures.seconds_to_near_best),
        duration,
        optional=True,
        note="*To 99 %* is the same to the first epoch with 99 % of the best validation accuracy.",
    ),
    Column("to best", _figure(lambda figures: figures.seconds_to_best), duration),
)
_COSTS: tuple[Column[Row], ...] = (
    Column("epochs", _figure(lambda figures: figures.epochs), whole),
    Column("memory", _figure(lambda figures: figures.peak_memory_bytes), _mebibytes),
    Column(
        "memory in training",
        _figure(lambda figures: figures.training_memory_bytes),
        _mebibytes,
        optional=True,
        note="*Memory in training* is that of the first epoch alone, before anything is evaluated.",
    ),
    Column("nodes a batch", _figure(lambda figures: figures.nodes_per_batch or None), whole),
    Column(
        "growth (paper)",
        lambda row: row.grows or None,
        optional=True,
        note="*Growth* is the paper's order of the nodes that a batch involves: b targets a batch, d neighbours a "
        "node, s samples,\nL layers.",
    ),
)
_SPLITS: Column[Row] = Column("splits", lambda row: row.splits)
_SEEDS = Column("seeds", lambda row: row.done, words=_seeds)
