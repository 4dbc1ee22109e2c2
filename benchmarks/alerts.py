"""What alerts on real accounts are worth: by the split, by the world (with the class Background or without), by method.

    python benchmarks/alerts.py build transactions.parquet labels_etherscan.csv labels_behaviour.csv --out cases
    python benchmarks/alerts.py run cases --jobs 16 --out alerts.jsonl
    python benchmarks/alerts.py run cases --methods "lightgbm one-hop" --cases time-0 --worlds open --out alerts.jsonl
    python benchmarks/alerts.py table alerts.jsonl

Labels are those of the first list. Accounts that the second list calls normal, and the first does not name, are known
to be no members of a class: a line has the share of them with a probability of Phish above 0.9. Finished runs in the
file are not repeated.

Most accounts have no label. The lower bound of PR-AUC and P@50 counts each of them as no Phish: all accounts that the
split does not use before the test, which are those first seen in its period if it is by time. "lightgbm one-hop" reads
the columns of ``one_hop.py`` instead of the thirteen features.
"""

import json
import os
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cyclopts import App
from numpy.typing import NDArray
from pyarrow import parquet
from sklearn.metrics import average_precision_score

import mggcn
from mggcn.data import COPY, UNLABELLED, is_dataset, load_folder
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.methods import METHODS

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import one_hop

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
_AT, _FIRST = 50, 100
_FIGURES = {
    "pr_auc": "PR-AUC, %",
    "at": f"P@{_AT}, %",
    "recall": "recall, %",
    "normal": f"normal accounts above {_SURE}, %",
    "lower_pr_auc": "PR-AUC, lower bound, %",
    "lower_at": f"P@{_AT}, lower bound, %",
    "never": f"never received, % of the first {_FIRST} unlabelled",
}
"""The columns of the tables, those that all of their lines have."""
_ONE_HOP = "lightgbm one-hop"
_ALL = (*METHODS, _ONE_HOP)
_COLUMNS, _END = "one-hop", "end"

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
    columns(transactions, out)


@app.command
def columns(transactions: Path, folder: Path) -> None:
    """Write the one-hop columns as of every date of the splits, which build does, too; tables that exist are kept."""
    (folder / _COLUMNS).mkdir(exist_ok=True)
    for date in [_END, *sorted({date for dates in _DATES for date in dates.split(",")})]:
        file = folder / _COLUMNS / f"{date}.parquet"
        if not file.exists():
            one_hop.write(transactions, None if date == _END else date, file.with_suffix(".part"))
            file.with_suffix(".part").rename(file)
            print(file)  # noqa: T201


