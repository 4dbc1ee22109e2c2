"""From records to sections: rows of an experiment by device, and other records by data set, method and settings."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from mggcn.experiments._row import ExperimentInfo, PublishedLookup, Row, Section
from mggcn.training import RunRecord


def group(records: Iterable[RunRecord], published: PublishedLookup | None = None) -> list[Section]:
    """Put records that are of no experiment into sections, one for each data set.

    Of runs that differ only in their results, the last one counts.

    Args:
        records: of any methods and data sets.
        published: returns the published results for a record.
    """
    by_data: dict[tuple[str, str], list[RunRecord]] = {}
    for record in {_canonical(_inputs(record)): record for record in records}.values():
        by_data.setdefault(_data(record), []).append(record)
    names = [name for name, _ in by_data]
    sections = []
    for (name, digest), same_data in by_data.items():
        title = name if names.count(name) == 1 else f"{name} ({digest[:8] or 'no digest'})"
        sections.append(Section(title, _rows(same_data)))
    return [with_published(section, published) for section in sections]


def with_published(section: Section, published: PublishedLookup | None) -> Section:
    """The section with published results in the rows that have records."""
    if published is None:
        return section
    rows = (replace(row, published=published(row.records[0])) if row.records else row for row in section.rows)
    return replace(section, rows=tuple(rows))


def experiment_section(info: ExperimentInfo, dataset: str, rows: Sequence[Row]) -> Section:
    """The section of an experiment's data set; a row with runs on two devices becomes two rows."""
    split = [part for row in rows for part in _by_device(row)]
    several = len({row.device for row in split if row.device}) > 1
    labels = [f"{row.label} ({row.device})" if several and row.device else row.label for row in split]
    filled = [
        replace(row, label=label, seeds=max(info.seeds, row.done)) for row, label in zip(split, labels, strict=True)
    ]
    return Section(dataset, tuple(filled), info)


def plain_label(section: Section, row: Row) -> str:
    """The label of a row without the device that :func:`experiment_section` added."""
    devices = {each.device for each in section.rows if each.device}
    return row.label.removesuffix(f" ({row.device})") if len(devices) > 1 else row.label


def environments(sections: Iterable[Section]) -> list[dict[str, Any]]:
    """The distinct environments of all runs, in the order of the runs."""
    runs = (record for section in sections for row in section.rows for record in row.records)
    return list({_canonical(record.environment): record.environment for record in runs}.values())


def _data(record: RunRecord) -> tuple[str, str]:
    """The name and the digest of the data of a run; random splits of a data set belong together."""
    digest = "digest" if record.split_seed is None else "digest_without_split"
    return record.dataset["name"], record.dataset.get(digest) or ""


def _by_device(row: Row) -> list[Row]:
    by_device: dict[str, list[RunRecord]] = {}
    for record in sorted(row.records, key=lambda record: record.seed):
        by_device.setdefault(record.device, []).append(record)
    return [replace(row, device=device, records=tuple(runs)) for device, runs in by_device.items()] or [row]


def _rows(records: Sequence[RunRecord]) -> tuple[Row, ...]:
    alike: dict[str, list[RunRecord]] = {}
    for record in records:
        alike.setdefault(_canonical(_row_inputs(record)), []).append(record)
    groups = [tuple(sorted(runs, key=lambda record: record.seed)) for runs in alike.values()]
    firsts = [runs[0] for runs in groups]
    rows = [
        Row(label, first.method, first.device, len(runs), runs)
        for label, first, runs in zip(_labels(firsts), firsts, groups, strict=True)
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
    for name, value in record.settings.items():
        sharing = sum(name in other.settings and other.settings[name] == value for other in rivals)
        if sharing < len(rivals) and not (brief and 2 * sharing > len(rivals)):
            details.append(f"{name}={setting_text(value)}")
    return f"{record.method} ({', '.join(details)})" if details else record.method


def setting_text(value: object) -> str:
    """A setting as the command line takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _row_inputs(record: RunRecord) -> list[Any]:
    return [record.method, record.method_version, record.device, record.settings]


def _inputs(record: RunRecord) -> list[Any]:
    return [
        record.dataset["name"],
        record.dataset.get("digest") or "",
        record.split_seed,
        record.seed,
        *_row_inputs(record),
    ]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)
