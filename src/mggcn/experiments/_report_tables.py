"""Tables of a report, and the whole document in Markdown."""

import itertools
import json
import shlex
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from mggcn.experiments._grouping import environments, setting_text
from mggcn.experiments._record_tables import Table, escaped, pipes, remarks
from mggcn.experiments._record_tables import notes as column_notes
from mggcn.experiments._record_tables import table as table_of
from mggcn.experiments._row import Row, Section

NOTE_ON_COMMANDS = (
    "Each command trains the runs of one row again, with every setting; the name of a data set that mggcn does not "
    "know stands for its folder."
)
_NOTE_ON_PAPER = (
    "*Paper* is the result in the MG-GCN paper, shown only for the same data, split and settings as in the paper."
)
_NOTE_ON_DIFFERENCE = "*Difference* is the accuracy minus the paper's, in percentage points."


table = partial(table_of, difference=True)
"""The table of a section, with the difference from the paper if a row has a published accuracy."""


def provenance(sections: Sequence[Section]) -> Table:
    """For each row, the commands that train its runs and the numbers of their environments."""
    known = environments(sections)
    rows = [
        [section.short, row.label, _numbers(known, row), command]
        for section in sections
        for row in section.rows
        for command in commands(section, row)
    ]
    return Table(["data set", "method", "environment", "command"], rows, [[*row] for row in rows])


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


def notes(sections: Sequence[Section]) -> str:
    """What the columns mean."""
    texts = {line: None for section in sections for line in column_notes(section).splitlines()}
    headings = {heading for section in sections for heading in table(section).headings}
    if headings & {"paper, %", "epoch (paper, s)", "total (paper, s)"}:
        texts[_NOTE_ON_PAPER] = None
    if "difference, points" in headings:
        texts[_NOTE_ON_DIFFERENCE] = None
    return " ".join(texts)


def markdown(sections: Sequence[Section]) -> str:
    """The tables in Markdown."""
    parts = ["# Results"]
    for section in sections:
        parts += [f"## {escaped(section.title)}", escaped(section.about), pipes(table(section))]
        parts.append("\n".join(f"- {escaped(remark)}" for remark in remarks(section)))
    parts += [notes(sections), "## Commands", NOTE_ON_COMMANDS, pipes(provenance(sections), text_columns=4)]
    parts.append("## Environments")
    known = [escaped(environment(values)) for values in environments(sections)]
    parts.append("\n".join(f"{number}. {text}" for number, text in enumerate(known, 1)))
    return "\n\n".join(part for part in parts if part) + "\n"


def ranges(seeds: Iterable[int]) -> list[tuple[int, int]]:
    """First seed and length of each range of consecutive seeds."""
    groups = itertools.groupby(enumerate(seeds), key=lambda pair: pair[1] - pair[0])
    ranges = [[seed for _, seed in pairs] for _, pairs in groups]
    return [(consecutive[0], len(consecutive)) for consecutive in ranges]


def _numbers(known: list[dict[str, Any]], row: Row) -> str:
    used = [record.environment for record in row.records]
    return ", ".join(str(number) for number, values in enumerate(known, 1) if values in used)
