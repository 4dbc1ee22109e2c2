"""The epoch section: times training epochs, and compares them with a lower bound, the dense form and peers.

The lower bound is the time of the gathers and products of the first layer, which every implementation needs.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext

import numpy as np
import torch
from scipy.sparse import csr_array, hstack
from torch import Tensor

from mggcn import methods
from mggcn.bench import _on_gpu, _peers, _timing
from mggcn.bench._epoch_runner import EpochRunner
from mggcn.bench._measurements import Measurements
from mggcn.bench.options import Options
from mggcn.dataset import Dataset
from mggcn.kernels.aggregate import neighbour_mean
from mggcn.train import memory
from mggcn.train.compute import Compute
from mggcn.train.inputs import AveragedInputs, SparseInputs
from mggcn.train.scaling import Scaler

_LABELS = {"epoch": "training epoch", "floor": "bare products of an epoch", "dense": "training epoch, dense form"}
_SHORT = 0.2  # seconds; shorter epochs are timed several at a time


def measure(options: Options, dataset: Dataset, device: torch.device) -> Measurements:
    """Time training epochs and what they are compared with."""
    plan = methods.resolve(
        "mg-gcn", dataset.name, {**options.settings, "batch_size": options.batch_size}, preset="paper"
    )
    measured = Measurements(facts={"settings": plan.settings, "torch_threads": torch.get_num_threads()})
    on_gpu = device.type == "cuda"
    memory.reset_peak(device)
    with EpochRunner(plan, dataset, device, options.steps) as runner:
        runner()
        measured.add("peak_memory", "peak memory of preparing and training", [memory.peak(device)], unit="B")
        _against_floor(measured, options, runner)
        measured.facts["profile"] = _timing.profile(runner, device)
        training_data = _peers.training_data(plan, dataset)
    if on_gpu:
        _on_gpu.measure(measured, options, dataset, device)
    if options.peers:
        _peers.measure(measured, options, training_data, hidden=plan.settings["hidden"])
    return measured


def _against_floor(measured: Measurements, options: Options, runner: EpochRunner) -> None:
    plan, dataset, device = runner.plan, runner.dataset, runner.device
    batches, inputs, scaler = runner.batches(), runner.prepared.train.inputs, runner.prepared.scaler
    measured.add("rows", "input rows a batch", [nodes.numel() for nodes in batches], unit="rows")
    distinct = [int(torch.unique(nodes).numel()) for nodes in batches]
    measured.add("distinct", "distinct nodes touched a batch", distinct, unit="nodes")
    width, hidden, is_sparse = inputs.width, plan.settings["hidden"], isinstance(inputs, SparseInputs | AveragedInputs)
    if is_sparse:
        products = _sparse_products(batches, dataset, scaler, plan.settings["fine_self"], hidden)
    else:
        products = _dense_products(batches, dataset.num_nodes, width, hidden, device)
    measured.facts |= {"inputs": "sparse" if is_sparse else "dense", "input_width": width}
    measured.facts |= _cost(batches, width, hidden)
    if dataset.is_sparse and not is_sparse:
        measured.notes.append("dense form: the same, the prepared inputs have too many entries to stay sparse")
    times = max(1, math.ceil(_SHORT / _timing.once(runner, device)))
    with ExitStack() as stack:
        tasks = {"epoch": _repeat(runner, times), "floor": _repeat(products, times, runner.compute)}
        if is_sparse:
            dense_plan = methods.resolve(
                "mg-gcn", dataset.name, {**plan.settings, "scaling": scaler.kind}, preset="paper"
            )
            x = dataset.x if isinstance(dataset.x, np.ndarray) else np.asarray(dataset.x.toarray())
            dense_data = dataclasses.replace(dataset, x=x, path=None)
            dense_runner = stack.enter_context(EpochRunner(dense_plan, dense_data, device, options.steps))
            tasks["dense"] = _repeat(dense_runner, times)
        seconds = _timing.rounds(tasks, options.repeats, device)
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
    batches: Sequence[Tensor], dataset: Dataset, scaler: Scaler, include_self: bool, hidden: int
) -> Callable[[], None]:
    """The same over sparse rows, with scipy."""
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


def _repeat(task: Callable[[], None], times: int, compute: Compute | None = None) -> Callable[[], None]:
    def repeated() -> None:
        with compute.arithmetic() if compute else nullcontext():
            for _ in range(times):
                task()

    return repeated
