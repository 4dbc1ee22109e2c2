"""What an ensemble adds to the default recipe.

    python benchmarks/ensembles.py cora citeseer pubmed --repeats 20 --out ensembles.jsonl

Each repeat trains as many runs as an ensemble has members, with seeds of its own, and writes a line with two test
accuracies: the mean of the single runs, and that of the ensemble. Repeats that are in the file are not run again.
"""

import json
import os
import statistics
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from cyclopts import run
from numpy.typing import NDArray

import mggcn
from mggcn.data import load
from mggcn.runs._predictions import Predictions
from mggcn.runs._run import Ensemble

_KINDS = ("one run", "ensemble")


def main(
    *names: str, members: int = 4, repeats: int = 20, jobs: int = 1, device: str = "cpu", out: Path = Path("out.jsonl")
) -> None:
    """Train and print a table.

    Args:
        names: known data sets with a split.
        members: runs of an ensemble.
        repeats: ensembles of each data set.
        jobs: processes.
        device: of the runs.
        out: the file of lines.
    """
    done = _read(out)
    with ProcessPoolExecutor(jobs) as pool:
        tasks = [
            pool.submit(_repeat, name, number, members, device)
            for number in range(repeats)
            for name in names
            if (name, number, members) not in done
        ]
        for task in tasks:
            line = task.result()
            with out.open("a") as file:
                file.write(json.dumps(line) + "\n")
    print("| data set | ensembles |", " | ".join(_KINDS), "|")  # noqa: T201
    print("|---|---:|" + "---:|" * len(_KINDS))  # noqa: T201
    lines = [line for key, line in _read(out).items() if key[2] == members]
    for name in names:
        found = [line["accuracies"] for line in lines if line["dataset"] == name]
        cells = [f"{_mean(values):.2f} ± {_deviation(values):.2f}" for values in zip(*found, strict=True)]
        print(f"| {name} | {len(found)} of {members} runs each |", " | ".join(cells), "|")  # noqa: T201


def _repeat(name: str, number: int, members: int, device: str) -> dict[str, object]:
    torch.set_num_threads(1)
    data = load(name)
    assert data.split is not None  # noqa: S101  (the data sets have one)
    test = data.split.test
    seeds = range(number * members, (number + 1) * members)
    runs = [mggcn.fit(data, seed=seed, device=device) for seed in seeds]
    accuracies = [
        statistics.fmean(one.record.test_accuracy for one in runs),
        _accuracy(Ensemble(runs).predict(data, test, device=device), data.y[test]),
    ]
    return {"dataset": name, "number": number, "members": members, "device": device, "accuracies": accuracies}


def _accuracy(predictions: Predictions, y: NDArray[np.int64]) -> float:
    return float(np.mean(predictions.probabilities.argmax(axis=1) == y))


def _read(path: Path) -> dict[tuple[str, int, int], dict[str, object]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(line["dataset"], line["number"], line["members"]): line for line in lines}


def _mean(values: tuple[float, ...]) -> float:
    return 100 * statistics.fmean(values)


def _deviation(values: tuple[float, ...]) -> float:
    return 100 * statistics.stdev(values) if len(values) > 1 else 0.0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    run(main)
