"""The mean accuracy of every recipe in the results of ``benchmarks/recipes.py``, as CSV on standard output.

    python benchmarks/recipe_means.py recipes.jsonl > benchmarks/recipes.csv

``benchmarks/recipes.csv`` holds the searches from which the recipes in ``src/mggcn/methods/published.toml`` were
selected. Accuracies are of folds of the training and validation nodes; test nodes were not used. Only rows with the
same number of runs compare: up to 8 they are one for each fold, and with more folds more nodes are trained on; 24 are
three for each of 8 folds. Settings that a row does not name are those of the recipe at that time.
"""

import csv
import json
import sys
from pathlib import Path
from statistics import fmean


def main(paths: list[str]) -> None:
    """Print a row for each data set, method and recipe, with the number of its runs; the best of a data set first."""
    groups: dict[tuple[str, str, str], list[dict[str, float]]] = {}
    for path in paths:
        for row in map(json.loads, Path(path).read_text().splitlines()):
            settings = " ".join(f"{name}={value}" for name, value in sorted(row["settings"].items()))
            groups.setdefault((Path(row["dataset"]).stem, row["method"], settings), []).append(row)
    rows = [
        (dataset, method, len(runs), f"{100 * fmean(run['accuracy'] for run in runs):.2f}", settings)
        for (dataset, method, settings), runs in groups.items()
    ]
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["dataset", "method", "runs", "accuracy, %", "settings"])
    table.writerows(sorted(rows, key=lambda row: (row[0], row[1], -float(row[3]))))


if __name__ == "__main__":
    main(sys.argv[1:])
