"""The epoch section: times training epochs, and compares them with a lower bound, the dense form and other libraries.

The lower bound is the time of the gathers and products of the first layer, which every implementation needs.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, hstack
from torch import Tensor

from benchmarks.speed import others, timing
from benchmarks.speed.options import Options
from benchmarks.speed.timing import Measurements
from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.kernels.aggregate import neighbour_mean
from mggcn.keys import Key
from mggcn.nn.rows import to_dense
from mggcn.runs import Plan, fit, resolve
from mggcn.training import Epochs, Fit
from mggcn.training import _environment as memory
from mggcn.training._prepared import AveragedInputs, SparseInputs
from mggcn.training._scaling import Scaler

_LABELS = {"epoch": "training epoch", "floor": "bare products of an epoch", "dense": "training epoch, dense form"}
_LARGE = 4096
_VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "epoch_large": (f"batches of {_LARGE}", {"batch_size": _LARGE}),
    "epoch_bf16": ("bf16", {"precision": "bf16"}),
    "epoch_large_bf16": (f"bf16, batches of {_LARGE}", {"precision": "bf16", "batch_size": _LARGE}),
}
_SEEDS = 5
_WARM_UP = 5  # epochs, until every shape of batch has been captured

_KEY = Key.of(0)
_FAR = 1 << 20  # an epoch number that training does not reach


class EpochRunner(ExitStack):
    """Prepares a training; every call runs its next epoch, or only some steps of it. Close it as a context manager."""

    def __init__(self, plan: Plan, dataset: Dataset, device: torch.device, steps: int | None) -> None:
        super().__init__()
        self.plan, self.dataset, self.device = plan, dataset, device
        split = dataset.require_split()
        self.compute = plan.compute(device)
        self.prepared = plan.prepare(dataset, _KEY, self.compute)
        self.training = dataclasses.replace(plan.training, epochs=_FAR)
        size = split.train.size if steps is None else min(split.train.size, steps * plan.training.batch_size)
        targets = np.sort(_KEY.fold("bench").generator().permutation(split.train)[:size])
        self.factor = split.train.size / size
        self.part = dataset.with_split(Split(targets, split.val, split.test))
        self._epochs = Epochs(Fit(self.prepared, self.part, self.training, _KEY, self.compute))
        self._number = 0

    def __enter__(self) -> "EpochRunner":
        self.enter_context(self._epochs)
        return self

    def __call__(self) -> None:
        """Run the next epoch."""
        self._number += 1
        self._epochs.run(self._number)

    def batches(self) -> list[Tensor]:
        """The nodes of the input rows of each batch, for an epoch that training does not reach."""
        order = _KEY.fold("order", _FAR).generator().permutation(self.part.require_split().train)
        drawn = self.prepared.train.sampler.batches(order, _KEY.fold("picks", _FAR), self.training.batch_size)
        return [batch.nodes for batch in drawn]


def measure(options: Options, dataset: Dataset, device: torch.device) -> Measurements:
    """Time training epochs and what they are compared with."""
    plan = _plan(options, dataset)
    measured = Measurements(facts={"settings": plan.settings, "torch_threads": torch.get_num_threads()})
    on_gpu = device.type == "cuda"
    memory.reset_peak(device)
    with EpochRunner(plan, dataset, device, options.steps) as runner:
        runner()
        measured.add("peak_memory", "peak memory of preparing and training", [memory.peak(device)], unit="B")
        _against_floor(measured, options, runner)
        measured.facts["profile"] = timing.profile(runner, device)
        training_data = others.training_data(plan, dataset)
    if on_gpu:
        measure_on_gpu(measured, options, dataset, device)
    if options.libraries:
        others.measure(measured, options, training_data, hidden=plan.settings["hidden"])
    return measured


def _plan(options: Options, dataset: Dataset) -> Plan:
    """The paper's settings with the batches that are asked for, or the default recipe alone with its own."""
    if options.preset == "paper":
        return resolve("mg-gcn", dataset.name, {**options.settings, "batch_size": options.batch_size}, preset="paper")
    return resolve("mg-gcn", dataset, {**options.settings, "portfolio": "none"}, preset=options.preset)


