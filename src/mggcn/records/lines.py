"""Which records belong together: a section for each data set, and in it a line for each method with its settings.

Runs of an experiment are sorted as its sheet says: a section for each of its data sets, lines in its order and with
its labels.
"""

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mggcn.records.record import RunRecord
from mggcn.records.sheet import DataTable, Entry, Sheet
from mggcn.records.summary import Figures, Summary

Published = Callable[[RunRecord], float | None]


@dataclass(frozen=True)
class Source:
    """Records that lie together.

    Attributes:
        records: by the digests of their specs.
        sheet: of the experiment that they are of, if any.
    """

    records: Mapping[str, RunRecord]
    sheet: Sheet | None = None

    @classmethod
    def of(cls, records: Iterable[RunRecord]) -> "Source":
        """Records that are of no experiment."""
        return cls({str(number): record for number, record in enumerate(records)})


@dataclass(frozen=True)
class Line:
    """The runs of one method with the same settings on the same device, one for each seed.

    Attributes:
        records: in the order of their seeds; none where an experiment's line could not be run.
        summary: what they say together.
        dataset: what a command names to have the data.
        entry: what the experiment says of it, if it is of one.
    """

    records: tuple[RunRecord, ...]
    summary: Summary
    dataset: str
    entry: Entry | None = None

    @property
    def label(self) -> str:
        """How tables and charts call it."""
        return self.summary.label

    @property
    def figures(self) -> Figures:
        """Over the seeds, of which there must be one."""
        return self.summary.figures or Figures.of(self.records)

    @property
    def commands(self) -> list[str]:
        """What trains these runs again, a command for each stretch of consecutive seeds."""
        if not self.records:
            return []
        first = self.records[0]
        settings = [f"{name}={_written(value)}" for name, value in first.settings.items()]
        changes = ["--set", *settings] if settings else []
        start = ["mggcn", "train", self.dataset, "--method", first.method, "--device", first.device]
        return [
            shlex.join([*start, "--seed", str(seed), "--seeds", str(count), *changes])
            for seed, count in _stretches(record.seed for record in self.records)
        ]


@dataclass(frozen=True)
class Section:
    """The lines of one data set: the most accurate first, or as an experiment orders them.

    Attributes:
        title: the data set's name, after the title of the experiment if it is of one.
        dataset: the data set's name.
        about: its sizes, where it is from, and what of the paper the experiment is.
        lines: at least one.
        sheet: of the experiment, if it is of one.
    """

    title: str
    dataset: str
    about: str
    lines: tuple[Line, ...]
    sheet: Sheet | None = None

    @property
    def short(self) -> str:
        """Its title where there is little room."""
        return f"{self.sheet.name}: {self.dataset}" if self.sheet else self.title

    @property
    def summaries(self) -> list[Summary]:
        """Of the lines, in their order."""
        return [line.summary for line in self.lines]

    @property
    def run(self) -> list[Line]:
        """The lines that have records."""
        return [line for line in self.lines if line.records]


def sections(sources: Sequence[Source], published: Published) -> list[Section]:
    """Sort records into sections, those of experiments first.

    Of runs of no experiment that differ in nothing but their outcome the last one counts.

    Args:
        sources: records of any methods and data sets.
        published: gives the paper's accuracy for a record of no experiment, where it has one.
    """
    found: list[Section] = []
    loose: list[RunRecord] = []
    for source in sources:
        tables = source.sheet.tables if source.sheet else ()
        found += [_of_experiment(source, source.sheet, table) for table in tables if source.sheet]
        named = {spec for table in tables for entry in table.entries for spec in entry.specs}
        loose += [record for spec, record in source.records.items() if spec not in named]
    return found + _of_data_sets(loose, published)


def environments(found: Iterable[Section]) -> list[dict[str, Any]]:
    """The distinct environments of all runs, in the order in which they are met."""
    runs = (record for section in found for line in section.lines for record in line.records)
    return list({_canonical(record.environment): record.environment for record in runs}.values())


