"""The tables of the page that compares all methods, from the records under ``results``; rows without records say so."""

import math
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from generate.against_time import figure
from generate.charts import svg
from generate.committed import about, packed, sections
from generate.repository import EXPERIMENTS
from mggcn import experiments
from mggcn.experiments import _budgets as budgets
from mggcn.experiments._report_tables import Table, duration, percent, table_of_lines
from mggcn.experiments._sections import Row, Section
from mggcn.methods import METHODS, published
from mggcn.methods.settings import written
from mggcn.runs import WITHOUT_EFFECT, DataIdentity, Plan
from mggcn.training._training import Training

_OURS = "mg-gcn"
_HEADINGS = [
    "method",
    "its own paper, %",
    "MG-GCN's paper, %",
    "papers' settings here, %",
    "defaults here, %",
    "tuned here, %",
    "to best, tuned",
]
_NOT_THERE = "–"
_MOST_STEPS, _WIDTH = 60, 660

Rows = Mapping[str, Mapping[str, Row]]
"""Rows by data set and method."""


def tables() -> str:
    """For each data set a table of all methods, the chart of the tuned ones, and which of them is first."""
    experiment = experiments.read(EXPERIMENTS / "compare.toml")
    as_published, default, tuned = (rows_of(name) for name in (experiment.name, "default", "tuned-"))
    parts = []
    for dataset in dict.fromkeys([*experiment.datasets, *default, *tuned]):
        here, found = as_published.get(dataset, {}), tuned.get(dataset, {})
        parts += [f"## {dataset.capitalize()}", _table(dataset, here, default.get(dataset, {}), found).markdown()]
        if found:
            section = Section(dataset, tuple(found.values()))
            parts += [_first(found), figure(section), _budgets(section)]
        if dataset in experiment.datasets:
            plans = zip(experiment.variants, experiment.plans(DataIdentity(dataset)), strict=True)
            reasons = [
                (variant.label, _older(here[variant.label], plan)) for variant, plan in plans if variant.label in here
            ]
            older = [f"- {label}: {reason}" for label, reason in reasons if reason]
            parts += (
                ["Rows whose records are older than the code or the settings above:", "\n".join(older)] if older else []
            )
    return "\n\n".join(parts)


def summary() -> str:
    """For each data set MG-GCN beside the best of the other methods, with the defaults and tuned, and their times."""
    default, tuned = rows_of("default"), rows_of("tuned-")
    accuracies, rest = [], []
    for dataset in dict.fromkeys([*experiments.read(EXPERIMENTS / "default.toml").datasets, *tuned]):
        pairs = [(rows.get(dataset, {}).get(_OURS), _best_other(rows.get(dataset, {}))) for rows in (default, tuned)]
        accuracies.append([dataset, *(cell for ours, best in pairs for cell in (_accuracy(ours), _named(best)))])
        first, ours = _best(tuned.get(dataset, {})), pairs[0][0]
        difference = f"{(ours.figures.accuracy - first.figures.accuracy) * 100:+.2f}" if first and ours else _NOT_THERE
        timed = (tuned.get(dataset, {}).get(_OURS), first)
        rest.append([dataset, difference, *(duration(r.figures.seconds_to_best) if r else _NOT_THERE for r in timed)])
    heads = ["data set", *(f"{kind}: {who}" for kind in ("default", "tuned") for who in ("MG-GCN, %", "best other, %"))]
    others = ["data set", "default less the best tuned", "to best, tuned: MG-GCN", "the most accurate method"]
    return "\n\n".join(table_of_lines(head, rows).markdown() for head, rows in ((heads, accuracies), (others, rest)))


def strongest() -> str:
    """For each data set the default of MG-GCN beside the most accurate of the strongest other methods."""
    heads = [
        "data set",
        "MG-GCN's default, %",
        "its time",
        "the most accurate other, %",
        "its time",
        "MG-GCN is",
        "runs",
    ]
    rows = []
    for dataset, found in rows_of("strongest-").items():
        ours, other = found[_OURS], _best_other(found)
        assert other is not None  # noqa: S101  (the experiments have five methods)
        standing = Section(dataset, tuple(found.values())).standings.by_label.get(_OURS)
        times = [duration(row.figures.total_seconds) for row in (ours, other)]
        cells = [_accuracy(ours), times[0], f"{other.method} {_accuracy(other)}", times[1]]
        rows.append([dataset, *cells, standing.text if standing else _NOT_THERE, str(ours.done)])
    return table_of_lines(heads, rows).markdown()


def _best_other(rows: Mapping[str, Row]) -> Row | None:
    return _best({method: row for method, row in rows.items() if method != _OURS})


def _named(row: Row | None) -> str:
    """The method and the accuracy of a row, with the number of its seeds if some are missing."""
    if row is None:
        return "not run yet"
    seeds = "" if row.done == row.seeds else f" ({row.done} of {row.seeds} seeds)"
    return f"{row.method} {row.figures.accuracy * 100:.2f}{seeds}"


def _best(rows: Mapping[str, Row]) -> Row | None:
    """The row with the highest mean accuracy."""
    return max(rows.values(), key=lambda row: row.figures.accuracy, default=None)


