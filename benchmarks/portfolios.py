"""What portfolios of recipes would have scored, from the runs that ``benchmarks/recipes.py --keep`` has kept.

    python benchmarks/recipes.py recipes.toml cora citeseer pubmed --folds 4 --seeds 2 --keep kept
    python benchmarks/portfolios.py recipes.toml kept

The portfolios are the first recipe of the file with up to three others, in the order of the file. For each fold and
seed, recipes are stopped and selected as in training (:mod:`mggcn.runs._portfolio`), by the validation nodes; the value
of a portfolio is its accuracy on the fold less that of the first recipe alone, in points, with the mean and the lowest
over data sets. Its time is that of its runs over that of the first recipe.
"""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.recipes import candidates
from mggcn.methods.published import MOST_MEMBERS
from mggcn.runs._portfolio import Rival, select
from mggcn.training import Epoch


@dataclass(frozen=True)
class Kept:
    """A run of a recipe without a fold: its row of results, and probabilities of validation nodes and of the fold."""

    row: Mapping[str, Any]
    val: NDArray[np.float64]
    val_y: NDArray[np.int64]
    fold: NDArray[np.float64]
    fold_y: NDArray[np.int64]

    @cached_property
    def curve(self) -> list[Epoch]:
        """Its epochs, of which only validation losses are known."""
        return [Epoch(number, 0, loss, 0, 0, 0) for number, loss in enumerate(self.row["val_losses"], 1)]

    def until_stopped(self, rival: Rival) -> list[Epoch]:
        """The epochs that it trains until it is stopped, or all."""
        counts = range(1, len(self.curve))
        return self.curve[: next((count for count in counts if rival.is_ahead_of(self.curve[:count])), None)]


def loss(p: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """The mean negative log-likelihood."""
    return float(-np.log(p[np.arange(y.size), y]).mean())


def scored(runs: Sequence[Kept]) -> tuple[float, float]:
    """The accuracy of a portfolio on the fold, and its seconds."""
    first, kept, seconds = runs[0], dict[int, Kept](), 0.0
    for number, run in enumerate(runs):
        best = min(kept.values(), key=lambda each: min(each.row["val_losses"]), default=None)
        rival = Rival() if best is None else Rival(best.curve, best.row["best_epoch"])
        trained = run.until_stopped(rival)
        seconds += run.row["seconds"] * len(trained) / len(run.curve)
        if not rival.is_ahead_of(trained):
            kept[number] = run
    selected = select({number: run.val for number, run in kept.items()}, lambda p: loss(p, first.val_y))
    p = np.mean([kept[number].fold for number in selected], axis=0)
    return float((p.argmax(axis=1) == first.fold_y).mean()), seconds


def read(folder: Path) -> dict[str, dict[tuple[int, int], dict[str, Kept]]]:
    """The runs by data set, by fold and seed, and by recipe."""
    found: dict[str, dict[tuple[int, int], dict[str, Kept]]] = defaultdict(lambda: defaultdict(dict))
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            row = json.loads(str(file["row"]))
            run = Kept(row, *(file[name] for name in ("val", "val_y", "fold", "fold_y")))
        found[row["dataset"]][row["fold"], row["seed"]][as_key(row["settings"])] = run
    return found


def as_key(recipe: Mapping[str, Any]) -> str:
    """A recipe as text."""
    return json.dumps(recipe, sort_keys=True)


def portfolios(recipes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, ...]]:
    """The recipes of each portfolio, by number; also each recipe alone."""
    yield from ((number,) for number in range(len(recipes)))
    for count in range(1, MOST_MEMBERS):
        yield from ((0, *others) for others in combinations(range(1, len(recipes)), count))


def main() -> None:
    """Print the portfolios, the best on the average over data sets first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    recipes, found = candidates(options.recipes, 0, 0), read(options.folder)
    keys, lines = [as_key(recipe) for recipe in recipes], list[tuple[float, str]]()
    for members in portfolios(recipes):
        differences, times = dict[str, list[float]](), list[float]()
        for name, of_fold in found.items():
            complete = [runs for runs in of_fold.values() if {keys[0], *(keys[one] for one in members)} <= runs.keys()]
            if not complete:
                continue
            of_first = [scored([runs[keys[0]]]) for runs in complete]
            of_all = [scored([runs[keys[one]] for one in members]) for runs in complete]
            differences[name] = [100 * (own[0] - base[0]) for own, base in zip(of_all, of_first, strict=True)]
            times.append(fmean(own[1] for own in of_all) / fmean(base[1] for base in of_first))
        if not differences:
            continue
        means = {name: fmean(values) for name, values in differences.items()}
        error = math.sqrt(sum(stdev(v) ** 2 / len(v) for v in differences.values() if len(v) > 1)) / len(means)
        shown = "  ".join(f"{name} {mean:+.2f} ({len(differences[name])})" for name, mean in sorted(means.items()))
        title, value = "+".join(str(one + 1) for one in members), fmean(means.values())
        lines.append(
            (value, f"{title:9} {value:+.2f} ± {error:.2f}  {min(means.values()):+.2f}  {fmean(times):4.1f} ×  {shown}")
        )
    for number, recipe in enumerate(recipes, 1):
        print(number, " ".join(f"{name}={value}" for name, value in recipe.items()) or "the recipe as it is")  # noqa: T201
    print("\nrecipes   points    lowest   time   each data set (runs)")  # noqa: T201
    for _, line in sorted(lines, key=lambda pair: -pair[0]):
        print(line)  # noqa: T201


if __name__ == "__main__":
    main()