@app.command
def run(
    folder: Path,
    *,
    cases: list[str] | None = None,
    worlds: list[str] | None = None,
    methods: list[str] | None = None,
    seeds: int = 3,
    jobs: int = 1,
    device: str = "cpu",
    out: Path,
) -> None:
    """Train and measure; a line for each run, the methods named first being trained first.

    Args:
        folder: what build has written.
        cases: only cases whose names begin so, such as time or random-0.
        worlds: only those of these worlds, closed and open.
        methods: by default all.
        seeds: the number of seeds.
        jobs: the number of processes.
        device: of the training.
        out: the file of lines, to which new ones are added.
    """
    folders = [
        path
        for path in sorted(folder.iterdir())
        if is_dataset(path)
        and path.name.startswith(tuple(cases or ("",)))
        and path.name.rpartition("-")[2] in (worlds or _WORLDS)
    ]
    done = {(line["case"], line["method"], line["seed"]) for line in _read(out)}
    with ProcessPoolExecutor(jobs) as pool, out.open("a") as file:
        tasks = [
            pool.submit(_measure, folder, method, seed, device)
            for seed in range(seeds)
            for method in methods or _ALL
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
    names = [name for name in _FIGURES if all(name in line for line in lines)]
    rows = [["method", *(_FIGURES[name] for name in names), "runs"], ["---", *["---:"] * (len(names) + 1)]]
    for method in _ALL:
        found = [line for line in lines if (line["kind"], line["world"], line["method"]) == (kind, world, method)]
        if found:
            cells = [_spread([line[name] for line in found]) for name in names]
            rows.append([method, *cells, str(len(found))])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


@lru_cache(maxsize=4)
def _load(folder: Path) -> Dataset:
    return load_folder(folder)


def _measure(folder: Path, method: str, seed: int, device: str) -> dict[str, object]:
    torch.set_num_threads(1)
    data, (kind, number, world) = _load(folder), folder.name.split("-")
    line = {"case": folder.name, "kind": kind, "number": int(number), "world": world, "method": method, "seed": seed}
    if method == _ONE_HOP:
        data, method = _with_columns(data, folder.parent / _COLUMNS), "lightgbm"
    try:
        trained = mggcn.fit(data, method, seed=seed, device=device)
    except InputError as error:
        return {**line, "refused": str(error)}
    label, ranking, split = data.classes.index(_CLASS), trained.record.ranking, data.require_split()
    assert ranking is not None  # noqa: S101  (every new record has one)
    scored = trained.predict(data, np.arange(data.num_current), device=device)
    phish, members = scored.probabilities[:, label], split.test[data.y[split.test] == label]
    is_new = ~np.isin(scored.parts, ("train", "val"))
    normal = is_new & np.isin(_ids(data), json.loads((folder.parent / _NORMALS).read_text()))
    earlier = np.isin(_ids(data), _ids(data, copies=True))
    of_period = np.flatnonzero(is_new & ~earlier)
    ranked = of_period[np.argsort(-phish[of_period], kind="stable")]
    unlabelled = ranked[data.y[ranked] == UNLABELLED][:_FIRST]
    received = _load(folder).x[unlabelled, _load(folder).feature_names.index("in_tx")] > 0
    is_member = data.y == label
    return {
        **line,
        "device": device,
        "seconds": trained.record.total_seconds,
        "pr_auc": ranking.pr_auc[label],
        "at": ranking.precision_at[label][ranking.ks.index(_AT)],
        "recall": float(np.mean(scored.class_index[members] == label)),
        "normal": float(np.mean(phish[normal] > _SURE)),
        "normal_accounts": int(normal.sum()),
        "test": int(split.test.size),
        "test_members": int(members.size),
        "lower_pr_auc": float(average_precision_score(is_member[ranked], phish[ranked])),
        "lower_at": float(np.mean(is_member[ranked[:_AT]])),
        "accounts": int(ranked.size),
        "never": float(np.mean(~received)),
    }


def _ids(data: Dataset, *, copies: bool = False) -> NDArray[np.str_]:
    """The addresses of accounts, or those of copies without their dates."""
    nodes = np.arange(data.num_current, data.num_nodes) if copies else np.arange(data.num_current)
    names: NDArray[np.str_] = data.ids_of(nodes).astype(str)
    return np.char.partition(names, COPY)[:, 0] if names.size else names


def _with_columns(data: Dataset, folder: Path) -> Dataset:
    """The data set with the one-hop columns as of each account's date as its features."""
    names = data.ids_of(np.arange(data.num_nodes)).astype(str)
    parts = np.char.partition(names, COPY)
    x = np.zeros((data.num_nodes, len(one_hop.COLUMNS)), np.float32)
    for date in np.unique(parts[:, 2]):
        table = parquet.read_table(folder / f"{date or _END}.parquet")
        rows = np.flatnonzero(parts[:, 2] == date)
        known = np.array(table["account"].to_pylist())  # sorted
        nearest = np.minimum(np.searchsorted(known, parts[rows, 0]), known.size - 1)
        found = known[nearest] == parts[rows, 0]
        values = np.column_stack([table[name].to_numpy() for name in one_hop.COLUMNS])
        x[rows[found]] = values[nearest[found]]
    return replace(data, x=x, feature_names=one_hop.COLUMNS, encoding=(), measures={}, mapped=None)


def _read(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in lines if "refused" not in line]


def _spread(values: list[float]) -> str:
    spread = f" ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * statistics.fmean(values):.1f}{spread}"


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    app()
