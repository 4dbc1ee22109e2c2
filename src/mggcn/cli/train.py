"""``mggcn train``: train a method, show its progress and write a run folder; with ``--tune``, search settings first."""

import itertools
import json
import statistics
import sys
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mggcn.cli.options import DEFAULTS, Preset, RunOptions, Settings, Switch

if TYPE_CHECKING:
    from mggcn.records import RunRecord
    from mggcn.report import Part
    from mggcn.report.classes import ClassScores
    from mggcn.tune import Trial

PAGE = "report.html"

_CALIBRATION = ("test_ece", "test_ece_uncalibrated", "temperature")
_AVERAGED = (*_CALIBRATION, "test_accuracy", "test_macro_f1", "val_loss", "val_accuracy", "epochs", "best_epoch")
_OTHERS = ("method", "seed", "device", "total_seconds", "epoch_seconds", "prepare_seconds", "peak_memory_bytes")


def train(
    dataset: str | None = None,
    /,
    *,
    method: str | None = None,
    preset: Preset | None = None,
    seed: int | None = None,
    seeds: int = 1,
    epochs: int | None = None,
    tune: int | None = None,
    settings: Settings = None,
    config: Path | None = None,
    out: Path = Path("runs"),
    allow_import: Switch = False,
    report: bool = True,
    per_class: Switch = False,
    options: RunOptions = DEFAULTS,
) -> None:
    """Train a method on a data set and write a run folder.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        method: A name (see `mggcn methods`), or package.module:Class for a method of your own; default: mg-gcn.
        preset: Where the settings start: our recipe (default), or what the method's paper uses (paper).
        seed: The seed of weights, order and picks; default: 0, or that of --config.
        seeds: The number of runs, with consecutive seeds.
        epochs: The maximum number of epochs; short for --set epochs=N.
        tune: First search settings by so many trials, as `mggcn tune` does, on the validation nodes and in the same
            folder; started again, it continues. What --set, --epochs and --config name is not searched.
        settings: Change settings, as key=value; `mggcn methods NAME` lists the settings of a method.
        config: A config.toml, as in a run folder; the other options override it.
        out: The folder in which run folders are created.
        allow_import: Allow --config to import the Python code of a user-defined method.
        report: Write a page with charts into each run folder; needs `pip install 'mggcn[report]'`.
        per_class: Also print precision, recall and F1 of every class.
        options: Shared options.
    """
    from mggcn import datasets, methods
    from mggcn.cli.display import Display, EpochDisplay
    from mggcn.cli.tune import TrialDisplay, default_folder
    from mggcn.dataset import headline
    from mggcn.errors import InputError
    from mggcn.explore.run_page import picks_part
    from mggcn.files import check_writable
    from mggcn.methods.settings import is_import_path, pairs
    from mggcn.run import Config, fit_plan, read_config
    from mggcn.train import choose_device
    from mggcn.tune import Search, Tuning, require_optuna

    base = read_config(config) if config else Config(preset="default")
    name = dataset or base.dataset
    if name is None:
        raise InputError("train: name a data set, or a --config that names one")
    for option, count in (("seeds", seeds), ("tune", tune)):
        if count is not None and count < 1:
            raise InputError(f"--{option}: {count} is less than 1")
    imports = [value for value in (None if method else base.method, *base.settings.values()) if is_import_path(value)]
    if imports and not allow_import:
        raise InputError(f"{config}: names code to import ({imports[0]}); if you trust it, add --allow-import")
    first_seed = base.seed if seed is None else seed
    if first_seed < 0:
        raise InputError(f"--seed: {first_seed} is less than 0")
    changes = {**base.settings, **pairs(settings or []), **({} if epochs is None else {"epochs": epochs})}
    start = preset or base.preset
    run_device, method = choose_device(options.device or base.device), method or base.method or "mg-gcn"
    methods.resolve(method, name, changes, preset=start)  # a wrong setting is reported before the data are loaded
    check_writable(out)
    search_folder = default_folder(name, method)
    if tune is not None:
        require_optuna()
        check_writable(search_folder)
    data = datasets.load(name, root=options.root)
    plan = methods.resolve(method, data.name, changes, preset=start, sparse=data.is_sparse)
    tuning = None
    if tune is not None:
        search = Search(data, method, device=run_device, fixed=changes, preset=start)
        tuning = Tuning(search, search_folder)
    if not options.quiet:
        print(headline(data), file=sys.stderr)  # noqa: T201

    results: list[tuple[RunRecord, Path]] = []
    parts: list[Part | None] = []
    label = plan.name.rpartition(":")[2]
    with ExitStack() as shown:
        trials = tuned = None
        if tuning is not None and tune is not None:
            display = shown.enter_context(Display(quiet=options.quiet))
            trials = TrialDisplay(display, f"{data.name} {label}", tune, seeds)
            with tuning.opened():
                trials.run(tuning)
                tuned, plan = tuning.best, tuning.best_plan
        for number in range(first_seed, first_seed + seeds):
            title = f"{data.name} {label} seed {number}"
            alone = partial(EpochDisplay, title, plan.training.epochs, quiet=options.quiet)
            with trials.training(number) if trials else alone() as progress:
                run = fit_plan(data, plan, number, run_device, progress)
            folder = _unused(out / f"{data.name.replace(':', '-')}-{label}-seed{number}")
            run.save(folder)
            results.append((run.record, folder))
            parts.append(picks_part(run, data) if report else None)
            if seeds > 1 and not options.quiet:
                print(_line(run.record), file=sys.stderr)  # noqa: T201
    missing = _write_pages(results, parts) if report else ""
    if missing and not options.quiet:
        print(f"no {PAGE}: {missing}", file=sys.stderr)  # noqa: T201
    print(_result(results, has_page=report and not missing))  # noqa: T201
    if tuned is not None:
        print(_tuned(tuned, search_folder))  # noqa: T201
    classes = _classes([record for record, _ in results]) if per_class else []
    if classes:
        print(f"\n{_table(classes)}")  # noqa: T201
    if options.as_json:
        by_class = {"per_class": [asdict(scores) for scores in classes]} if per_class else {}
        searched = {"tuned": {**asdict(tuned), "out": str(search_folder)}} if tuned else {}
        print(json.dumps(_summary(results) | by_class | searched))  # noqa: T201


