"""``mggcn train``: train a method, show its progress and write a run folder."""

import json
import statistics
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mggcn.cli import resuming
from mggcn.cli.options import DEFAULTS, Preset, RunOptions, Settings, Switch

if TYPE_CHECKING:
    from mggcn.records import RunRecord
    from mggcn.report import Part
    from mggcn.report.classes import ClassScores
    from mggcn.run import RunFolder

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
    settings: Settings = None,
    config: Path | None = None,
    out: Path = Path("runs"),
    allow_import: Switch = False,
    report: bool = True,
    per_class: Switch = False,
    resume: Path | None = None,
    warm_start: Path | None = None,
    checkpoint_every: float = 10.0,
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
        settings: Change settings, as key=value; `mggcn methods NAME` lists the settings of a method.
        config: A config.toml, as in a run folder; the other options override it.
        out: The folder in which run folders are created.
        allow_import: Allow --config to import the Python code of a user-defined method.
        report: Write a page with charts into each run folder; needs `pip install 'mggcn[report]'`.
        per_class: Also print precision, recall and F1 of every class.
        resume: Continue the run in this folder after its last checkpoint; only --epochs and --set patience= may change.
        warm_start: Start from the weights of the run in this folder, with its method, settings and scaling of features;
            features are matched as for `mggcn predict`.
        checkpoint_every: Seconds between two checkpoints, at least; 0 writes one after every epoch.
        options: Shared options.
    """
    from mggcn import datasets, methods
    from mggcn.errors import InputError
    from mggcn.files import check_writable
    from mggcn.methods.settings import is_import_path, pairs
    from mggcn.run import Config, RunFolder, WarmStart, read_config
    from mggcn.train import choose_device

    changed = {**pairs(settings or []), **({} if epochs is None else {"epochs": epochs})}
    shown = _Shown(report, per_class, checkpoint_every, allow_import, options)
    if resume is not None:
        others: dict[str, object] = {
            "method": method,
            "preset": preset,
            "seed": seed,
            "seeds": None if seeds == 1 else seeds,
        }
        others |= {"config": config, "warm-start": warm_start, "device": options.device}
        opened = resuming.open_run(resume, dataset, changed, options.root, others, allow_import=allow_import)
        if opened is not None:
            shown.train([opened], 1)
        return
    base = read_config(config) if config else Config(preset="default")
    origin = None
    warm_start = Path(base.warm_start) if warm_start is None and base.warm_start else warm_start
    if warm_start is not None:
        origin = WarmStart.of(warm_start, allow_import=allow_import)
        base = base if config else Config(method=origin.run.record.method, settings=origin.run.record.settings)
    name = dataset or base.dataset
    if name is None:
        raise InputError("train: name a data set, or a --config that names one")
    if seeds < 1:
        raise InputError(f"--seeds: {seeds} is less than 1")
    imports = [value for value in (None if method else base.method, *base.settings.values()) if is_import_path(value)]
    if imports and not allow_import:
        source = config or warm_start
        raise InputError(f"{source}: names code to import ({imports[0]}); if you trust it, add --allow-import")
    first_seed = base.seed if seed is None else seed
    if first_seed < 0:
        raise InputError(f"--seed: {first_seed} is less than 0")
    changes = {**base.settings, **changed}
    start = preset or base.preset
    run_device, method = choose_device(options.device or base.device), method or base.method or "mg-gcn"
    methods.resolve(method, name, changes, preset=start)  # a wrong setting is reported before the data are loaded
    check_writable(out)
    data = datasets.load(name, root=options.root)
    plan = methods.resolve(method, data.name, changes, preset=start, sparse=data.is_sparse)
    folder = out / f"{data.name.replace(':', '-')}-{plan.name.rpartition(':')[2]}"
    numbers = range(first_seed, first_seed + seeds)
    create = partial(RunFolder.create, numbered=True)
    folders = (create(Path(f"{folder}-seed{number}"), data, plan, number, run_device, origin) for number in numbers)
    shown.train(folders, seeds)


@dataclass(frozen=True)
class _Shown:
    """Trains runs and shows them; the fields are options of the command."""

    report: bool
    per_class: bool
    checkpoint_every: float
    allow_import: bool
    options: RunOptions

    def train(self, folders: "Iterable[RunFolder]", count: int) -> None:
        """Train ``count`` runs, each in its folder, which is created when its turn comes, and print the result."""
        from mggcn.cli.display import EpochDisplay
        from mggcn.dataset import headline
        from mggcn.explore.run_page import picks_part

        results: list[tuple[RunRecord, Path]] = []
        parts: list[Part | None] = []
        options, quiet = self.options, self.options.quiet
        for folder in folders:
            data, plan = folder.dataset, folder.plan
            if not results and not quiet:
                print(headline(data), file=sys.stderr)  # noqa: T201
            title = f"{data.name} {plan.name.rpartition(':')[2]} seed {folder.seed}"
            again = resuming.command(folder.path, options.root, allow_import=self.allow_import)
            with EpochDisplay(title, plan.training.epochs, quiet=quiet) as progress:
                run = resuming.train_in(folder, progress, self.checkpoint_every, again, quiet=quiet)
            results.append((run.record, folder.path))
            parts.append(picks_part(run, data) if self.report else None)
            if count > 1 and not quiet:
                print(_line(run.record), file=sys.stderr)  # noqa: T201
        missing = _write_pages(results, parts) if self.report else ""
        if missing and not quiet:
            print(f"no {PAGE}: {missing}", file=sys.stderr)  # noqa: T201
        print(_result(results, has_page=self.report and not missing))  # noqa: T201
        classes = _classes([record for record, _ in results]) if self.per_class else []
        if classes:
            print(f"\n{_table(classes)}")  # noqa: T201
        if options.as_json:
            by_class = {"per_class": [asdict(scores) for scores in classes]} if self.per_class else {}
            print(json.dumps(_summary(results) | by_class))  # noqa: T201


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
        f"calibration     error {mean['test_ece']:.2%} ({_scaling(records, mean)})",
        f"training        {seconds}, {_best_epoch(last)}",
        *_not_converged(records),
        f"peak memory     {max(record.peak_memory_bytes for record in records) / 2**20:,.0f} MiB",
        f"run folder      {folder}" + (f", with {PAGE}" if has_page else ""),
    ]
    return "\n".join(lines)


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
        "runs": runs,
    }
