"""``mggcn train``: train a method, show how it goes, leave a run folder."""

import json
import statistics
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from mggcn.records import RunRecord
    from mggcn.report import Part
    from mggcn.report.classes import ClassScores

PAGE = "report.html"


def train(
    dataset: str | None = None,
    /,
    *,
    method: str | None = None,
    seed: int | None = None,
    seeds: int = 1,
    epochs: int | None = None,
    device: Literal["auto", "cpu", "cuda"] | None = None,
    settings: Annotated[list[str] | None, Parameter(name="--set", consume_multiple=True, negative=())] = None,
    config: Path | None = None,
    root: Path | None = None,
    out: Path = Path("runs"),
    allow_import: Annotated[bool, Parameter(negative=())] = False,
    report: bool = True,
    per_class: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(negative=())] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Train a method on a data set and leave a run folder.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        method: A name (see `mggcn methods`) or package.module:Class of your own method; mg-gcn by default.
        seed: Of weights, order and picks; 0 unless a config says otherwise.
        seeds: Train so many times, with consecutive seeds.
        epochs: At most so many; short for --set epochs=N.
        device: auto takes the GPU where there is one.
        settings: Change settings, as key=value; `mggcn methods NAME` lists them.
        config: A config.toml, as a run folder holds one; the other options override it.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
        out: Where run folders are made.
        allow_import: Allow a --config to name Python code of your own method, which is imported.
        report: Leave a page of charts in each run folder; needs `pip install 'mggcn[report]'`.
        per_class: Show precision, recall and F1 of every class too.
        quiet: Show only the result.
        as_json: End standard output with one line of JSON.
    """
    from mggcn import datasets, methods
    from mggcn.cli.display import epochs as shown_epochs
    from mggcn.dataset import headline
    from mggcn.errors import InputError
    from mggcn.explore.run_page import picks_part
    from mggcn.files import check_writable
    from mggcn.methods.settings import is_import_path, pairs
    from mggcn.run import Config, fit_plan, read_config
    from mggcn.train import choose_device

    given = read_config(config) if config else Config()
    name = dataset or given.dataset
    if name is None:
        raise InputError("train: name a data set, or a --config that names one")
    if seeds < 1:
        raise InputError(f"--seeds: {seeds} is less than 1")
    if (
        method is None
        and config
        and not allow_import
        and any(map(is_import_path, (given.method, *given.settings.values())))
    ):
        raise InputError(f"{config}: names code to import ({given.method}); if you trust it, add --allow-import")
    first = given.seed if seed is None else seed
    if first < 0:
        raise InputError(f"--seed: {first} is less than 0")
    changes = {**given.settings, **pairs(settings or []), **({} if epochs is None else {"epochs": epochs})}
    on = choose_device(device or given.device)
    wanted = method or given.method or "mg-gcn"
    methods.resolve(wanted, name, changes)
    check_writable(out)
    data = datasets.load(name, root=root)
    plan = methods.resolve(wanted, data.name, changes)
    if not quiet:
        print(headline(data), file=sys.stderr)  # noqa: T201

    results: list[tuple[RunRecord, Path]] = []
    pages: list[Part | None] = []
    label = plan.name.rpartition(":")[2]
    for number in range(first, first + seeds):
        with shown_epochs(f"{data.name} {label} seed {number}", plan.training.epochs, quiet=quiet) as shown:
            run = fit_plan(data, plan, number, on, shown)
        folder = _free(out, f"{data.name.replace(':', '-')}-{label}-seed{number}")
        run.save(folder)
        results.append((run.record, folder))
        pages.append(picks_part(run, data) if report else None)
        if seeds > 1 and not quiet:
            print(_line(run.record), file=sys.stderr)  # noqa: T201
    missing = _write_pages(results, pages) if report else ""
    if missing and not quiet:
        print(f"no {PAGE}: {missing}", file=sys.stderr)  # noqa: T201
    _print_result(results, has_page=report and not missing)
    classes = _classes([record for record, _ in results]) if per_class else []
    if classes:
        print(f"\n{_table(classes)}")  # noqa: T201
    if as_json:
        told = {"per_class": [asdict(one) for one in classes]} if per_class else {}
        print(json.dumps(_summary(results) | told))  # noqa: T201


def _write_pages(results: "list[tuple[RunRecord, Path]]", pages: "list[Part | None]") -> str:
    """Write a page into every run folder; return the reason if that is not possible.

    Charts are drawn when all runs are over, so that the libraries they need do not count in a run's peak memory.
    """
    from mggcn.errors import InputError
    from mggcn.report.charts import require_altair

    try:
        require_altair()
        from mggcn.explore.run_page import write_page

        for (record, folder), picks in zip(results, pages, strict=True):
            write_page(record, picks, folder / PAGE)
    except InputError as error:
        return str(error)
    return ""


def _line(record: "RunRecord") -> str:
    return (
        f"seed {record.seed}: test accuracy {record.test_accuracy:.2%}, macro-F1 {record.test_macro_f1:.2%}, "
        f"{_kept(record)}, {record.total_seconds:.1f} s"
    )


def _kept(record: "RunRecord") -> str:
    return f"best epoch {record.best_epoch} of {record.epochs}" if record.epochs else "no epochs (nothing to train)"


def _print_result(results: "list[tuple[RunRecord, Path]]", *, has_page: bool) -> None:
    from mggcn.methods import published_results

    records = [record for record, _ in results]
    last = records[-1]
    reached = f"{statistics.fmean(r.test_accuracy for r in records):.2%}"
    if len(records) > 1:
        reached += f" ± {statistics.stdev(r.test_accuracy for r in records):.2%} over {len(records)} seeds"
    published = published_results(last.dataset, last.method, last.settings).get("accuracy")
    lines = [
        f"test accuracy   {reached}" + (f"   (paper: {published:.1%})" if published else ""),
        f"test macro-F1   {statistics.fmean(r.test_macro_f1 for r in records):.2%}",
        f"calibration     {_calibration(records)}",
        f"training        {sum(r.total_seconds for r in records):.1f} s, "
        + (f"{statistics.median(r.epoch_seconds for r in records) * 1000:.1f} ms an epoch, " if last.epochs else "")
        + _kept(last),
        f"peak memory     {max(r.peak_memory_bytes for r in records) / 2**20:,.0f} MiB",
        f"run folder      {results[-1][1]}"
        + (f" and {len(results) - 1} more" if len(results) > 1 else "")
        + (f", with {PAGE}" if has_page else ""),
    ]
    print("\n".join(lines))  # noqa: T201


def _calibration(records: "list[RunRecord]") -> str:
    """How far probabilities are off on the test nodes, and were before they were calibrated."""
    after, before, temperature = (
        statistics.fmean(getattr(record, name) for record in records)
        for name in ("test_ece", "test_ece_uncalibrated", "temperature")
    )
    return f"probabilities off by {after:.2%} ({before:.2%} before temperature {temperature:.2f})"


def _classes(records: "list[RunRecord]") -> "list[ClassScores]":
    """The scores of every class, the runs' test nodes taken together."""
    from mggcn.records import group
    from mggcn.report.classes import confusion, names, scores

    row = group(records)[0].rows[0]
    return scores(confusion(row), names(row))


