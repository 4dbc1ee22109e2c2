"""The prepare section: means over all neighbours and running sums, against the memory's speed."""

from functools import partial

import numpy as np
import torch

from mggcn import methods
from mggcn.bench import bandwidth, clock
from mggcn.bench.options import Options
from mggcn.bench.sheet import Sheet
from mggcn.dataset import Dataset
from mggcn.kernels import threads as threading
from mggcn.kernels.aggregate import neighbour_mean
from mggcn.kernels.pick import PickTable

_CPU = torch.device("cpu")


def measure(options: Options, dataset: Dataset, device: torch.device) -> Sheet:
    """Time what happens once before training."""
    include_self = methods.resolve("mg-gcn", dataset.name, options.settings).settings["fine_self"]
    threads = threading.available()
    gathered = _gathered_bytes(dataset)
    sheet = Sheet(facts={"threads": threads, "gathered_bytes": gathered, "num_features": dataset.num_features})
    works: dict[str, clock.Work] = {
        "mean": partial(neighbour_mean, dataset.graph, dataset.x, include_self=include_self, threads=threads),
        "sums": partial(PickTable.of, dataset.graph, threads=threads),
    }
    seconds = clock.rounds(works, options.repeats, _CPU)
    sheet.put("mean", f"mean over all neighbours, {threads} threads", seconds["mean"])
    sheet.put("rate", "feature rows read", [gathered / value for value in seconds["mean"]], unit="B/s")
    sheet.put("sums", f"running sums, {threads} threads", seconds["sums"])
    rates = bandwidth.read_rates(options.repeats, threads)
    sheet.put("memory", f"streaming read, {threads} threads", rates, unit="B/s")
    sheet.put("read", "the same bytes at the streaming rate", [gathered / rate for rate in rates])
    sheet.divide("memory", "the mean over the streaming read of its bytes", "mean", "read")
    if device.type == "cuda":
        _on_device(sheet, options, dataset, include_self, device)
    return sheet


def _gathered_bytes(dataset: Dataset) -> int:
    """The bytes of feature rows read, one row for every stored edge."""
    if isinstance(dataset.x, np.ndarray):
        return dataset.graph.num_stored * dataset.num_features * 4
    entry = dataset.x.data.itemsize + dataset.x.indices.itemsize
    return int(np.diff(dataset.x.indptr)[dataset.graph.indices].sum() * entry)


def _on_device(sheet: Sheet, options: Options, dataset: Dataset, include_self: bool, device: torch.device) -> None:
    from mggcn.kernels.aggregate import neighbour_mean_on  # type: ignore[attr-defined, unused-ignore]

    if not isinstance(dataset.x, np.ndarray):
        sheet.notes.append("preparation on the device: left out, the features are sparse")
        return
    arrays = (dataset.graph.indptr, dataset.graph.indices, dataset.x)
    placed = [torch.from_numpy(np.array(array)).to(device) for array in arrays]
    work = partial(neighbour_mean_on, *placed, include_self=include_self)
    seconds = clock.rounds({"device": work}, options.repeats, device)["device"]
    sheet.put("device", "mean over all neighbours on the device", seconds, unit="ms", factor=1e3)
    rates = bandwidth.copy_rates(options.repeats, device)
    sheet.put("device_memory", "copy inside the device, read and written", rates, unit="B/s")
    read = [sheet.facts["gathered_bytes"] / rate * 1e3 for rate in rates]
    sheet.put("device_read", "the same bytes at the copy's rate", read, unit="ms")
    sheet.divide("device_memory", "the mean on the device over its bytes at the copy's rate", "device", "device_read")