def _against_floor(measured: Measurements, options: Options, runner: EpochRunner) -> None:
    plan, dataset, device = runner.plan, runner.dataset, runner.device
    batches, inputs, scaler = runner.batches(), runner.prepared.train.inputs, runner.prepared.scaler
    measured.add("rows", "input rows a batch", [nodes.numel() for nodes in batches], unit="rows")
    distinct = [int(torch.unique(nodes).numel()) for nodes in batches]
    measured.add("distinct", "distinct nodes touched a batch", distinct, unit="nodes")
    width = to_dense(inputs.rows(batches[0][:1])).shape[1]
    hidden, is_sparse = plan.settings["hidden"], isinstance(inputs, SparseInputs | AveragedInputs)
    if is_sparse:
        x = inputs.x if isinstance(inputs, SparseInputs) else None
        products = _sparse_products(batches, dataset, scaler, plan.settings["fine_self"], hidden, x)
    else:
        products = _dense_products(batches, dataset.num_nodes, width, hidden, device)
    measured.facts |= {"inputs": "sparse" if is_sparse else "dense", "input_width": width}
    measured.facts |= _cost(batches, width, hidden)
    if dataset.is_sparse and not is_sparse:
        measured.notes.append("dense form: the same, the prepared inputs have too many entries to stay sparse")
    times = timing.in_a_row(runner, device)

    def bare_products() -> None:
        with runner.compute.arithmetic():
            products()

    with ExitStack() as stack:
        tasks = {"epoch": timing.repeated(runner, times), "floor": timing.repeated(bare_products, times)}
        if is_sparse:
            dense_plan = resolve(
                "mg-gcn", dataset.name, {**plan.settings, "scaling": scaler.kind}, preset=options.preset
            )
            x = dataset.x if isinstance(dataset.x, np.ndarray) else np.asarray(dataset.x.toarray())
            dense_data = dataclasses.replace(dataset, x=x)
            dense_runner = stack.enter_context(EpochRunner(dense_plan, dense_data, device, options.steps))
            tasks["dense"] = timing.repeated(dense_runner, times)
        seconds = timing.rounds(tasks, options.repeats, device)
    basis = f"{len(batches):,} steps of {plan.training.batch_size} targets" if options.steps else ""
    for name, values in seconds.items():
        measured.add(name, _LABELS[name], values, factor=runner.factor / times, basis=basis)
    measured.add_ratio("floor", "the epoch over its bare products", "epoch", "floor")
    if is_sparse:
        measured.add_ratio("dense", "the dense form over the epoch", "dense", "epoch")


def _cost(batches: Sequence[Tensor], width: int, hidden: int) -> dict[str, int]:
    """What the products of an epoch over dense rows gather and compute, by counting.

    X·W and Xᵀ·G take a multiplication and an addition for each pair of numbers.
    """
    rows = sum(nodes.numel() for nodes in batches)
    return {"rows": rows, "gathered_bytes": rows * width * 4, "operations": 2 * 2 * rows * width * hidden}


def _dense_products(
    batches: Sequence[Tensor], num_nodes: int, width: int, hidden: int, device: torch.device
) -> Callable[[], None]:
    """The bare products of an epoch over dense rows; buffers are created here, outside the timing.

    ``batches`` has the nodes of the input rows of each batch; ``hidden`` is the number of columns of W.
    """
    table = torch.rand(num_nodes, width, device=device)
    weight = torch.rand(width, hidden, device=device)
    largest = max(nodes.numel() for nodes in batches)
    rows, gradient = table.new_empty(largest, width), torch.rand(largest, hidden, device=device)
    out, update = torch.empty_like(gradient), torch.empty_like(weight)
    batches = [nodes.to(device) for nodes in batches]

    def multiply() -> None:
        for nodes in batches:
            count = nodes.numel()
            torch.index_select(table, 0, nodes, out=rows[:count])
            torch.mm(rows[:count], weight, out=out[:count])
            torch.mm(rows[:count].t(), gradient[:count], out=update)

    return multiply


def _sparse_products(
    batches: Sequence[Tensor],
    dataset: Dataset,
    scaler: Scaler,
    include_self: bool,
    hidden: int,
    table: csr_array | None = None,
) -> Callable[[], None]:
    """The same over sparse rows, with scipy; ``table`` has those of the training if it keeps them."""
    if table is None:
        x = scaler.apply(dataset.x)
        table = csr_array(hstack([x, neighbour_mean(dataset.graph, x, include_self=include_self)], format="csr"))
    rng = np.random.default_rng(0)
    weight = rng.random((table.shape[1], hidden), np.float32)
    gradient = rng.random((max(nodes.numel() for nodes in batches), hidden), np.float32)
    arrays = [nodes.cpu().numpy() for nodes in batches]

    def multiply() -> None:
        for nodes in arrays:
            rows = table[nodes]
            rows @ weight
            rows.T @ gradient[: nodes.size]

    return multiply


def measure_on_gpu(measured: Measurements, options: Options, dataset: Dataset, device: torch.device) -> None:
    """Add what a GPU has more: large batches, bf16, whole trainings, the device's limits, a counted bound."""
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
        plan = resolve("mg-gcn", dataset.name, settings, preset="paper")
        with EpochRunner(plan, dataset, device, None) as runner:
            for _ in range(_WARM_UP):
                runner()
            seconds = timing.rounds({name: runner}, options.repeats, device)[name]
        measured.add(name, f"training epoch, {label}", seconds)


def _limits(measured: Measurements, repeats: int, device: torch.device) -> None:
    rates = timing.copy_rates(repeats, device)
    measured.add("copy", "copy inside the device, read and written", rates, unit="B/s")
    for name, tf32 in (("fp32", False), ("tf32", True)):
        rates = timing.product_rates(repeats, device, tf32=tf32)
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