def rows_of(name: str) -> Rows:
    """The rows with records of the experiments whose names start like this, by data set and method."""
    found: dict[str, dict[str, Row]] = {}
    for path in packed():
        if about(path).startswith(name):
            for section in sections(path):
                found.setdefault(section.dataset, {}).update({row.method: row for row in section.measured})
    return found


def _table(dataset: str, here: Mapping[str, Row], default: Mapping[str, Row], tuned: Mapping[str, Row]) -> Table[Any]:
    own, papers = (_published(table, dataset) for table in (published.OWN, "accuracy"))
    too_slow = _too_slow(dataset)
    rows = [
        [
            method,
            own.get(method, _NOT_THERE),
            papers.get(method, _NOT_THERE),
            _accuracy(here.get(method)),
            _accuracy(default.get(method)),
            "too slow" if method in too_slow else _accuracy(tuned.get(method)),
            duration(tuned[method].figures.seconds_to_best) if method in tuned else _NOT_THERE,
        ]
        for method in METHODS
    ]
    return table_of_lines(_HEADINGS, rows)


def _too_slow(dataset: str) -> set[str]:
    """The methods whose search was not finished in its time, which the file of what it found names."""
    for path in sorted((EXPERIMENTS / "tuned").glob("*.toml")):
        if dataset in experiments.read(path).datasets:
            named = re.search(r"^# Left out, .*: (.+)\.$", path.read_text(), re.MULTILINE)
            return set(named[1].split(", ")) if named else set()
    return set()


def _published(table: str, dataset: str) -> dict[str, str]:
    found = published.table(table)
    rows = found.rows if found else []
    return {row.method: f"{row.accuracy * 100:.1f}" for row in rows if row.dataset == dataset and row.accuracy}


def _accuracy(row: Row | None) -> str:
    if row is None:
        return "not run yet"
    seeds = "" if row.done == row.seeds else f" ({row.done} of {row.seeds} seeds)"
    return percent(row.figures.accuracy, row.figures.accuracy_std) + seeds


def _budgets(section: Section) -> str:
    """Accuracy against time budgets, with a caption."""
    picture = svg(budgets.chart(section, _MOST_STEPS), _WIDTH)
    return f'<div class="charts"><figure>{picture}</figure></div>\n\n{budgets.NOTE}'


def _first(tuned: Mapping[str, Row]) -> str:
    """A sentence on the most accurate tuned method, and on how MG-GCN stands against it."""
    best = _best(tuned)
    assert best is not None  # noqa: S101  (only called with rows)
    ours = tuned.get(_OURS)
    if ours is None:
        return f"Tuned, {best.method} is first; MG-GCN has not been run."
    standings = Section("", tuple(tuned.values())).standings
    standing = standings.by_label.get(ours.label)
    ahead = best.figures.accuracy - ours.figures.accuracy
    if standing is not None and standing.word == "tied":
        which = f"{best.method}, which has {ahead * 100:.2f} points more" if ahead else "others"
        return f"Tuned, MG-GCN is tied with {which}: chance may explain the difference. ({standings.decided}.)"
    if best.method == _OURS:
        return f"Tuned, MG-GCN is first of {len(tuned)} methods."
    error = math.hypot(*((row.figures.accuracy_std or 0) / math.sqrt(row.done) for row in (best, ours)))
    errors = f", {ahead / error:.1f} standard errors of the difference" if error else ""
    place = 1 + sum(row.figures.accuracy > ours.figures.accuracy for row in tuned.values())
    return (
        f"**MG-GCN is not first here.** Tuned, {best.method} has {ahead * 100:.2f} points more{errors}; MG-GCN is "
        f"number {place} of {len(tuned)}." + (f" ({standings.decided}.)" if standing else "")
    )


def settings() -> str:
    """A table of the settings on the compared data sets that are not those of every method, with their sources."""
    datasets = experiments.read(EXPERIMENTS / "compare.toml").datasets
    lines = ["| methods | data sets | settings | source |", "|---|---|---|---|"]
    for entry in published.published().settings:
        named = [dataset for dataset in datasets if not {dataset, "*"}.isdisjoint(entry.datasets)]
        if named and entry.preset == "paper":
            values = ", ".join(f"`{name}={written(value)}`" for name, value in entry.values.items())
            methods = "all" if entry.methods == ["*"] else ", ".join(entry.methods)
            where = "all" if len(named) == len(datasets) else ", ".join(named)
            lines.append(f"| {methods} | {where} | {values} | {entry.source} |")
    return "\n".join(lines)


def _older(row: Row, plan: Plan) -> str:
    """In what the records of a row differ from the current code and settings; empty if they do not."""
    if not row.records:
        return ""
    defaults = {field.name: field.default for kind in (type(plan.method), Training) for field in fields(kind)}
    before = {name: row.settings.get(name, defaults[name]) for name in plan.settings}
    parts = [
        f"`{name}={written(before[name])}`, now `{written(value)}`"
        for name, value in plan.settings.items()
        if name not in WITHOUT_EFFECT and before[name] != value
    ]
    if row.records[0].method_version < plan.method.version:
        parts.append(f"version {row.records[0].method_version} of the code, now {plan.method.version}")
    return "; ".join(parts)
