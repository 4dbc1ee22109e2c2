"""Summary: what the records of one method say together, and a Markdown table of several."""

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mggcn.records.record import RunRecord

_NONE = "–"
_MARKDOWN = str.maketrans({"\\": "\\\\", "|": "\\|", "<": "&lt;", "&": "&amp;"})
NOTES = """\
Accuracy and macro-F1 are of the test nodes, mean ± standard deviation over seeds, with the weights of the epoch that
was best on the validation nodes. *Epoch* is the median time of a training epoch, sampling included, evaluation not. *To
best* is the median time from the start to the best epoch: preparing, training and validating. Loading libraries and
compiling kernels are in neither. *Memory* is the largest over seeds: on a CPU of the whole process, interpreter,
libraries and data set included (what earlier runs freed is given back first); on a GPU of all tensors. *Nodes a batch*
are the distinct nodes whose rows a training batch reads; what is computed once before training is not in it."""


@dataclass(frozen=True)
class Figures:
    """What a method reaches and costs, over seeds.

    Attributes:
        accuracy: mean of the test accuracy.
        accuracy_std: its standard deviation; None for one seed, as for macro-F1.
        macro_f1: mean.
        macro_f1_std: its standard deviation.
        val_accuracy: mean at the best epoch.
        epoch_seconds: median of the runs' medians.
        seconds_to_best: median, see :class:`mggcn.records.record.RunRecord`.
        total_seconds: median of preparing, training and testing.
        epochs: mean number run.
        best_epoch: mean.
        peak_memory_bytes: the largest.
        nodes_per_batch: mean.
        seconds_to_near_best: median, see :class:`mggcn.records.record.RunRecord`; None in older results.
    """

    accuracy: float
    accuracy_std: float | None
    macro_f1: float
    macro_f1_std: float | None
    val_accuracy: float
    epoch_seconds: float
    seconds_to_best: float
    total_seconds: float
    epochs: float
    best_epoch: float
    peak_memory_bytes: int
    nodes_per_batch: float
    seconds_to_near_best: float | None = None

    @classmethod
    def of(cls, records: Sequence[RunRecord]) -> "Figures":
        """From at least one record."""
        accuracies = [record.test_accuracy for record in records]
        macro_f1s = [record.test_macro_f1 for record in records]
        return cls(
            accuracy=statistics.fmean(accuracies),
            accuracy_std=_deviation(accuracies),
            macro_f1=statistics.fmean(macro_f1s),
            macro_f1_std=_deviation(macro_f1s),
            val_accuracy=statistics.fmean(record.val_accuracy for record in records),
            epoch_seconds=statistics.median(record.epoch_seconds for record in records),
            seconds_to_best=statistics.median(record.seconds_to_best for record in records),
            seconds_to_near_best=statistics.median(record.seconds_to_near_best for record in records),
            total_seconds=statistics.median(record.total_seconds for record in records),
            epochs=statistics.fmean(record.epochs for record in records),
            best_epoch=statistics.fmean(record.best_epoch for record in records),
            peak_memory_bytes=max(record.peak_memory_bytes for record in records),
            nodes_per_batch=statistics.fmean(record.nodes_per_batch for record in records),
        )


