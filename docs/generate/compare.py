"""The tables of the page that compares all methods, from ``results/compare.json``; rows without records say so."""

from dataclasses import fields

from generate.committed import about, packed, sections
from generate.repository import EXPERIMENTS
from mggcn import experiments
from mggcn.methods import Plan, describe, published
from mggcn.methods.plan import WITHOUT_EFFECT
from mggcn.records import Row, Section
from mggcn.records.tables import NOTES, markdown
from mggcn.train import Training


def tables() -> str:
    """A table for each data set of ``experiments/compare.toml``, with every method."""
    experiment = experiments.read(EXPERIMENTS / "compare.toml")
    files = [path for path in packed() if about(path) == experiment.name]
    finished = {section.dataset: section for path in files for section in sections(path)}
    parts = []
    for dataset in experiment.datasets:
        rows: list[Row] = []
        older: list[str] = []
        for variant, plan in zip(experiment.variants, experiment.plans(dataset), strict=True):
            measured = (
                [row for row in finished[dataset].rows if row.method == variant.label] if dataset in finished else []
            )
            rows += measured or [Row(variant.label, variant.label, seeds=experiment.seeds)]
            older += [f"- {row.label}: {reason}" for row in measured if (reason := _older(row, plan))]
        parts += [f"## {dataset.capitalize()}", markdown(Section(dataset, tuple(rows), experiment.info))]
        if older:
            parts += ["Rows whose records are older than the code or the settings above:", "\n".join(older)]
    return "\n\n".join([*parts, NOTES])


def settings() -> str:
    """A table of the settings on the compared data sets that are not those of every method, with their sources."""
    datasets = experiments.read(EXPERIMENTS / "compare.toml").datasets
    lines = ["| methods | data sets | settings | source |", "|---|---|---|---|"]
    for entry in published.published().settings:
        named = [dataset for dataset in datasets if not {dataset, "*"}.isdisjoint(entry.datasets)]
        if named and entry.preset == "paper":
            values = ", ".join(f"`{name}={describe.written(value)}`" for name, value in entry.values.items())
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
        f"`{name}={describe.written(before[name])}`, now `{describe.written(value)}`"
        for name, value in plan.settings.items()
        if name not in WITHOUT_EFFECT and before[name] != value
    ]
    if row.records[0].method_version < plan.method.version:
        parts.append(f"version {row.records[0].method_version} of the code, now {plan.method.version}")
    return "; ".join(parts)