def _unused(folder: Path) -> Path:
    """The folder, with a number after its name if it exists already."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(path for path in itertools.chain([folder], numbered) if not path.exists())


def _write_pages(results: "list[tuple[RunRecord, Path]]", parts: "list[Part | None]") -> str:
    """Write a page into every run folder; return the reason if that is not possible.

    Charts are drawn after all runs, so that the libraries they need do not count in a run's peak memory.
    """
    from mggcn.errors import InputError
    from mggcn.explore.run_page import write_page
    from mggcn.report.charts import require_altair

    try:
        require_altair()
        for (record, folder), picks in zip(results, parts, strict=True):
            write_page(record, picks, folder / PAGE)
    except InputError as error:
        return str(error)
    return ""


def _line(record: "RunRecord") -> str:
    scores = f"test accuracy {record.test_accuracy:.2%}, macro-F1 {record.test_macro_f1:.2%}"
    return f"seed {record.seed}: {scores}, {_best_epoch(record)}, {record.total_seconds:.1f} s"


def _best_epoch(record: "RunRecord") -> str:
    return f"best epoch {record.best_epoch} of {record.epochs}" if record.epochs else "no epochs (nothing to train)"


def _not_converged(records: "list[RunRecord]") -> list[str]:
    seeds = [str(record.seed) for record in records if not record.is_converged]
    named = f" (seed {', '.join(seeds)})" if len(records) > 1 else ""
    return [f"not converged{named}: the best epoch is the last one; raise --epochs"] if seeds else []


def _scaling(records: "list[RunRecord]", mean: dict[str, float]) -> str:
    """How the probabilities were scaled, and the calibration error without it."""
    unused = sum(record.temperature == 1 for record in records)
    reason = "it does not lower the loss in cross-validation"
    if unused == len(records):
        return f"temperature not used: {reason}"
    before = f"{mean['test_ece_uncalibrated']:.2%} before scaling by temperature {mean['temperature']:.2f}"
    return before + (f", not used for {unused} of {len(records)} seeds: {reason}" if unused else "")


def _result(results: "list[tuple[RunRecord, Path]]", *, has_page: bool) -> str:
    from mggcn.methods import published_results

    records = [record for record, _ in results]
    last, count = records[-1], len(records)
    mean = {name: statistics.fmean(getattr(record, name) for record in records) for name in _AVERAGED}
    accuracy = f"{mean['test_accuracy']:.2%}"
    if count > 1:
        accuracy += f" ± {statistics.stdev(record.test_accuracy for record in records):.2%} over {count} seeds"
    if published := published_results(last.dataset, last.method, last.settings).get("accuracy"):
        accuracy += f"   (paper: {published:.1%})"
    epoch_ms = statistics.median(record.epoch_seconds for record in records) * 1000
    seconds = f"{sum(record.total_seconds for record in records):.1f} s"
    seconds += f", {epoch_ms:.1f} ms per epoch" if last.epochs else ""
    folder = f"{results[-1][1]}" + (f" and {count - 1} more" if count > 1 else "")
    lines = [
        f"test accuracy   {accuracy}",
        f"test macro-F1   {mean['test_macro_f1']:.2%}",
        *_smoothed(records),
        f"calibration     error {mean['test_ece']:.2%} ({_scaling(records, mean)})",
        f"training        {seconds}, {_best_epoch(last)}",
        *_not_converged(records),
        f"peak memory     {max(record.peak_memory_bytes for record in records) / 2**20:,.0f} MiB",
        f"run folder      {folder}" + (f", with {PAGE}" if has_page else ""),
    ]
    return "\n".join(lines)


def _tuned(best: "Trial", folder: Path) -> str:
    from mggcn.cli.tune import text_of
    from mggcn.tune import BEST

    value = f"val accuracy {best.value or 0.0:.2%}"
    return f"settings        trial {best.number} of {folder / BEST}, {value}: {text_of(best.settings)}"


def _smoothed(records: "list[RunRecord]") -> list[str]:
    """A line on the scores after the post-step, if the runs have one."""
    results = [record.smoothed for record in records if record.smoothed is not None]
    if not results:
        return []
    accuracy = f"{statistics.fmean(result.test_accuracy for result in results):.2%}"
    if len(results) > 1:
        accuracy += f" ± {statistics.stdev(result.test_accuracy for result in results):.2%}"
    shares = sorted({result.share for result in results})
    listed = f"{shares[0]:g}" + (f" to {shares[-1]:g}" if len(shares) > 1 else "")
    macro_f1 = f"macro-F1 {statistics.fmean(result.test_macro_f1 for result in results):.2%}"
    how = f"scores smoothed along edges from training labels; share {listed}, chosen on validation nodes"
    return [f"smoothed        {accuracy}, {macro_f1}   ({how})"]


def _classes(records: "list[RunRecord]") -> "list[ClassScores]":
    """The scores of every class over the test nodes of all runs together."""
    from mggcn.records import group
    from mggcn.report.classes import confusion, names, scores

    row = group(records)[0].rows[0]
    return scores(confusion(row), names(row))


def _table(classes: "list[ClassScores]") -> str:
    from mggcn.cli.table import aligned

    rows = [["class", "precision", "recall", "F1", "test nodes"]]
    for scores in classes:
        shares = (scores.precision, scores.recall, scores.f1)
        rows.append([scores.name, *(f"{share:.2%}" for share in shares), f"{scores.support:,}"])
    return aligned(rows, right=(1, 2, 3, 4))


def _summary(results: "list[tuple[RunRecord, Path]]") -> dict[str, Any]:
    """The result as JSON: one run, or the means over several with the list of them."""
    runs: list[dict[str, Any]] = [
        {
            "dataset": record.dataset["name"],
            **{name: getattr(record, name) for name in (*_AVERAGED, *_OTHERS)},
            "converged": record.is_converged,
            "run": str(folder),
            **({"smoothed": asdict(record.smoothed)} if record.smoothed else {}),
        }
        for record, folder in results
    ]
    if len(runs) == 1:
        return runs[0]
    values = {name: [run[name] for run in runs] for name in runs[0]}
    return {
        **runs[0],
        **{name: statistics.fmean(values[name]) for name in _AVERAGED},
        "converged": all(values["converged"]),
        "total_seconds": statistics.fmean(values["total_seconds"]),
        "epoch_seconds": statistics.median(values["epoch_seconds"]),
        "peak_memory_bytes": max(values["peak_memory_bytes"]),
        "test_accuracy_mean": statistics.fmean(values["test_accuracy"]),
        "test_accuracy_std": statistics.stdev(values["test_accuracy"]),
        **({"smoothed": _means(values["smoothed"])} if "smoothed" in values else {}),
        "runs": runs,
    }


def _means(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.fmean(row[name] for row in rows) for name in rows[0]}
