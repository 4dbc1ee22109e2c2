"""The epoch section: training epochs through the real path, against their floor, their dense form and peers."""

import dataclasses
import math
from collections.abc import Callable
from contextlib import ExitStack, nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn import methods
from mggcn.bench import clock, floor, on_gpu, peers, profile
from mggcn.bench.options import Options
from mggcn.bench.sheet import Sheet
from mggcn.bench.trained import Trained
from mggcn.dataset import Dataset, Features
from mggcn.records import environment
from mggcn.train.compute import Compute
from mggcn.train.inputs import SparseInputs

_LABELS = {
    "epoch": "training epoch",
    "floor": "bare products of an epoch",
    "dense": "training epoch, dense form",
}
_SHORT = 0.2  # seconds; shorter epochs are timed several at a time


def measure(options: Options, dataset: Dataset, device: torch.device) -> Sheet:
    """Time training epochs and what they are compared with."""
    plan = methods.resolve("mg-gcn", dataset.name, {**options.settings, "batch_size": options.batch_size})
    sheet = Sheet(facts={"settings": plan.settings, "torch_threads": torch.get_num_threads()})
    _reset_peak(device)
    with Trained(plan, dataset, device, options.steps) as trained:
        trained()
        sheet.put("peak_memory", "peak memory of preparing and training", [_peak(device)], unit="B")
        _against_floor(sheet, options, plan, dataset, trained, device)
        sheet.facts["profile"] = profile.of(trained, device)
        graph = _training_graph(plan, dataset)
    if device.type == "cuda":
        on_gpu.measure(sheet, options, dataset, device)
    if options.peers:
        peers.measure(sheet, options, graph, hidden=plan.settings["hidden"])
    return sheet


def _against_floor(
    sheet: Sheet, options: Options, plan: methods.Plan, dataset: Dataset, trained: Trained, device: torch.device
) -> None:
    batches = trained.batches()
    _count_nodes(sheet, batches)
    width = trained.prepared.train.inputs.width
    is_sparse = isinstance(trained.prepared.train.inputs, SparseInputs)
    if is_sparse:
        bare = floor.sparse(
            batches, dataset, trained.prepared.scaler, plan.settings["fine_self"], plan.settings["hidden"]
        )
    else:
        bare = floor.dense(batches, dataset.num_nodes, width, plan.settings["hidden"], device)
    counted = floor.Work.of(batches, width, plan.settings["hidden"])
    sheet.facts |= {"inputs": "sparse" if is_sparse else "dense", "input_width": width, **vars(counted)}
    if dataset.is_sparse and not is_sparse:
        sheet.notes.append("dense form: the same, the prepared inputs have too many entries to stay sparse")
    times = max(1, math.ceil(_SHORT / clock.once(trained, device)))
    with ExitStack() as stack:
        works = {"epoch": _again(trained, times), "floor": _again(bare, times, trained.compute)}
        if is_sparse:
            scaled = methods.resolve("mg-gcn", dataset.name, {**plan.settings, "scaling": trained.prepared.scaler.kind})
            form = dataclasses.replace(dataset, x=_dense(dataset.x), path=None)
            works["dense"] = _again(stack.enter_context(Trained(scaled, form, device, options.steps)), times)
        seconds = clock.rounds(works, options.repeats, device)
    basis = f"{len(batches):,} steps of {plan.training.batch_size} targets" if options.steps else ""
    for name, values in seconds.items():
        sheet.put(name, _LABELS[name], values, factor=trained.factor / times, basis=basis)
    sheet.divide("floor", "the epoch over its bare products", "epoch", "floor")
    if is_sparse:
        sheet.divide("dense", "the dense form over the epoch", "dense", "epoch")


def _count_nodes(sheet: Sheet, batches: list[Tensor]) -> None:
    sheet.put("rows", "input rows a batch", [nodes.numel() for nodes in batches], unit="rows")
    distinct = [int(torch.unique(nodes).numel()) for nodes in batches]
    sheet.put("distinct", "distinct nodes touched a batch", distinct, unit="nodes")


def _again(work: Callable[[], None], times: int, place: Compute | None = None) -> Callable[[], None]:
    def repeated() -> None:
        with place.arithmetic() if place else nullcontext():
            for _ in range(times):
                work()

    return repeated


def _training_graph(plan: methods.Plan, dataset: Dataset) -> Dataset:
    """The data set with the graph that training sees."""
    kind = plan.training.training_graph
    if dataset.split is not None and (kind == "train" or (kind == "auto" and dataset.inductive)):
        return dataclasses.replace(dataset, graph=dataset.graph.subgraph(dataset.split.train), path=None, checked=True)
    return dataset


def _dense(x: Features) -> NDArray[np.float32]:
    return x if isinstance(x, np.ndarray) else np.asarray(x.toarray())


def _reset_peak(device: torch.device) -> None:
    environment.reset_peak_memory()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def _peak(device: torch.device) -> int:
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else environment.peak_memory()