@dataclass(frozen=True)
class Summary:
    """One line of a comparison.

    Attributes:
        label: how the table calls it.
        method: what was trained.
        device: on what.
        seeds: how many were asked for.
        done: how many have a record.
        figures: over those; None where there are none.
        reasons: why others have none.
        published: the paper's accuracy, where it has one.
        published_seconds: the paper's ``epoch_seconds`` and ``total_seconds``, where it has them.
        grows: how the nodes of a batch grow according to the paper, such as ``O(b d^L)``.
    """

    label: str
    method: str
    device: str
    seeds: int
    done: int
    figures: Figures | None
    reasons: tuple[str, ...] = ()
    published: float | None = None
    published_seconds: Mapping[str, float] = field(default_factory=dict)
    grows: str = ""

    @property
    def difference(self) -> float | None:
        """How far the mean accuracy is above the paper's, where there are both."""
        return None if self.figures is None or self.published is None else self.figures.accuracy - self.published

    @classmethod
    def of(
        cls,
        label: str,
        method: str,
        records: Sequence[RunRecord],
        *,
        seeds: int,
        device: str,
        reasons: Sequence[str] = (),
        published: float | None = None,
        published_seconds: Mapping[str, float] | None = None,
        grows: str = "",
    ) -> "Summary":
        """From the records there are."""
        figures = Figures.of(records) if records else None
        told = tuple(reasons)
        return cls(label, method, device, seeds, len(records), figures, told, published, published_seconds or {}, grows)


Key = str | float | None


@dataclass(frozen=True)
class Column:
    """A column of a table of summaries.

    Attributes:
        heading: over it.
        key: what a line is sorted by in it; None where it has nothing there.
        text: what a line shows in it.
        wanted: the column is left out unless this holds for some line; None for a column that is always there.
    """

    heading: str
    key: Callable[[Summary], Key]
    text: Callable[[Summary], str]
    wanted: Callable[[Summary], bool] | None = None


def columns(summaries: Sequence[Summary], *, difference: bool = False) -> list[Column]:
    """The columns for these lines.

    Args:
        summaries: the lines.
        difference: whether the difference from the paper's accuracy is one.
    """
    named = [column for column in _COLUMNS if difference or column is not _DIFFERENCE]
    return [column for column in named if column.wanted is None or any(map(column.wanted, summaries))]


def headings(summaries: Sequence[Summary]) -> list[str]:
    """The columns that some of these fill."""
    return [column.heading for column in columns(summaries)]


def rows(summaries: Sequence[Summary]) -> list[list[str]]:
    """A row of text for each; one without figures has the reason instead."""
    return [[column.text(summary) for column in columns(summaries)] for summary in summaries]


def remarks(summaries: Sequence[Summary]) -> list[str]:
    """Why some seeds are missing, and in full why some lines are."""
    partly = [f"{one.label}, {reason}" for one in summaries if one.figures for reason in one.reasons]
    wholly = {_reason(one): None for one in summaries if not one.figures and _clause(_reason(one)) != _reason(one)}
    return [*partly, *(f"not run: {reason}" for reason in wholly)]


def notes(summaries: Sequence[Summary]) -> str:
    """What the columns mean."""
    shown = {column.heading for column in columns(summaries)}
    told = [NOTES, *(note for heading, note in _NOTES.items() if heading in shown)]
    if _GROWTH.heading in shown and any(one.method == "sgc" for one in summaries):
        told.append(_NOTE_ON_SGC)
    return "\n".join(told)