def _table(classes: "list[ClassScores]") -> str:
    from mggcn.cli.table import aligned

    rows = [
        [one.name, *(f"{share:.2%}" for share in (one.precision, one.recall, one.f1)), f"{one.support:,}"]
        for one in classes
    ]
    return aligned([["class", "precision", "recall", "F1", "test nodes"], *rows], right=(1, 2, 3, 4))


def _summary(results: "list[tuple[RunRecord, Path]]") -> dict[str, Any]:
    objects = [_object(record, folder) for record, folder in results]
    if len(objects) == 1:
        return objects[0]
    accuracies = [item["test_accuracy"] for item in objects]
    means = (
        "test_accuracy",
        "test_macro_f1",
        "test_ece",
        "test_ece_uncalibrated",
        "temperature",
        "val_loss",
        "val_accuracy",
        "epochs",
        "best_epoch",
        "total_seconds",
    )
    return {
        **objects[0],
        **{name: statistics.fmean(item[name] for item in objects) for name in means},
        "epoch_seconds": statistics.median(item["epoch_seconds"] for item in objects),
        "peak_memory_bytes": max(item["peak_memory_bytes"] for item in objects),
        "test_accuracy_mean": statistics.fmean(accuracies),
        "test_accuracy_std": statistics.stdev(accuracies),
        "runs": objects,
    }


def _object(record: "RunRecord", folder: Path) -> dict[str, Any]:
    names = ("method", "seed", "epochs", "best_epoch", "test_accuracy", "test_macro_f1", "val_loss", "val_accuracy")
    calibration = ("temperature", "test_ece", "test_ece_uncalibrated")
    times = ("epoch_seconds", "prepare_seconds", "total_seconds", "peak_memory_bytes")
    return {
        "dataset": record.dataset["name"],
        **{name: getattr(record, name) for name in (*names, *calibration, *times)},
        "device": record.device,
        "run": str(folder),
    }


def _free(out: Path, name: str) -> Path:
    folder, number = out / name, 1
    while folder.exists():
        number += 1
        folder = out / f"{name}-{number}"
    return folder
