"""The prepare section: times the means over all neighbours and the running sums, and compares with memory speed."""

from functools import partial

import numpy as np
import torch

from benchmarks.speed import timing
from benchmarks.speed.options import Options
from benchmarks.speed.timing import Measurements
from mggcn.data._dataset import Dataset
from mggcn.kernels import threads as threading
from mggcn.kernels.aggregate import neighbour_mean, neighbour_mean_on
from mggcn.kernels.pick import PickTable
from mggcn.runs import resolve

_CPU = torch.device("cpu")


def measure(options: Options, dataset: Dataset, device: torch.device) -> Measurements:
    """Time what happens once before training."""
    include_self = resolve("mg-gcn", dataset.name, options.settings, preset="paper").settings["fine_self"]
    threads, gathered = threading.available(), _gathered_bytes(dataset)
    facts = {"threads": threads, "gathered_bytes": gathered, "num_features": dataset.num_features}
    measured = Measurements(facts=facts)
    tasks: dict[str, timing.Task] = {
        "mean": partial(neighbour_mean, dataset.graph, dataset.x, include_self=include_self, threads=threads),
        "sums": partial(PickTable.of, dataset.graph, threads=threads),
    }
    seconds = timing.rounds(tasks, options.repeats, _CPU)
    measured.add("mean", f"mean over all neighbours, {threads} threads", seconds["mean"])
    measured.add("rate", "feature rows read", [gathered / value for value in seconds["mean"]], unit="B/s")
    measured.add("sums", f"running sums, {threads} threads", seconds["sums"])
    rates = timing.read_rates(options.repeats, threads)
    measured.add("memory", f"streaming read, {threads} threads", rates, unit="B/s")
    measured.add("read", "the same bytes at the streaming rate", [gathered / rate for rate in rates])
    measured.add_ratio("memory", "the mean over the streaming read of its bytes", "mean", "read")
    if device.type == "cuda":
        _on_device(measured, options, dataset, include_self, device)
    return measured


def _gathered_bytes(dataset: Dataset) -> int:
    """The bytes of feature rows read, one row for every stored edge."""
    if isinstance(dataset.x, np.ndarray):
        return dataset.graph.num_stored * dataset.num_features * 4
    entry = dataset.x.data.itemsize + dataset.x.indices.itemsize
    return int(np.diff(dataset.x.indptr)[dataset.graph.indices].sum() * entry)


def _on_device(
    measured: Measurements, options: Options, dataset: Dataset, include_self: bool, device: torch.device
) -> None:
    if not isinstance(dataset.x, np.ndarray):
        measured.notes.append("preparation on the device: left out, the features are sparse")
        return
    arrays = (dataset.graph.indptr, dataset.graph.indices, dataset.x)
    indptr, indices, x = (torch.from_numpy(np.array(array)).to(device) for array in arrays)
    task = partial(neighbour_mean_on, indptr, indices, x, include_self=include_self)
    seconds = timing.rounds({"device": task}, options.repeats, device)["device"]
    measured.add("device", "mean over all neighbours on the device", seconds, unit="ms", factor=1e3)
    rates = timing.copy_rates(options.repeats, device)
    measured.add("device_memory", "copy inside the device, read and written", rates, unit="B/s")
    read = [measured.facts["gathered_bytes"] / rate * 1e3 for rate in rates]
    measured.add("device_read", "the same bytes at the copy's rate", read, unit="ms")
    label = "the mean on the device over its bytes at the copy's rate"
    measured.add_ratio("device_memory", label, "device", "device_read")