def markdown(summaries: Sequence[Summary]) -> str:
    """The table, and under it why some seeds are missing."""
    names = headings(summaries)
    table = [names, ["---", *["---:"] * (len(names) - 1)], *rows(summaries)]
    lines = ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in table]
    if told := remarks(summaries):
        lines += ["", *(f"- {escaped(note)}" for note in told)]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text as Markdown shows it, in a cell or elsewhere, in one line."""
    return " ".join(text.splitlines()).translate(_MARKDOWN)


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"


def _column(
    heading: str, key: Callable[[Summary], float | None], write: Callable[[float], str], *, optional: bool = True
) -> Column:
    """A column of one number; a line without it has nothing to show."""

    def text(summary: Summary) -> str:
        value = key(summary)
        return _NONE if value is None else write(value)

    return Column(heading, key, text, (lambda summary: key(summary) is not None) if optional else None)


def _figure(read: Callable[[Figures], float | None]) -> Callable[[Summary], float | None]:
    return lambda summary: None if summary.figures is None else read(summary.figures)


def _paper_seconds(heading: str, measure: str) -> Column:
    return _column(heading, lambda summary: summary.published_seconds.get(measure), lambda seconds: f"{seconds:,.4g}")


def _accuracy(summary: Summary) -> str:
    figures = summary.figures
    if figures is not None:
        return _percent(figures.accuracy, figures.accuracy_std)
    return f"not run: {_clause(_reason(summary))}" if summary.reasons else _NONE


def _macro_f1(summary: Summary) -> str:
    return _percent(summary.figures.macro_f1, summary.figures.macro_f1_std) if summary.figures else _NONE


def _seeds(summary: Summary) -> str:
    return str(summary.done) if summary.done == summary.seeds else f"{summary.done} of {summary.seeds}"


def _reason(summary: Summary) -> str:
    """Why there is nothing, without what it is that there is not."""
    return summary.reasons[0].partition(": ")[2] if summary.reasons else ""


def _clause(reason: str) -> str:
    """What of a reason a table has room for."""
    return re.split(r"; | \(", reason, maxsplit=1)[0]


def _percent(mean: float, deviation: float | None) -> str:
    return f"{mean * 100:.2f}" + ("" if deviation is None else f" ± {deviation * 100:.2f}")


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


_PAPER = _column("paper, %", lambda summary: summary.published, lambda share: f"{share * 100:.1f}")
_DIFFERENCE = _column("difference, points", lambda summary: summary.difference, lambda share: f"{share * 100:+.2f}")
_PAPER_EPOCH = _paper_seconds("epoch (paper, s)", "epoch_seconds")
_PAPER_TOTAL = _paper_seconds("total (paper, s)", "total_seconds")
_TOTAL = replace(_column("total", _figure(lambda one: one.total_seconds), duration), wanted=_PAPER_TOTAL.wanted)
_NEAR_BEST = _column("to 99 %", _figure(lambda one: one.seconds_to_near_best), duration)
_GROWTH = Column(
    "growth (paper)", lambda one: one.grows or None, lambda one: one.grows or _NONE, lambda one: one.grows != ""
)
_COLUMNS = (
    Column("method", lambda summary: summary.label, lambda summary: summary.label),
    _PAPER,
    _DIFFERENCE,
    Column("accuracy, %", _figure(lambda one: one.accuracy), _accuracy),
    Column("macro-F1, %", _figure(lambda one: one.macro_f1), _macro_f1),
    _PAPER_EPOCH,
    _column("epoch", _figure(lambda one: one.epoch_seconds if one.epochs else None), duration, optional=False),
    _NEAR_BEST,
    _column("to best", _figure(lambda one: one.seconds_to_best), duration, optional=False),
    _PAPER_TOTAL,
    _TOTAL,
    _column("epochs", _figure(lambda one: one.epochs), lambda count: f"{count:,.0f}", optional=False),
    _column("memory", _figure(lambda one: one.peak_memory_bytes), lambda n: f"{n / 2**20:,.0f} MiB", optional=False),
    _column("nodes a batch", _figure(lambda one: one.nodes_per_batch or None), lambda n: f"{n:,.0f}", optional=False),
    _GROWTH,
    Column("seeds", lambda summary: summary.done, _seeds),
)
_NOTES = {
    _NEAR_BEST.heading: """\
*To 99 %* is the same to the first epoch with 99 % of the best validation accuracy of any.""",
    _PAPER_EPOCH.heading: """\
*Paper, s* are the paper's seconds, on its own hardware: compare the ratios of methods, not the seconds.""",
    _PAPER_TOTAL.heading: """\
*Total* is the median time of preparing, training and testing, over as many epochs as were run.""",
    _GROWTH.heading: """\
*Growth* is the paper's order of the nodes that a batch involves: b targets a batch, d neighbours a node, s samples,
L layers.""",
}
_NOTE_ON_SGC = """\
SGC averages over neighbours once before training here, so its batches read their own targets only, at any depth."""
