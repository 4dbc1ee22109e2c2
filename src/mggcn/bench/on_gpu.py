"""What the epoch section adds on a GPU: large batches, a whole training, the device's ceilings and a floor by hand."""

import time
from typing import Any

import torch

from mggcn import methods
from mggcn.bench import bandwidth, clock, floor
from mggcn.bench.options import Options
from mggcn.bench.sheet import Sheet
from mggcn.bench.trained import Trained
from mggcn.dataset import Dataset
from mggcn.run import fit

_LARGE = 4096
_WARM_UP = 5  # epochs, until every shape of batch has been recorded


def measure(sheet: Sheet, options: Options, dataset: Dataset, device: torch.device) -> None:
    """Enter the figures."""
    _large_batches(sheet, options, dataset, device)
    _ceilings(sheet, options, device)
    _by_hand(sheet)
    sheet.facts["fits"] = [_fit(options, dataset) for _ in range(2)]
    warm = sheet.facts["fits"][-1]
    sheet.put("fit", "training to early stop, the second in the process", [warm["total_seconds"]])
    sheet.put("fit_cold", "training to early stop, the first in the process", [sheet.facts["fits"][0]["wall_seconds"]])


def _large_batches(sheet: Sheet, options: Options, dataset: Dataset, device: torch.device) -> None:
    plan = methods.resolve("mg-gcn", dataset.name, {**options.settings, "batch_size": _LARGE})
    with Trained(plan, dataset, device, None) as trained:
        for _ in range(_WARM_UP):
            trained()
        seconds = clock.rounds({"large": trained}, options.repeats, device)["large"]
    sheet.put("epoch_large", f"training epoch, batches of {_LARGE}", seconds)


def _ceilings(sheet: Sheet, options: Options, device: torch.device) -> None:
    repeats = options.repeats
    sheet.put("copy", "copy inside the device, read and written", bandwidth.copy_rates(repeats, device), unit="B/s")
    for name, tf32 in (("fp32", False), ("tf32", True)):
        rates = bandwidth.product_rates(repeats, device, tf32=tf32)
        sheet.put(name, f"large product in {name}", rates, unit="op/s")


def _by_hand(sheet: Sheet) -> None:
    """The longer of the bytes at the copy's rate and the operations at tf32's rate."""
    work = floor.Work(*(sheet.facts[name] for name in ("rows", "gathered_bytes", "operations")))
    reading = work.gathered_bytes / sheet.figures["copy"]["median"]
    products = work.operations / sheet.figures["tf32"]["median"]
    factor = sheet.figures["epoch"].get("scaled", 1.0)
    sheet.put("hand_reading", "gathered bytes at the copy's rate", [reading * factor])
    sheet.put("hand_products", "operations at tf32's rate", [products * factor])
    sheet.put("hand", "floor by hand, the longer of the two", [max(reading, products) * factor])
    sheet.divide("hand", "the epoch over its floor by hand", "epoch", "hand")
    sheet.divide("hand_large", f"the epoch with batches of {_LARGE} over its floor by hand", "epoch_large", "hand")


def _fit(options: Options, dataset: Dataset) -> dict[str, Any]:
    started = time.perf_counter()
    record = fit(dataset, device=options.device, settings={**options.settings, "batch_size": options.batch_size}).record
    names = ("total_seconds", "prepare_seconds", "epoch_seconds", "epochs", "best_epoch", "test_accuracy")
    told = {name: getattr(record, name) for name in names}
    first = record.curve[0].train_seconds
    return told | {"first_epoch_seconds": first, "wall_seconds": time.perf_counter() - started}