def _of_experiment(source: Source, sheet: Sheet, table: DataTable) -> Section:
    own = {entry.label: _by_device(source, entry) for entry in table.entries}
    devices = {device for groups in own.values() for device in groups}
    lines = []
    for entry in table.entries:
        for device, records in (own[entry.label] or {"": ()}).items():
            summary = Summary.of(
                f"{entry.label} ({device})" if device and len(devices) > 1 else entry.label,
                entry.method,
                records,
                seeds=max(sheet.seeds, len(records)),
                device=device,
                reasons=entry.reasons,
                published=entry.paper.get("accuracy"),
                published_seconds={name: value for name, value in entry.paper.items() if name != "accuracy"},
                grows=entry.grows,
            )
            path = str(records[0].dataset.get("path") or "") if records else ""
            lines.append(Line(records, summary, path or table.dataset, entry))
    first = next((line.records[0].dataset for line in lines if line.records), {})
    reproduces = f"Of the paper: {sheet.reproduces}"
    about = ". ".join(part for part in (_about(first), reproduces) if part)
    return Section(f"{sheet.title}: {table.dataset}", table.dataset, about, tuple(lines), sheet)


def _by_device(source: Source, entry: Entry) -> dict[str, tuple[RunRecord, ...]]:
    found: dict[str, list[RunRecord]] = {}
    for record in (source.records[spec] for spec in entry.specs if spec in source.records):
        found.setdefault(record.device, []).append(record)
    return {device: tuple(sorted(own, key=lambda record: record.seed)) for device, own in found.items()}


def _of_data_sets(records: Sequence[RunRecord], published: Published) -> list[Section]:
    by_data: dict[tuple[str, str], list[RunRecord]] = {}
    for record in {_canonical(_run(record)): record for record in records}.values():
        by_data.setdefault((record.dataset["name"], str(record.dataset.get("digest") or "")), []).append(record)
    names = [name for name, _ in by_data]
    found = []
    for (name, digest), own in by_data.items():
        title = name if names.count(name) == 1 else f"{name} ({digest[:8] or 'no digest'})"
        found.append(Section(title, title, _about(own[0].dataset), _lines(own, published)))
    return found


def _lines(records: Sequence[RunRecord], published: Published) -> tuple[Line, ...]:
    alike: dict[str, list[RunRecord]] = {}
    for record in records:
        alike.setdefault(_canonical([record.method, record.device, record.settings]), []).append(record)
    groups = [tuple(sorted(own, key=lambda record: record.seed)) for own in alike.values()]
    labels = _labels([own[0] for own in groups])
    lines = [
        Line(
            own,
            Summary.of(label, own[0].method, own, seeds=len(own), device=own[0].device, published=published(own[0])),
            str(own[0].dataset.get("path") or own[0].dataset["name"]),
        )
        for own, label in zip(groups, labels, strict=True)
    ]
    return tuple(sorted(lines, key=lambda line: (-line.figures.accuracy, line.label)))


def _labels(firsts: Sequence[RunRecord]) -> list[str]:
    """A label for each line, the usual settings left out where that does not make two alike."""
    short = [_label(record, firsts, brief=True) for record in firsts]
    return [
        label if short.count(label) == 1 else _label(record, firsts, brief=False)
        for label, record in zip(short, firsts, strict=True)
    ]


def _label(record: RunRecord, firsts: Sequence[RunRecord], *, brief: bool) -> str:
    """The method, with the settings and the device that tell it from other lines of the same section.

    Args:
        record: of the line.
        firsts: one of each line of the section.
        brief: leave out a setting that most lines of the method share.
    """
    rivals = [one for one in firsts if one.method == record.method and one.device == record.device]
    told = [record.device] if len({one.device for one in firsts}) > 1 else []
    for name, value in record.settings.items():
        sharing = sum(name in one.settings and one.settings[name] == value for one in rivals)
        if sharing < len(rivals) and not (brief and 2 * sharing > len(rivals)):
            told.append(f"{name}={_written(value)}")
    return record.method + (f" ({', '.join(told)})" if told else "")


def _about(dataset: Mapping[str, Any]) -> str:
    counts = [
        f"{dataset[key]:,} {name}"
        for key, name in (("num_nodes", "nodes"), ("num_edges", "edges"), ("num_features", "features"))
        if isinstance(dataset.get(key), int)
    ]
    if dataset.get("classes"):
        counts.append(f"{len(dataset['classes'])} classes")
    if dataset.get("split"):
        counts.append("split " + "/".join(f"{size:,}" for size in dataset["split"]))
    return ". ".join(part for part in (", ".join(counts), str(dataset.get("source") or "")) if part)


def _run(record: RunRecord) -> list[Any]:
    data = record.dataset
    return [data["name"], data.get("digest") or "", record.method, record.device, record.seed, record.settings]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _stretches(seeds: Iterable[int]) -> list[tuple[int, int]]:
    """First seed and count of each run of consecutive ones."""
    found: list[tuple[int, int]] = []
    for seed in seeds:
        if found and seed == sum(found[-1]):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((seed, 1))
    return found
