"""Which records belong together: a section for each data set, and in it a line for each method with its settings."""

import json
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mggcn.record import RunRecord
from mggcn.summary import Figures, Summary

Published = Callable[[RunRecord], float | None]


@dataclass(frozen=True)
class Line:
    """The runs of one method with the same settings on the same device, one for each seed.

    Attributes:
        records: in the order of their seeds.
        summary: what they say together.
    """

    records: tuple[RunRecord, ...]
    summary: Summary

    @property
    def label(self) -> str:
        """How tables and charts call it."""
        return self.summary.label

    @property
    def figures(self) -> Figures:
        """Over the seeds."""
        return Figures.of(self.records)

    @property
    def difference(self) -> float | None:
        """How far the mean accuracy is above the paper's, where it has one."""
        published = self.summary.published
        return None if published is None else self.figures.accuracy - published

    @property
    def commands(self) -> list[str]:
        """What trains these runs again, a command for each stretch of consecutive seeds."""
        first = self.records[0]
        settings = [f"{name}={_written(value)}" for name, value in first.settings.items()]
        changes = ["--set", *settings] if settings else []
        data = str(first.dataset.get("path") or first.dataset["name"])
        start = ["mggcn", "train", data, "--method", first.method, "--device", first.device]
        return [
            shlex.join([*start, "--seed", str(seed), "--seeds", str(count), *changes])
            for seed, count in _stretches(record.seed for record in self.records)
        ]


@dataclass(frozen=True)
class Section:
    """The lines of one data set, the most accurate first.

    Attributes:
        title: the data set's name.
        about: its sizes, and where it is from.
        lines: at least one.
    """

    title: str
    about: str
    lines: tuple[Line, ...]

    @property
    def summaries(self) -> list[Summary]:
        """Of the lines, in their order."""
        return [line.summary for line in self.lines]


def sections(records: Sequence[RunRecord], published: Published) -> list[Section]:
    """Sort records into sections; of runs that differ in nothing but their outcome the last one counts.

    Args:
        records: of any methods and data sets.
        published: gives the paper's accuracy for a record, where it has one.
    """
    by_data: dict[tuple[str, str], list[RunRecord]] = {}
    for record in {_canonical(_run(record)): record for record in records}.values():
        by_data.setdefault((record.dataset["name"], str(record.dataset.get("digest") or "")), []).append(record)
    names = [name for name, _ in by_data]
    return [
        Section(
            name if names.count(name) == 1 else f"{name} ({digest[:8] or 'no digest'})",
            _about(own[0].dataset),
            _lines(own, published),
        )
        for (name, digest), own in by_data.items()
    ]


def environments(found: Iterable[Section]) -> list[dict[str, Any]]:
    """The distinct environments of all runs, in the order in which they are met."""
    runs = (record for section in found for line in section.lines for record in line.records)
    return list({_canonical(record.environment): record.environment for record in runs}.values())


def _lines(records: Sequence[RunRecord], published: Published) -> tuple[Line, ...]:
    alike: dict[str, list[RunRecord]] = {}
    for record in records:
        alike.setdefault(_canonical([record.method, record.device, record.settings]), []).append(record)
    groups = [tuple(sorted(own, key=lambda record: record.seed)) for own in alike.values()]
    firsts = [own[0] for own in groups]
    lines = [
        Line(
            own,
            Summary.of(
                _label(own[0], firsts),
                own[0].method,
                own,
                seeds=len(own),
                device=own[0].device,
                published=published(own[0]),
            ),
        )
        for own in groups
    ]
    return tuple(sorted(lines, key=lambda line: (-line.figures.accuracy, line.label)))


def _label(record: RunRecord, firsts: Sequence[RunRecord]) -> str:
    """The method, with the settings and the device that tell it from other lines of the same section."""
    rivals = [one for one in firsts if one.method == record.method and one.device == record.device]
    names = [
        name
        for name, value in record.settings.items()
        if any(name not in one.settings or one.settings[name] != value for one in rivals)
    ]
    device = [record.device] if len({one.device for one in firsts}) > 1 else []
    told = [*device, *(f"{name}={_written(record.settings[name])}" for name in names)]
    return record.method + (f" ({', '.join(told)})" if told else "")


def _about(dataset: dict[str, Any]) -> str:
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
