"""What the epoch section adds on a GPU: large batches, bf16, whole trainings, the device's limits, a counted bound."""

import statistics
import time
from typing import Any

import torch

from mggcn import methods
from mggcn.bench import _timing
from mggcn.bench._epoch_runner import EpochRunner
from mggcn.bench._measurements import Measurements
from mggcn.bench.options import Options
from mggcn.dataset import Dataset
from mggcn.run import fit

_LARGE = 4096
_VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "epoch_large": (f"batches of {_LARGE}", {"batch_size": _LARGE}),
    "epoch_bf16": ("bf16", {"precision": "bf16"}),
    "epoch_large_bf16": (f"bf16, batches of {_LARGE}", {"precision": "bf16", "batch_size": _LARGE}),
}
_SEEDS = 5
_WARM_UP = 5  # epochs, until every shape of batch has been captured


def measure(measured: Measurements, options: Options, dataset: Dataset, device: torch.device) -> None:
    """Add the figures."""
    _variants(measured, options, dataset, device)
    _limits(measured, options.repeats, device)
    _counted_bound(measured)
    cold, warm = (_fit(options, dataset) for _ in range(2))
    measured.facts["fits"] = [cold, warm]
    measured.add("fit", "training to early stop, the second in the process", [warm["total_seconds"]])
    measured.add("fit_cold", "training to early stop, the first in the process", [cold["wall_seconds"]])
    measured.notes += [_accuracy(options, dataset, precision) for precision in ("tf32", "bf16")]


def _variants(measured: Measurements, options: Options, dataset: Dataset, device: torch.device) -> None:
    for name, (label, changed) in _VARIANTS.items():
        settings = {"batch_size": options.batch_size, **options.settings, **changed}
        plan = methods.resolve("mg-gcn", dataset.name, settings, preset="paper")
        with EpochRunner(plan, dataset, device, None) as runner:
            for _ in range(_WARM_UP):
                runner()
            seconds = _timing.rounds({name: runner}, options.repeats, device)[name]
        measured.add(name, f"training epoch, {label}", seconds)


def _limits(measured: Measurements, repeats: int, device: torch.device) -> None:
    rates = _timing.copy_rates(repeats, device)
    measured.add("copy", "copy inside the device, read and written", rates, unit="B/s")
    for name, tf32 in (("fp32", False), ("tf32", True)):
        rates = _timing.product_rates(repeats, device, tf32=tf32)
        measured.add(name, f"large product in {name}", rates, unit="op/s")


def _counted_bound(measured: Measurements) -> None:
    """The longer of the gathered bytes at the copy's rate and the operations at tf32's rate."""
    factor = measured.figures["epoch"].get("scaled", 1.0)
    reading = measured.facts["gathered_bytes"] / measured.figures["copy"]["median"] * factor
    products = measured.facts["operations"] / measured.figures["tf32"]["median"] * factor
    measured.add("hand_reading", "gathered bytes at the copy's rate", [reading])
    measured.add("hand_products", "operations at tf32's rate", [products])
    measured.add("hand", "floor by hand, the longer of the two", [max(reading, products)])
    measured.add_ratio("hand", "the epoch over its floor by hand", "epoch", "hand")
    measured.add_ratio(
        "hand_large", f"the epoch with batches of {_LARGE} over its floor by hand", "epoch_large", "hand"
    )


def _accuracy(options: Options, dataset: Dataset, precision: str) -> str:
    """A line on the test accuracy that a precision reaches."""
    settings = {**options.settings, "batch_size": options.batch_size, "precision": precision}
    runs = [fit(dataset, device=options.device, settings=settings, seed=seed).record for seed in range(_SEEDS)]
    values = [run.test_accuracy for run in runs]
    spread = f"{statistics.fmean(values):.2%} ± {statistics.stdev(values):.2%}"
    return f"test accuracy in {precision}, our recipe, {_SEEDS} seeds: {spread}"


def _fit(options: Options, dataset: Dataset) -> dict[str, Any]:
    started = time.perf_counter()
    record = fit(dataset, device=options.device, settings={**options.settings, "batch_size": options.batch_size}).record
    names = ("total_seconds", "prepare_seconds", "epoch_seconds", "epochs", "best_epoch", "test_accuracy")
    facts = {name: getattr(record, name) for name in names}
    first = record.curve[0].train_seconds
    return facts | {"first_epoch_seconds": first, "wall_seconds": time.perf_counter() - started}
