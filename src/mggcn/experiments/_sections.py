"""Row: the runs of one line of a table; Section: the rows of one data set; and the sections of records.

Rows of an experiment are put together by device, other records by data set, method and settings.
"""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import msgspec

from mggcn.experiments._standing import Standings
from mggcn.runs import published_results
from mggcn.training import Finite, RunRecord, Whole, mean

_MEANS = ("val_accuracy", "epochs", "best_epoch", "nodes_per_batch")
_MEDIANS = ("epoch_seconds", "seconds_to_best", "seconds_to_near_best", "total_seconds")


@dataclass(frozen=True)
class Figures:
    """The results and costs of a method over its seeds; see :class:`mggcn.training.RunRecord` for what they measure.

    Times are medians, memory is the maximum, all others are means. A standard deviation is None for one seed. Areas
    under curves are also means over classes.
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
    seconds_to_near_best: float
    training_memory_bytes: int | None = None
    pr_auc: float | None = None
    pr_auc_std: float | None = None
    roc_auc: float | None = None
    roc_auc_std: float | None = None

    @classmethod
    def of(cls, records: Sequence[RunRecord]) -> "Figures":
        """The figures of at least one record."""

        def values(name: str) -> list[float]:
            return [getattr(record, name) for record in records]

        metrics: dict[str, list[float | None]] = {
            "accuracy": [*values("test_accuracy")],
            "macro_f1": [*values("test_macro_f1")],
            "pr_auc": [mean(record.ranking.pr_auc) if record.ranking else None for record in records],
            "roc_auc": [mean(record.ranking.roc_auc) if record.ranking else None for record in records],
        }
        figures: dict[str, Any] = {}
        for name, found in metrics.items():
            known = [value for value in found if value is not None]
            if len(known) == len(records):  # older records lack some metrics
                figures[name] = statistics.fmean(known)
                figures[f"{name}_std"] = statistics.stdev(known) if len(known) > 1 else None
        return cls(
            **figures,
            **{name: statistics.fmean(values(name)) for name in _MEANS},
            **{name: statistics.median(values(name)) for name in _MEDIANS},
            peak_memory_bytes=max(record.peak_memory_bytes for record in records),
            training_memory_bytes=max(record.training_memory_bytes or 0 for record in records) or None,
        )


@dataclass(frozen=True)
class Row:
    """The runs of one method with the same settings on the same device, one for each seed.

    Attributes:
        label: the name of the row in tables and charts.
        method: the name of the method.
        device: ``cpu`` or ``cuda``; empty if nothing was run.
        seeds: the number of runs that the row should have: one for each seed, on each split if there are several.
        records: the finished runs in the order of their seeds.
        reasons: why runs are missing.
        published: published results of the same data and settings, by what they measure.
        reference: results of other data or settings that an experiment shows in a column with a heading of its own.
        grows: how the number of nodes of a batch grows according to the paper, such as ``O(b d^L)``.
        specs: the digests of the runs in a ledger, finished or not.
    """

    label: str
    method: str
    device: str = ""
    seeds: int = 0
    records: tuple[RunRecord, ...] = ()
    reasons: tuple[str, ...] = ()
    published: Mapping[str, float] = field(default_factory=dict)
    reference: Mapping[str, Finite] = field(default_factory=dict)
    grows: str = ""
    specs: tuple[str, ...] = ()

    @property
    def done(self) -> int:
        """The number of finished runs."""
        return len(self.records)

    @cached_property
    def figures(self) -> Figures:
        """Results and costs over the seeds; the row must have a record."""
        return Figures.of(self.records)

    @property
    def splits(self) -> int:
        """The number of different splits of the finished runs."""
        return len({record.split_seed for record in self.records})

    @property
    def settings(self) -> Mapping[str, Any]:
        """Every setting of the runs; empty if nothing was run."""
        return self.records[0].settings if self.records else {}

    def summary(self) -> dict[str, Any]:
        """The row without its single runs, ready for JSON."""
        kept = ("label", "method", "device", "seeds", "done", "reasons", "published", "reference", "grows")
        figures = asdict(self.figures) if self.records else None
        return {name: getattr(self, name) for name in kept} | {"figures": figures}


class ExperimentInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of an experiment that its tables show.

    Attributes:
        name: the name of the experiment.
        title: one line.
        reproduces: the part of the paper that it reproduces.
        measure: what it measures, such as ``accuracy``.
        seeds: the number of runs that each row should have.
        reference: the heading of the column of reference results; empty if it has none.
    """

    name: str
    title: str
    reproduces: str
    measure: str
    seeds: Whole
    reference: str = ""


@dataclass(frozen=True)
class Section:
    """The rows of one data set, in the order of an experiment or the most accurate first.

    Attributes:
        dataset: the name of the data set.
        rows: at least one.
        experiment: None for runs that are of no experiment.
        problem: why the data set is not available; empty if it is.
    """

    dataset: str
    rows: tuple[Row, ...]
    experiment: ExperimentInfo | None = None
    problem: str = ""

    @property
    def title(self) -> str:
        """The name of the data set, after the title of the experiment."""
        info = self.experiment
        return f"{info.title or info.name}: {self.dataset}" if info else self.dataset

    @property
    def about(self) -> str:
        """The sizes and source of the data set, the notes of its runs, and what the experiment reproduces."""
        data = [record.dataset for row in self.measured for record in row.records]
        notes = dict.fromkeys(note for each in data for note in each.get("notes", ()))
        described = ". ".join(filter(None, [_describe(data[0]), *notes])) if data else ""
        reproduces = self.experiment.reproduces if self.experiment else ""
        return ". ".join(part for part in (described, f"Of the paper: {reproduces}" * bool(reproduces)) if part)

    @property
    def measured(self) -> list[Row]:
        """The rows that have records."""
        return [row for row in self.rows if row.records]

    @cached_property
    def standings(self) -> Standings:
        """How the rows stand against the most accurate, by label; of none if the experiment measures time."""
        return Standings.of({} if self.measures_time else {row.label: row.records for row in self.measured})

    def summaries(self) -> list[dict[str, Any]]:
        """The rows without their single runs, ready for JSON."""
        known = {label: asdict(standing) for label, standing in self.standings.by_label.items()}
        return [row.summary() | {"standing": known.get(row.label)} for row in self.rows]

    @property
    def measures_time(self) -> bool:
        """Whether the experiment measures seconds and not accuracy."""
        return self.experiment is not None and self.experiment.measure != "accuracy"


