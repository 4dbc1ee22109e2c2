"""Write, for each data set, the experiment of MG-GCN's default with the strongest other methods beside it.

    python benchmarks/strongest.py --runs 5
    python benchmarks/strongest.py amazon-computers coauthor-cs --runs 3
    mggcn experiment run experiments/strongest/cora.toml --jobs 2

Strongest are the methods with the highest mean test accuracies in the records under ``results``, each with the more
accurate of its default and its tuned settings: what MG-GCN has to be compared with, selected in their favour. Data sets
with a published split have several seeds of it, the others as many random splits.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import tomli_w

from mggcn import experiments
from mggcn.experiments import read_records
from mggcn.experiments._definition import folder_name

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments"
OURS = "mg-gcn"
WITH_SPLIT = ("cora", "citeseer", "pubmed")
"""The data sets with a published split."""


def measured(dataset: str) -> Iterator[tuple[float, str, Mapping[str, object]]]:
    """The mean test accuracy of each other method with its default, and with its tuned settings, which come third."""
    tuned = experiments.read(EXPERIMENTS / "tuned" / f"{folder_name(dataset)}.toml")
    settings = {variant.label: variant.settings for variant in tuned.variants}
    for name in ("default", tuned.name):
        for section in read_records([ROOT / "results" / f"{name}.json"]):
            if section.dataset == dataset:
                for row in section.measured:
                    if row.label != OURS:
                        accuracy = fmean(record.test_accuracy for record in row.records)
                        yield accuracy, row.label, {} if name == "default" else settings[row.label]


def write(dataset: str, guide: str | None, count: int, runs: int) -> None:
    """Write the experiment of a data set; ``guide`` says how the user makes the data."""
    best: dict[str, Mapping[str, object]] = {}
    for _, method, settings in sorted(measured(dataset), key=lambda each: -each[0]):
        best.setdefault(method, settings)
    values: dict[str, Any] = {
        "name": f"strongest-{folder_name(dataset)}",
        "title": "The default of MG-GCN and the strongest other methods",
        "reproduces": "",
        "datasets": [dataset],
        **({"seeds": runs} if dataset in WITH_SPLIT else {"seeds": 1, "splits": runs}),
    }
    values |= {"folders": {dataset: guide}} if guide else {}
    chosen = {OURS: {}, **dict(list(best.items())[:count])}
    variants = [{"label": name, "method": name, "settings": dict(settings)} for name, settings in chosen.items()]
    path = EXPERIMENTS / "strongest" / f"{folder_name(dataset)}.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"# Written by benchmarks/strongest.py.\n{tomli_w.dumps(values | {'variant': variants})}")
    print(f"{path}: {', '.join(chosen)}")  # noqa: T201


def main() -> None:
    """Write the experiments of all data sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", help="all by default")
    parser.add_argument("--methods", type=int, default=4, help="beside MG-GCN")
    parser.add_argument("--runs", type=int, default=5, help="of each method")
    options = parser.parse_args()
    default = experiments.read(EXPERIMENTS / "default.toml")
    for dataset in options.datasets or default.datasets:
        write(dataset, default.folders.get(dataset), options.methods, options.runs)


if __name__ == "__main__":
    main()
