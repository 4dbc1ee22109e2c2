"""The head of a page: a title that names its runs, and the main figures of a row with its confidence interval."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mggcn.experiments._rows import Row, Section
from mggcn.experiments._section_tables import ranges
from mggcn.experiments._table import duration
from mggcn.training import RunRecord

_NORMAL = 1.959964  # the 97.5 % quantile of the normal distribution
_MOST_NAMES = 4


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval of an accuracy; ``kind`` says of which kind it is."""

    low: float
    high: float
    kind: str

    def __str__(self) -> str:
        return f"95 % confidence interval {self.low * 100:.1f} to {self.high * 100:.1f} %: {self.kind}"


@dataclass(frozen=True)
class Fact:
    """A figure at the head of a page, with a note below it."""

    name: str
    value: str
    note: str = ""


def interval(row: Row) -> Interval | None:
    """The interval of a row's accuracy.

    Of one seed it is Wilson's interval for the number of test nodes, or None if the record does not hold that number;
    of several seeds the t interval of their mean.
    """
    mean, deviation, seeds = row.figures.accuracy, row.figures.accuracy_std, row.done
    if deviation is not None:
        from scipy.special import stdtrit

        half = float(stdtrit(seeds - 1, 0.975)) * deviation / math.sqrt(seeds)
        return Interval(max(0.0, mean - half), min(1.0, mean + half), f"t interval of the mean over {seeds} seeds")
    nodes = _test_nodes(row.records[0])
    return wilson(mean, nodes) if nodes else None


def wilson(share: float, count: int) -> Interval:
    """Wilson's score interval of a share that was observed in ``count`` nodes."""
    square = _NORMAL**2 / count
    centre = (share + square / 2) / (1 + square)
    half = _NORMAL / (1 + square) * math.sqrt(share * (1 - share) / count + square / (4 * count))
    return Interval(max(0.0, centre - half), min(1.0, centre + half), f"Wilson interval for {count:,} test nodes")


def facts(section: Section, row: Row) -> list[Fact]:
    """What a page says first about a row: method, data set, accuracy, macro-F1, epochs, time and memory."""
    figures, bounds = row.figures, interval(row)
    published = row.published.get("accuracy")
    notes = [str(bounds)] if bounds else []
    notes += [f"paper: {published * 100:.1f} %"] if published is not None else []
    deviation = "" if figures.accuracy_std is None else f" ± {figures.accuracy_std * 100:.2f}"
    found = [
        Fact("method", row.label, seeds(row.records)),
        Fact("data set", section.dataset, _size(row.records[0])),
        Fact("test accuracy", f"{figures.accuracy * 100:.2f}{deviation} %", "; ".join(notes)),
        Fact("test macro-F1", f"{figures.macro_f1 * 100:.2f} %"),
    ]
    if figures.epochs:
        digits, mean = (1, "mean over seeds") if row.done > 1 else (0, "")
        found.append(Fact("best epoch", f"{figures.best_epoch:,.{digits}f} of {figures.epochs:,.{digits}f}", mean))
    found.append(Fact("time to best epoch", duration(figures.seconds_to_best), f"on {row.device}"))
    return found


def title(sections: Sequence[Section]) -> str:
    """The name of a page: the run, or the experiments or methods with their data sets."""
    rows = [row for section in sections for row in section.rows]
    if len(rows) == 1 and not sections[0].experiment:
        of_seeds = f", {seeds(rows[0].records)}" if rows[0].records else ""
        return f"{rows[0].label} on {sections[0].dataset}{of_seeds}"
    groups: dict[str, list[Section]] = {}
    for section in sections:
        info = section.experiment
        groups.setdefault((info.title or info.name) if info else "", []).append(section)
    titles = []
    for name, group in groups.items():
        datasets = _listed(section.dataset for section in group)
        methods = _listed(row.label for section in group for row in section.rows)
        titles.append(f"{name}: {datasets}" if name else f"{methods} on {datasets}")
    return _listed(titles, "; ")


def seeds(records: Sequence[RunRecord]) -> str:
    """The seeds of records, consecutive ones as a range."""
    texts = [
        str(first) if count == 1 else f"{first} to {first + count - 1}"
        for first, count in ranges(record.seed for record in records)
    ]
    return f"seed{'s' * (len(records) > 1)} {', '.join(texts)}"


def _listed(names: Iterable[str], separator: str = ", ") -> str:
    unique = list(dict.fromkeys(names))
    more = [f"{len(unique) - _MOST_NAMES + 1} more"] if len(unique) > _MOST_NAMES else []
    shown = unique[: _MOST_NAMES - 1] if more else unique
    return separator.join([*shown, *more])


def _test_nodes(record: RunRecord) -> int:
    counted = sum(map(sum, record.test_confusion))
    split = record.dataset.get("split") or [0]
    return counted or int(split[-1])


def _size(record: RunRecord) -> str:
    nodes, edges = record.dataset.get("num_nodes"), record.dataset.get("num_edges")
    return ", ".join(f"{count:,} {name}" for count, name in ((nodes, "nodes"), (edges, "edges")) if count)