def _describe(dataset: Mapping[str, Any]) -> str:
    counts = [
        f"{dataset[key]:,} {name}"
        for key, name in (("num_nodes", "nodes"), ("num_edges", "edges"), ("num_features", "features"))
        if isinstance(dataset.get(key), int)
    ]
    if dataset.get("classes"):
        counts.append(f"{len(dataset['classes'])} classes")
    if dataset.get("split"):
        counts.append("split " + "/".join(f"{size:,}" for size in dataset["split"]))
    parts = (", ".join(counts), str(dataset.get("source") or ""))
    return ". ".join(part for part in parts if part)


def group(records: Iterable[RunRecord]) -> list[Section]:
    """Put records that are of no experiment into sections, one for each data set.

    Of runs that differ only in their results, the last one counts.

    Args:
        records: of any methods and data sets.
    """
    by_data: dict[tuple[str, str], dict[str, RunRecord]] = {}
    for record in records:
        # random splits of a data set belong together
        digest = "digest" if record.split_seed is None else "digest_without_split"
        same_data = by_data.setdefault((record.dataset["name"], record.dataset.get(digest) or ""), {})
        run = [record.dataset.get("digest"), record.split_seed, record.seed, *_of_row(record)]
        same_data[_canonical(run)] = record
    names = [name for name, _ in by_data]
    return [
        Section(
            name if names.count(name) == 1 else f"{name} ({digest[:8] or 'no digest'})", _rows([*same_data.values()])
        )
        for (name, digest), same_data in by_data.items()
    ]


def experiment_section(info: ExperimentInfo, dataset: str, rows: Sequence[Row]) -> Section:
    """The section of an experiment's data set; a row with runs on two devices becomes two rows."""
    split = [part for row in rows for part in _by_device(row)]
    several = len({row.device for row in split if row.device}) > 1
    filled = []
    for row in split:
        device = f" ({row.device})" if several and row.device and not row.label.endswith(f" ({row.device})") else ""
        filled.append(replace(row, label=row.label + device, seeds=max(info.seeds, row.done)))
    return Section(dataset, tuple(filled), info)


def environments(sections: Iterable[Section]) -> list[dict[str, Any]]:
    """The distinct environments of all runs, in the order of the runs."""
    runs = (record for section in sections for row in section.rows for record in row.records)
    return list({_canonical(record.environment): record.environment for record in runs}.values())


def _by_device(row: Row) -> list[Row]:
    by_device: dict[str, list[RunRecord]] = {}
    for record in row.records:
        by_device.setdefault(record.device, []).append(record)
    return [_filled(replace(row, device=device), runs) for device, runs in by_device.items()] or [row]


def _filled(row: Row, records: Iterable[RunRecord]) -> Row:
    """The row with records, and with the results that are published for the same data and settings."""
    runs = tuple(sorted(records, key=lambda record: record.seed))
    return replace(row, records=runs, published=published_results(runs[0].dataset, runs[0].method, runs[0].settings))


def _rows(records: Sequence[RunRecord]) -> tuple[Row, ...]:
    alike: dict[str, list[RunRecord]] = {}
    for record in records:
        alike.setdefault(_canonical(_of_row(record)), []).append(record)
    firsts = [min(runs, key=lambda record: record.seed) for runs in alike.values()]
    rows = [
        _filled(Row(label, first.method, first.device, len(runs)), runs)
        for label, first, runs in zip(_labels(firsts), firsts, alike.values(), strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: (-row.figures.accuracy, row.label)))


def _labels(firsts: Sequence[RunRecord]) -> list[str]:
    """A label for each row; settings that most rows of a method share are left out unless two labels become equal."""
    short = [_label(record, firsts, brief=True) for record in firsts]
    return [
        label if short.count(label) == 1 else _label(record, firsts, brief=False)
        for label, record in zip(short, firsts, strict=True)
    ]


def _label(record: RunRecord, firsts: Sequence[RunRecord], *, brief: bool) -> str:
    """The method, with the device, version and settings in which it differs from other rows of its section."""
    details = [record.device] if len({other.device for other in firsts}) > 1 else []
    rivals = [other for other in firsts if (other.method, other.device) == (record.method, record.device)]
    if len({other.method_version for other in rivals}) > 1:
        details.append(f"version {record.method_version}")
    for name, value in record.recipe_settings.items():
        sharing = sum(name in other.recipe_settings and other.recipe_settings[name] == value for other in rivals)
        if sharing < len(rivals) and not (brief and 2 * sharing > len(rivals)):
            details.append(f"{name}={setting_text(value)}")
    return f"{record.method} ({', '.join(details)})" if details else record.method


def setting_text(value: object) -> str:
    """A setting as the command line takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_row(record: RunRecord) -> list[Any]:
    """What the runs of a row have in common."""
    return [record.method, record.method_version, record.device, record.recipe_settings]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)
