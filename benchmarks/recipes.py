"""Compare recipes of a method on several data sets by cross-validation; test nodes are never used.

The training and validation nodes of a data set are divided into folds. A recipe is trained without one fold, stops by a
validation part of the others, and is scored on the fold; its value is the mean over the folds and ``--seeds`` runs of
each. Recipes come from a TOML file: a table ``[[recipe]]`` has the settings that differ from the preset, ``[common]``
those of all recipes, and ``--random N`` draws N more from the lists of values in ``[space]``:

    [common]
    epochs = 200
    [[recipe]]
    picks = 4
    [[recipe]]
    picks = 8
    [space]
    dropout = [0.0, 0.3, 0.5]
    scaling = ["row", "root", "tfidf"]

The settings with ``preset = "default"`` in ``src/mggcn/methods/published.toml`` were selected by it, with calls such as

    python benchmarks/recipes.py recipes.toml cora citeseer pubmed --folds 4 --jobs 16 --out recipes.jsonl

A second call continues: runs that are in the file of results are not repeated. With ``--keep FOLDER``, the
probabilities of every run are kept there, from which ``benchmarks/portfolios.py`` says what portfolios of the recipes
would have scored.
"""

import argparse
import hashlib
import json
import math
import os
import random
import time
import tomllib
from collections import defaultdict
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any, TextIO

import numpy as np
import torch
from numpy.typing import NDArray

import mggcn
from mggcn.data import load, load_folder, read_npz
from mggcn.data._dataset import Dataset
from mggcn.data._split import UNLABELLED, Split
from mggcn.methods.published import Preset

VAL_SHARE, MAX_VAL = 0.2, 1000


@lru_cache(maxsize=2)
def dataset(name: str) -> tuple[Dataset, NDArray[np.int64]]:
    """A data set by its name, a folder or an .npz file, and its labelled nodes; its test nodes become unlabelled."""
    path = Path(name)
    data = read_npz(path) if path.suffix == ".npz" else load_folder(path) if path.is_dir() else load(name)
    split, y = data.require_split(), np.array(data.y)
    y[split.test] = UNLABELLED
    return replace(data, y=y, split=None), np.sort(np.concatenate([split.train, split.val]))


def folded(name: str, fold: int, folds: int) -> Dataset:
    """The data set with one fold of its labelled nodes in the place of the test nodes."""
    data, nodes = dataset(name)
    order = np.random.default_rng(0).permutation(nodes)
    measured = order[fold::folds]
    rest = np.random.default_rng(fold + 1).permutation(np.setdiff1d(order, measured))
    val = min(MAX_VAL, int(VAL_SHARE * rest.size))
    return data.with_split(Split(np.sort(rest[val:]), np.sort(rest[:val]), np.sort(measured)))


def measure(
    name: str,
    method: str,
    preset: Preset,
    settings: dict[str, Any],
    run: int,
    folds: int,
    device: str,
    keep: Path | None = None,
) -> dict[str, Any]:
    """Train a recipe without a fold and score it there; runs after the first of every fold repeat them."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    data = folded(name, run % folds, folds)
    trained = mggcn.fit(data, method, settings=settings, preset=preset, seed=run, device=device)
    record = trained.record
    row = {
        "dataset": Path(name).stem,
        "method": method,
        "settings": settings,
        "fold": run % folds,
        "seed": run,
        "accuracy": record.test_accuracy,
        "macro_f1": record.test_macro_f1,
        "epochs": record.epochs,
        "epoch_seconds": record.epoch_seconds,
        "seconds": time.perf_counter() - started,
    }
    if keep is not None:
        store_probabilities(keep, trained, data, row)
    return row


def store_probabilities(folder: Path, run: mggcn.Run, data: Dataset, row: dict[str, Any]) -> None:
    """Write the calibrated probabilities of the validation nodes and of the fold, and the validation losses."""
    split, curve = data.require_split(), run.record.curve
    text = json.dumps(row | {"best_epoch": run.record.best_epoch, "val_losses": [epoch.val_loss for epoch in curve]})
    val, fold = (run.predict(nodes=nodes).probabilities for nodes in (split.val, split.test))
    name = f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.npz"
    np.savez(folder / name, row=text, val=val, val_y=data.y[split.val], fold=fold, fold_y=data.y[split.test])


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
    parser.add_argument("--preset", choices=["default", "paper"], default="default", help="of settings not named")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="draw this many from [space]")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=1, help="runs of each fold")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start nothing after this time")
    parser.add_argument("--out", type=Path, default=Path("recipes.jsonl"))
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="also write the probabilities of every run there")
    options = parser.parse_args()
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * options.minutes
    rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    lines = options.out.read_text().splitlines() if options.out.exists() else []
    for row in map(json.loads, lines):
        rows[name_of(row["dataset"], row["settings"])].append(row)
    finished = {(name, row["seed"]) for name, group in rows.items() for row in group}
    work = [
        (name, options.method, options.preset, recipe, run, options.folds, options.device, options.keep)
        for run in range(options.folds * options.seeds)
        for name in options.datasets
        for recipe in candidates(options.recipes, options.random, options.seed)
        if (name_of(Path(name).stem, recipe), run) not in finished
    ]
    with ProcessPoolExecutor(options.jobs) as pool, options.out.open("a") as file:
        waiting = [pool.submit(measure, *item) for item in work]
        for done in as_completed(waiting):
            if not done.cancelled():
                store(done, file, rows)
            if time.monotonic() > end:
                for left in waiting:
                    left.cancel()
    show(rows)


def store(done: Future[dict[str, Any]], file: TextIO, rows: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """Append a result to the file and to the rows of its recipe."""
    try:
        row = done.result()
    except Exception as error:  # noqa: BLE001 - one recipe that fails must not end the others
        print("failed:", error)  # noqa: T201
        return
    file.write(json.dumps(row) + "\n")
    file.flush()
    rows[name_of(row["dataset"], row["settings"])].append(row)


def name_of(dataset: str, recipe: dict[str, Any]) -> tuple[str, str]:
    """A recipe on a data set."""
    return dataset, json.dumps(recipe, sort_keys=True)


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
            print(f"{accuracy:7.2%}  {len(group)} runs  {seconds:5.1f} s  {settings}")  # noqa: T201


if __name__ == "__main__":
    main()
