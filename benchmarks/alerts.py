"""What alerts on real accounts are worth: by the split, by the world (with the class Background or without), by method.

    python benchmarks/alerts.py build transactions.parquet labels_etherscan.csv labels_behaviour.csv --out cases
    python benchmarks/alerts.py run cases --jobs 16 --out alerts.jsonl
    python benchmarks/alerts.py table alerts.jsonl

Labels are those of the first list. Accounts that the second list calls normal, and the first does not name, are known
to be no members of a class: a line has the share of them with a probability of Phish above 0.9. Finished runs in the
file are not repeated.
"""

import json
import os
import statistics
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cyclopts import App

import mggcn
from mggcn.data import is_dataset, load_folder
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.methods import METHODS

_CLASS, _NORMAL, _SURE = "Phish", "Normal", 0.9
_DATES = (
    "2018-01-31,2018-03-31",
    "2018-02-28,2018-04-30",
    "2018-03-31,2018-05-31",
    "2018-04-30,2018-06-30",
    "2018-05-31,2018-07-31",
)
_WORLDS = {"closed": 0, "open": 2000}
"""The number of accounts in the class Background of each world: as many as there are labels."""
_TITLES = {"closed": "Closed world", "open": "Open world"}
_KINDS = {"random": "at random", "time": "by time"}
_NORMALS = "normal.json"
_AT = 50
_FIGURES = {"pr_auc": "PR-AUC", "at": f"P@{_AT}", "recall": "recall", "normal": f"normal accounts above {_SURE}"}

app = App(help=__doc__)


@app.command
def build(transactions: Path, labels: Path, second: Path, *, out: Path) -> None:
    """Build five random and five time splits, in both worlds."""
    from mggcn.ethereum import BuildInputs, TimeSplit, read_labels
    from mggcn.ethereum import build as build_accounts

    (known, _), (others, _) = read_labels(labels), read_labels(second)
    normal = [address for address, label in others.items() if label == _NORMAL and address not in known]
    out.mkdir(parents=True)
    (out / _NORMALS).write_text(json.dumps(normal))
    for world, background in _WORLDS.items():
        for number, dates in enumerate(_DATES):
            for kind, split in zip(_KINDS, ("random", f"time:{dates}"), strict=True):
                folder = out / f"{kind}-{number}-{world}"
                build_accounts(
                    BuildInputs((transactions,)),
                    folder,
                    labels=labels,
                    time_split=TimeSplit.parse(split),
                    seed=number,
                    background=background,
                )
                print(folder)  # noqa: T201


@app.command
def run(
    cases: Path, *, methods: list[str] | None = None, seeds: int = 3, jobs: int = 1, device: str = "cpu", out: Path
) -> None:
    """Train and measure; a line for each run, the methods named first being trained first."""
    folders = sorted(path for path in cases.iterdir() if is_dataset(path))
    done = {(line["case"], line["method"], line["seed"]) for line in _read(out)}
    with ProcessPoolExecutor(jobs) as pool, out.open("a") as file:
        tasks = [
            pool.submit(_measure, folder, method, seed, device)
            for seed in range(seeds)
            for method in methods or METHODS
            for folder in folders
            if (folder.name, method, seed) not in done
        ]
        for task in as_completed(tasks):
            file.write(json.dumps(task.result()) + "\n")
            file.flush()


@app.command
def table(file: Path) -> None:
    """Print the means over splits and seeds, a table for each world and kind of split."""
    print(tables(file))  # noqa: T201


def tables(file: Path) -> str:
    """The same as text."""
    lines = _read(file)
    parts = [
        f"**{title}, split {split}**\n\n{_table(lines, kind, world)}"
        for world, title in _TITLES.items()
        for kind, split in _KINDS.items()
    ]
    return "\n\n".join(parts)


def _table(lines: list[dict[str, Any]], kind: str, world: str) -> str:
    rows = [["method", *(f"{figure}, %" for figure in _FIGURES.values()), "runs"]]
    rows.append(["---", *["---:"] * (len(_FIGURES) + 1)])
    for method in METHODS:
        found = [line for line in lines if (line["kind"], line["world"], line["method"]) == (kind, world, method)]
        if found:
            cells = [_spread([line[name] for line in found]) for name in _FIGURES]
            rows.append([method, *cells, str(len(found))])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


@lru_cache(maxsize=4)
def _load(folder: Path) -> Dataset:
    return load_folder(folder)


def _measure(folder: Path, method: str, seed: int, device: str) -> dict[str, object]:
    torch.set_num_threads(1)
    data, (kind, number, world) = _load(folder), folder.name.split("-")
    line = {"case": folder.name, "kind": kind, "number": int(number), "world": world, "method": method, "seed": seed}
    try:
        trained = mggcn.fit(data, method, seed=seed, device=device)
    except InputError as error:
        return {**line, "refused": str(error)}
    label, ranking, split = data.classes.index(_CLASS), trained.record.ranking, data.require_split()
    assert ranking is not None  # noqa: S101  (every new record has one)
    members = split.test[data.y[split.test] == label]
    normals = trained.predict(data, ids=_present(data, folder.parent / _NORMALS), device=device)
    new = ~np.isin(normals.parts, ("train", "val"))
    return {
        **line,
        "device": device,
        "seconds": trained.record.total_seconds,
        "pr_auc": ranking.pr_auc[label],
        "at": ranking.precision_at[label][ranking.ks.index(_AT)],
        "recall": float(np.mean(trained.predict(data, members, device=device).class_index == label)),
        "normal": float(np.mean(normals.probabilities[new, label] > _SURE)),
        "normal_accounts": int(new.sum()),
        "test": int(split.test.size),
        "test_members": int(members.size),
    }


def _present(data: Dataset, file: Path) -> list[str]:
    known = set(map(str, data.ids_of(np.arange(data.num_nodes))))
    return [address for address in json.loads(file.read_text()) if address in known]


def _read(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in lines if "refused" not in line]


def _spread(values: list[float]) -> str:
    spread = f" ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * statistics.fmean(values):.1f}{spread}"


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    app()
