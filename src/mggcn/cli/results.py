"""What ``mggcn train`` prints of its runs, and the pages it writes for them."""

import logging
import statistics
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mggcn.experiments import Part, Trial
    from mggcn.training import RunRecord

_log = logging.getLogger(__name__)

PAGE = "report.html"

_CALIBRATION = ("test_ece", "test_ece_uncalibrated", "temperature")
_AVERAGED = (*_CALIBRATION, "test_accuracy", "test_macro_f1", "val_loss", "val_accuracy", "epochs", "best_epoch")
_OTHERS = ("method", "seed", "device", "total_seconds", "epoch_seconds", "prepare_seconds", "peak_memory_bytes")


def write_pages(results: "list[tuple[RunRecord, Path]]", parts: "list[Part | None]") -> str:
    """Write a page into every run folder; return the reason if that is not possible.

    Charts are drawn after all runs, so that the libraries they need do not count in a run's peak memory.
    """
    started = time.perf_counter()
    from mggcn.errors import InputError
    from mggcn.experiments import require_altair
    from mggcn.explore import write_page

    try:
        require_altair()
        for (record, folder), picks in zip(results, parts, strict=True):
            write_page(record, picks, folder / PAGE)
    except InputError as error:
        return str(error)
    seconds = time.perf_counter() - started
    _log.debug("pages written in %.2f s", seconds, extra={"phase": "page", "seconds": seconds})
    return ""


def line(record: "RunRecord") -> str:
    """One of several runs, in a line."""
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


def text(results: "list[tuple[RunRecord, Path]]", *, has_page: bool) -> str:
    """The result of the runs, as a few lines."""
    from mggcn.runs import published_results

    records = [record for record, _ in results]
    last, count = records[-1], len(records)
    mean = {name: statistics.fmean(getattr(record, name) for record in records) for name in _AVERAGED}
    accuracy = f"{mean['test_accuracy']:.2%}"
    if count > 1:
        accuracy += f" ± {statistics.stdev(record.test_accuracy for record in records):.2%} over {count} seeds"
    if published := published_results(last.dataset, last.method, last.settings).get("accuracy"):
        accuracy += f"   (paper: {published:.1%})"
    elif published := published_results(last.dataset, last.method).get("accuracy"):
        accuracy += f"   (paper, with its settings: {published:.1%})"
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


def of_search(best: "Trial", folder: Path) -> str:
    """The best trial of a search in a folder, in a line."""
    from mggcn.cli.tune import text_of
    from mggcn.experiments import BEST

    value = f"val accuracy {best.value or 0.0:.2%}"
    return f"settings        trial {best.number} of {folder / BEST}, {value}: {text_of(best.settings)}"


def classes(records: "list[RunRecord]") -> list[dict[str, Any]]:
    """The scores of every class over the test nodes of all runs together."""
    from mggcn.experiments import group, scores

    return [asdict(each) for each in scores(group(records)[0].rows[0])]


def tables(records: "list[RunRecord]") -> list[str]:
    """The scores of every class, and how well its probability ranks the test nodes, as tables."""
    from mggcn.cli.display import aligned
    from mggcn.experiments import class_table, group, ranking_table

    row = group(records)[0].rows[0]
    shown = (class_table(row), ranking_table([row]))
    return [aligned([table.headings, *table.texts], right=range(1, len(table.columns))) for table in shown]


def summary(results: "list[tuple[RunRecord, Path]]") -> dict[str, Any]:
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
