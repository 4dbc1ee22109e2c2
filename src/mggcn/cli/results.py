"""What ``mggcn train`` prints of its runs, and the pages it writes for them."""

import json
import logging
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mggcn.cli.options import TrainOptions, setting_words

if TYPE_CHECKING:
    from mggcn.experiments import Part, Trial
    from mggcn.training import RunRecord

_log = logging.getLogger(__name__)

_PAGE = "report.html"
_AVERAGED = (
    *("test_ece", "test_ece_uncalibrated", "temperature", "test_accuracy", "test_macro_f1"),
    *("val_loss", "val_accuracy", "epochs", "best_epoch"),
)
_OTHERS = ("method", "seed", "device", "total_seconds", "epoch_seconds", "prepare_seconds", "peak_memory_bytes")


class TrainedRun(NamedTuple):
    """A trained run: its record, its folder, and the picks on its page, if any."""

    record: "RunRecord"
    folder: Path
    picks: "Part | None"


def show(results: list[TrainedRun], options: TrainOptions, tuned: "tuple[Trial, Path] | None" = None) -> None:
    """Write the pages of the runs and print the result; ``tuned``: the best trial of a search, and its folder."""
    from mggcn.cli.display import aligned_table
    from mggcn.experiments import BEST, class_table, group, ranking_table

    missing, values = _write_pages(results) if options.report else "", _summary(results)
    if missing:
        options.note(f"no {_PAGE}: {missing}")
    print(_text(results, values, has_page=options.report and not missing))
    if tuned is not None:
        best, folder = tuned
        accuracy = f"val accuracy {best.value or 0.0:.2%}"
        print(f"settings        trial {best.number} of {folder / BEST}, {accuracy}: {setting_words(best.settings)}")
        values["tuned"] = {**asdict(best), "out": str(folder)}
    if options.per_class:
        rows = group([result.record for result in results])[0].rows
        classes = class_table(rows[0])
        print(f"\n{aligned_table(classes)}\n\n{aligned_table(ranking_table(rows))}")
        values["per_class"] = [asdict(scores) for scores in classes.items]
        values["rankings"] = [record.ranking and asdict(record.ranking) for record, *_ in results]
    if options.as_json:
        print(json.dumps(values))


def figures(record: "RunRecord") -> str:
    """One of several runs, in a line."""
    scores = f"test accuracy {record.test_accuracy:.2%}, macro-F1 {record.test_macro_f1:.2%}"
    return f"{scores}, {_best_epoch(record)}, {record.total_seconds:.1f} s"


def _write_pages(results: list[TrainedRun]) -> str:
    """Write a page into every run folder; return the reason if that is not possible.

    Charts are drawn after all runs, so that the libraries they need do not count in a run's peak memory.
    """
    started = time.perf_counter()
    from mggcn.errors import InputError
    from mggcn.experiments import require_altair
    from mggcn.explore import write_page

    try:
        require_altair()
        for record, folder, picks in results:
            write_page(record, picks, folder / _PAGE)
    except InputError as error:
        return str(error)
    seconds = time.perf_counter() - started
    _log.debug("pages written in %.2f s", seconds, extra={"phase": "page", "seconds": seconds})
    return ""


def _best_epoch(record: "RunRecord") -> str:
    return f"best epoch {record.best_epoch} of {record.epochs}" if record.epochs else "no epochs (nothing to train)"


def _scaling(records: "Sequence[RunRecord]", values: dict[str, Any]) -> str:
    """How the probabilities were scaled, and the calibration error without it."""
    unused = sum(record.temperature == 1 for record in records)
    reason = "it does not lower the loss in cross-validation"
    if unused == len(records):
        return f"temperature not used: {reason}"
    before = f"{values['test_ece_uncalibrated']:.2%} before scaling by temperature {values['temperature']:.2f}"
    return before + (f", not used for {unused} of {len(records)} seeds: {reason}" if unused else "")


def _text(results: list[TrainedRun], values: dict[str, Any], *, has_page: bool) -> str:
    """The result of the runs, of which ``values`` are the summary, as a few lines."""
    from mggcn.runs import published_results

    records = [result.record for result in results]
    last, count, accuracy = records[-1], len(records), f"{values['test_accuracy']:.2%}"
    if count > 1:
        accuracy += f" ± {values['test_accuracy_std']:.2%} over {count} seeds"
    if published := published_results(last.dataset, last.method, last.settings).get("accuracy"):
        accuracy += f"   (paper: {published:.1%})"
    elif published := published_results(last.dataset, last.method).get("accuracy"):
        accuracy += f"   (paper, with its settings: {published:.1%})"
    seconds = f"{sum(record.total_seconds for record in records):.1f} s"
    seconds += f", {values['epoch_seconds'] * 1000:.1f} ms per epoch" if last.epochs else ""
    lines = [
        f"test accuracy   {accuracy}",
        f"test macro-F1   {values['test_macro_f1']:.2%}",
        f"calibration     error {values['test_ece']:.2%} ({_scaling(records, values)})",
        f"training        {seconds}, {_best_epoch(last)}",
    ]
    if unfinished := ", ".join(str(record.seed) for record in records if not record.is_converged):
        named = f" (seed {unfinished})" if count > 1 else ""
        lines.append(f"not converged{named}: the best epoch is the last one; raise --epochs")
    folder = f"{results[-1].folder}" + (f" and {count - 1} more" if count > 1 else "")
    lines += [
        f"peak memory     {values['peak_memory_bytes'] / 2**20:,.0f} MiB",
        f"run folder      {folder}" + (f", with {_PAGE}" if has_page else ""),
    ]
    return "\n".join([*_recipes(records), *lines])


def _recipes(records: "Sequence[RunRecord]") -> list[str]:
    """The recipes of a portfolio and what was selected of them; of several seeds, only that."""
    from mggcn.cli.display import aligned_table
    from mggcn.experiments import recipe_table, selection

    chosen = [record for record in records if record.portfolio is not None]
    table = [aligned_table(recipe_table(chosen[0])), ""] if len(records) == len(chosen) == 1 else []
    seeds = [f"seed {record.seed}, " if len(records) > 1 else "" for record in chosen]
    return [*table, *(f"selected        {seed}{selection(record)}" for seed, record in zip(seeds, chosen, strict=True))]


def _summary(results: list[TrainedRun]) -> dict[str, Any]:
    """The result as JSON: one run, or the means over several with the list of them."""
    runs: list[dict[str, Any]] = [
        {
            "dataset": record.dataset["name"],
            **{name: getattr(record, name) for name in (*_AVERAGED, *_OTHERS)},
            "converged": record.is_converged,
            **({"portfolio": [asdict(member) for member in record.portfolio]} if record.portfolio else {}),
            "run": str(folder),
        }
        for record, folder, _ in results
    ]
    if len(runs) == 1:
        return runs[0]
    values = {name: [run[name] for run in runs] for name in runs[0]}
    return {
        **runs[0],
        **{name: statistics.fmean(values[name]) for name in (*_AVERAGED, "total_seconds")},
        "converged": all(values["converged"]),
        "epoch_seconds": statistics.median(values["epoch_seconds"]),
        "peak_memory_bytes": max(values["peak_memory_bytes"]),
        "test_accuracy_mean": statistics.fmean(values["test_accuracy"]),
        "test_accuracy_std": statistics.stdev(values["test_accuracy"]),
        "runs": runs,
    }
