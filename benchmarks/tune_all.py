"""Tune all methods on data sets with the same number of trials, and write the experiments with what was found.

    python benchmarks/tune_all.py cora citeseer --trials 12 --jobs 16
    mggcn experiment run experiments/tuned/cora.toml --jobs 16

Trials see only training and validation nodes; the first has the default recipe. Every method is searched as by
``mggcn tune``, in a folder of its own (``--out``), so that a second call continues. A search that has not finished its
trials after ``--minutes`` on one core is left out of the experiment and named in its first lines.
"""

import argparse
import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import tomli_w
import torch

from mggcn import data as datasets
from mggcn import experiments
from mggcn.data import is_dataset, load_folder
from mggcn.data._dataset import Dataset
from mggcn.data._root import data_roots
from mggcn.errors import InputError
from mggcn.experiments import Search, Tuning
from mggcn.experiments._definition import folder_name
from mggcn.methods import METHODS
from mggcn.training._compute import choose_device
from mggcn.training._loop import Silent

BATCH = 256
LARGE_BATCH = 1024
"""For more than ``LARGE`` training nodes; small batches would only multiply the time."""
LARGE = 5_000
EXPERIMENTS = Path(__file__).parents[1] / "experiments" / "tuned"
FOLDERS = experiments.read(EXPERIMENTS.parent / "default.toml").folders


@dataclass(frozen=True)
class Found:
    """The result of a search: the settings that differ from the default recipe, and the number of finished trials."""

    dataset: str
    method: str
    settings: Mapping[str, object]
    value: float
    trials: int
    seconds: float


@lru_cache(maxsize=8)
def load(name: str) -> Dataset:
    """A known data set, or one in a folder of a data root."""
    made = (root / name for root in data_roots(None))
    return load_folder(next(filter(is_dataset, made))) if name in FOLDERS else datasets.load(name)


def search(dataset: str, method: str, trials: int, seeds: int, device: str, minutes: float, out: Path) -> Found:
    """Search for the settings of a method until the number of trials, of several seeds each, or the end of its time."""
    torch.set_num_threads(1)
    started = time.monotonic()
    loaded = load(dataset)
    batch = LARGE_BATCH if loaded.split.train.size > LARGE else BATCH
    task = Search(loaded, method, seeds, device=choose_device(device), fixed={"batch_size": batch})
    tuning = Tuning(task, out / f"{folder_name(dataset)}-{method}")
    with tuning.opened():
        for _ in tuning.run(trials, lambda _: Silent(), timeout=60 * minutes):
            pass
        best, done = tuning.best, len(tuning.trials)
    start = task.start
    changed = {name: value for name, value in best.settings.items() if value != start[name]} if best else {}
    changed |= {"batch_size": batch} if batch != BATCH else {}
    return Found(dataset, method, changed, best.value or 0.0 if best else 0.0, done, time.monotonic() - started)


def write(dataset: str, found: Iterable[Found], trials: int, seeds: int) -> None:
    """Write the experiment of a data set."""
    tuned = [one for one in found if one.trials >= trials]
    slow = sorted(set(METHODS) - {one.method for one in tuned})
    lines = [
        f"# Written by benchmarks/tune_all.py: the best of {trials} trials of every method on the validation nodes."
    ]
    lines += [f"# Left out, since their trials were not finished in the time of the search: {', '.join(slow)}."] * bool(
        slow
    )
    values = {
        "name": f"tuned-{folder_name(dataset)}",
        "title": f"All methods, tuned with {trials} trials each",
        "reproduces": "",
        "datasets": [dataset],
        "seeds": seeds,
    }
    values |= {"folders": {dataset: FOLDERS[dataset]}} if dataset in FOLDERS else {}
    variants = [{"label": one.method, "method": one.method, "settings": dict(one.settings)} for one in tuned]
    EXPERIMENTS.mkdir(exist_ok=True)
    path = EXPERIMENTS / f"{folder_name(dataset)}.toml"
    path.write_text("\n".join([*lines, tomli_w.dumps(values | {"variant": variants})]))
    print(f"{path}: {len(tuned)} methods tuned")  # noqa: T201


def main() -> None:
    """Search all methods on all data sets in parallel, the methods named first being started first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", help=f"known names, or of a data root's folders: {', '.join(FOLDERS)}")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--trial-seeds", type=int, default=3, help="runs of each trial, whose mean is its value")
    parser.add_argument("--seeds", type=int, default=20, help="of the experiment that is written")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--minutes", type=float, default=1e6, help="start no trial of a search after this time")
    parser.add_argument("--out", type=Path, default=Path("tune"))
    options = parser.parse_args()
    found: dict[str, list[Found]] = {dataset: [] for dataset in options.datasets}
    with ProcessPoolExecutor(options.jobs) as pool:
        tasks = [
            pool.submit(
                search,
                dataset,
                method,
                options.trials,
                options.trial_seeds,
                options.device,
                options.minutes,
                options.out,
            )
            for method in options.methods
            for dataset in options.datasets
        ]
        for task in tasks:
            try:
                one = task.result()
            except InputError as error:
                print(error)  # noqa: T201
                continue
            found[one.dataset].append(one)
            settings = " ".join(f"{name}={value}" for name, value in one.settings.items()) or "the default recipe"
            done = f"{one.trials} trials, {one.seconds:.0f} s"
            print(f"{one.dataset} {one.method}: {one.value:.2%} ({done}): {settings}", flush=True)  # noqa: T201
    for dataset, of_data in found.items():
        write(dataset, of_data, options.trials, options.seeds)


if __name__ == "__main__":
    main()
