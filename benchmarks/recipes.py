"""Compare recipes of a method on several data sets by cross-validation; test nodes are never used.

The training and validation nodes of a data set are divided into folds. A recipe is trained without one fold, stops by a
validation part of the others, and is scored on the fold; its value is the mean over the folds, each with a seed of its
own. Recipes come from a TOML file of ``[[recipe]]`` tables, or are drawn at random from the ``[space]`` of one:

    python benchmarks/recipes.py recipes.toml cora pubmed --folds 4 --jobs 16 --out recipes.jsonl
"""

import argparse
import json
import os
import random
import time
import tomllib
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

VAL_SHARE, MAX_VAL = 0.2, 1000


@lru_cache(maxsize=2)
def dataset(name: str) -> Any:
    """A data set by its name, from its folder or from an .npz file; its test nodes become unlabelled."""
    from dataclasses import replace

    from mggcn import datasets

    data = datasets.read_npz(name) if name.endswith(".npz") else datasets.load(name)
    y = np.array(data.y)
    y[data.split.test] = -1
    return replace(data, y=y, split=None), np.sort(np.concatenate([data.split.train, data.split.val]))


def folded(name: str, fold: int, folds: int) -> Any:
    """The data set with one fold of its labelled nodes in the place of the test nodes."""
    from mggcn.dataset import Split

    data, nodes = dataset(name)
    order = np.random.default_rng(0).permutation(nodes)
    measured = order[fold::folds]
    rest = np.random.default_rng(fold + 1).permutation(np.setdiff1d(order, measured))
    val = min(MAX_VAL, int(VAL_SHARE * rest.size))
    return data.with_split(Split(np.sort(rest[val:]), np.sort(rest[:val]), np.sort(measured)))


def measure(name: str, method: str, settings: dict[str, Any], fold: int, folds: int, device: str) -> dict[str, Any]:
    """Train a recipe without a fold and score it there."""
    import torch

    import mggcn

    torch.set_num_threads(1)
    started = time.perf_counter()
    record = mggcn.fit(folded(name, fold, folds), method, settings=settings, seed=fold, device=device).record
    return {
        "dataset": name,
        "method": method,
        "settings": settings,
        "fold": fold,
        "accuracy": record.test_accuracy,
        "macro_f1": record.test_macro_f1,
        "epochs": record.epochs,
        "epoch_seconds": record.epoch_seconds,
        "seconds": time.perf_counter() - started,
    }


def candidates(path: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """The recipes of a file, and ``count`` more from its space."""
    content = tomllib.loads(path.read_text())
    listed = [{**content.get("common", {}), **recipe} for recipe in content.get("recipe", [])]
    rng = random.Random(seed)  # noqa: S311
    space = content.get("space", {})
    drawn = [{name: rng.choice(values) for name, values in space.items()} for _ in range(count)]
    return listed + [{**content.get("common", {}), **recipe} for recipe in drawn]


def main() -> None:
    """Measure, append every result to a file, and print the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", type=Path)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--method", default="mg-gcn")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="draw this many from [space]")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--minutes", type=float, default=1e9, help="start nothing after this time")
    parser.add_argument("--out", type=Path, default=Path("recipes.jsonl"))
    options = parser.parse_args()
    recipes = candidates(options.recipes, options.random, options.seed)
    end = time.monotonic() + 60 * options.minutes
    rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    work = [
        (name, options.method, recipe, fold, options.folds, options.device)
        for recipe in recipes
        for fold in range(options.folds)
        for name in options.datasets
    ]
    with ProcessPoolExecutor(options.jobs) as pool, options.out.open("a") as file:
        waiting, queue = set(), iter(work)
        for item in queue:
            waiting.add(pool.submit(measure, *item))
            if len(waiting) < 2 * options.jobs:
                continue
            done = next(as_completed(waiting))
            waiting.discard(done)
            store(done, file, rows)
            if time.monotonic() > end:
                break
        for left in waiting:
            left.cancel() if time.monotonic() > end else None
        for done in as_completed([one for one in waiting if not one.cancelled()]):
            store(done, file, rows)
    show(rows)


def store(done: Any, file: Any, rows: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """Append a result to the file and to the rows of its recipe."""
    try:
        row = done.result()
    except Exception as error:  # noqa: BLE001 - one recipe that fails must not end the others
        print("failed:", error)  # noqa: T201
        return
    file.write(json.dumps(row) + "\n")
    file.flush()
    rows[row["dataset"], json.dumps(row["settings"], sort_keys=True)].append(row)


def show(rows: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """Print the recipes of each data set, the best first."""
    for name in sorted({name for name, _ in rows}):
        of_data = [
            (fmean(row["accuracy"] for row in group), group) for (data, _), group in rows.items() if data == name
        ]
        print(f"\n{name}")  # noqa: T201
        for accuracy, group in sorted(of_data, key=lambda pair: -pair[0]):
            seconds = fmean(row["seconds"] for row in group)
            settings = " ".join(f"{key}={value}" for key, value in group[0]["settings"].items())
            print(f"{accuracy:7.2%}  {len(group)} folds  {seconds:5.1f} s  {settings}")  # noqa: T201


if __name__ == "__main__":
    main()
