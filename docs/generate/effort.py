"""How hard each method's default was searched for: the recipes tried, the runs, and the draws that scores average."""

import csv
from collections import defaultdict
from statistics import median

from generate.repository import ROOT
from mggcn.experiments._report_tables import table_of_lines
from mggcn.methods import METHODS, published

_RECIPES = ROOT / "benchmarks" / "recipes.csv"
_OURS = "mg-gcn"


def counted() -> dict[str, dict[str, tuple[int, int]]]:
    """The recipes and the runs of each method on each data set."""
    found: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    with _RECIPES.open() as file:
        for row in csv.DictReader(file):
            recipes, runs = found[row["method"]].get(row["dataset"], (0, 0))
            found[row["method"]][row["dataset"]] = recipes + 1, runs + int(row["runs"])
    return dict(found)


def table() -> str:
    """A row for each method with a recipe of ours."""
    rows = []
    for method, datasets in sorted(counted().items(), key=lambda item: (item[0] != _OURS, item[0])):
        if method not in METHODS:
            continue
        recipes, runs = ([counts[index] for counts in datasets.values()] for index in (0, 1))
        draws = {values.get("draws", 1) for values in published.recipe(method).values()}
        rows.append([method, len(datasets), _span(recipes), f"{median(runs):g}", max(draws, default=1)])
    headings = ["method", "data sets", "recipes on each", "runs on each, median", "draws averaged"]
    return table_of_lines(headings, rows).markdown()


def _span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"
