"""The tables of the page that compares all methods, from ``results/compare.json``; rows without records say so."""

from generate.committed import about, packed, sections
from generate.repository import EXPERIMENTS
from mggcn import experiments
from mggcn.records import Row, Section
from mggcn.records.tables import NOTES, markdown


def tables() -> str:
    """A table for each data set of ``experiments/compare.toml``, with every method."""
    experiment = experiments.read(EXPERIMENTS / "compare.toml")
    files = [path for path in packed() if about(path) == experiment.name]
    finished = {section.dataset: section for path in files for section in sections(path)}
    parts = []
    for dataset in experiment.datasets:
        rows: list[Row] = []
        for variant in experiment.variants:
            measured = (
                [row for row in finished[dataset].rows if row.method == variant.label] if dataset in finished else []
            )
            rows += measured or [Row(variant.label, variant.label, seeds=experiment.seeds)]
        parts += [f"## {dataset.capitalize()}", markdown(Section(dataset, tuple(rows), experiment.info))]
    return "\n\n".join([*parts, NOTES])
