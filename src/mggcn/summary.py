"""Summary: what the records of one method say together, and a Markdown table of several."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from mggcn.record import RunRecord

_NONE = "–"
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
        seconds_to_best: median, see :class:`mggcn.record.RunRecord`, as for the next.
        seconds_to_near_best: median.
        total_seconds: median of preparing, training and testing.
        epochs: mean number run.
        best_epoch: mean.
        peak_memory_bytes: the largest.
        nodes_per_batch: mean.
    """

    accuracy: float
    accuracy_std: float | None
    macro_f1: float
    macro_f1_std: float | None
    val_accuracy: float
    epoch_seconds: float
    seconds_to_best: float
    seconds_to_near_best: float
    total_seconds: float
    epochs: float
    best_epoch: float
    peak_memory_bytes: int
    nodes_per_batch: float

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
    """

    label: str
    method: str
    device: str
    seeds: int
    done: int
    figures: Figures | None
    reasons: tuple[str, ...] = ()
    published: float | None = None

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
    ) -> "Summary":
        """From the records there are."""
        figures = Figures.of(records) if records else None
        return cls(label, method, device, seeds, len(records), figures, tuple(reasons), published)


HEADINGS = ("method", "accuracy, %", "macro-F1, %", "epoch", "to best", "epochs", "memory", "nodes a batch", "seeds")


def headings(summaries: Sequence[Summary]) -> list[str]:
    """The columns that some of these fill."""
    first, *others = HEADINGS
    return [first, *(["paper, %"] if _have_published(summaries) else []), *others]


def rows(summaries: Sequence[Summary]) -> list[list[str]]:
    """A row of text for each; one without figures has the reason instead."""
    with_paper = _have_published(summaries)
    return [[summary.label, *([_paper(summary)] if with_paper else []), *_cells(summary)] for summary in summaries]


def markdown(summaries: Sequence[Summary]) -> str:
    """The table, and under it why some seeds are missing."""
    names = headings(summaries)
    table = [names, ["---", *["---:"] * (len(names) - 1)], *rows(summaries)]
    lines = ["| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in table]
    partly = [f"{one.label}, {reason}" for one in summaries if one.figures for reason in one.reasons]
    if partly:
        lines += ["", *(f"- {_escaped(note)}" for note in partly)]
    return "\n".join(lines) + "\n"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"


def _cells(summary: Summary) -> list[str]:
    figures = summary.figures
    count = str(summary.done) if summary.done == summary.seeds else f"{summary.done} of {summary.seeds}"
    if figures is None:
        told = f"not run: {summary.reasons[0].partition(': ')[2]}" if summary.reasons else _NONE
        return [told, *[_NONE] * 6, count]
    return [
        _percent(figures.accuracy, figures.accuracy_std),
        _percent(figures.macro_f1, figures.macro_f1_std),
        duration(figures.epoch_seconds) if figures.epochs else _NONE,
        duration(figures.seconds_to_best),
        f"{figures.epochs:,.0f}",
        f"{figures.peak_memory_bytes / 2**20:,.0f} MiB",
        f"{figures.nodes_per_batch:,.0f}" if figures.nodes_per_batch else _NONE,
        count,
    ]


def _paper(summary: Summary) -> str:
    return _NONE if summary.published is None else f"{summary.published * 100:.1f}"


def _have_published(summaries: Sequence[Summary]) -> bool:
    return any(summary.published is not None for summary in summaries)


def _percent(mean: float, deviation: float | None) -> str:
    return f"{mean * 100:.2f}" + ("" if deviation is None else f" ± {deviation * 100:.2f}")


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
