"""The baselines section: times an epoch of every method that other libraries have, too, in this one and in them.

Both train on the same graph with the same settings, batches and threads. Only epochs are compared: partitions and
propagated features, which are computed once, are facts of the record.
"""

import dataclasses
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.speed import others, timing
from benchmarks.speed.epoch import EpochRunner
from benchmarks.speed.options import BASELINES, Options
from benchmarks.speed.timing import Measurements
from mggcn import methods
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError, unknown
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.methods.deepwalk import WALKS_PER_STEP
from mggcn.methods.graphsage import fanout_per_layer
from mggcn.runs import Plan, resolve
from mggcn.sampling.subgraphs import ClusterSampler
from mggcn.training._training import Training

LABELS = {
    "gcn": "GCN, full batch",
    "graphsage-mean": "GraphSAGE-mean",
    "cluster-gcn": "Cluster-GCN",
    "graphsaint": "GraphSAINT",
    "sgc": "SGC",
    "sign": "SIGN",
    "node2vec": "node2vec",
}
LIBRARY_NAMES = {"pyg": "PyTorch Geometric", "dgl": "DGL"}

_IN_STEPS = ("graphsage-mean", "sgc", "sign")  # whose steps have batch_size targets
_FORMS = ("edge_index", "torch CSR", "SparseTensor")
_VARIANTS: dict[str, dict[str, tuple[str, ...]]] = {
    "pyg": dict.fromkeys(("gcn", "graphsage-mean", "cluster-gcn", "graphsaint"), _FORMS),
    "dgl": {"node2vec": ("windows", "DeepWalk")},
}
_SETTINGS = (
    *("hidden", "dropout", "lr", "weight_decay", "precision", "batch_size", "conv", "roots", "walk", "hops"),
    *("dim", "walks", "length", "window", "negatives", "p", "q"),
)
_LAYERS = 2
_LEAST_SECONDS, _MOST_SECONDS = 0.6, 90.0  # of steps, for each way to write a method of another library


def measure(options: Options, dataset: Dataset, device: torch.device) -> Measurements:
    """Time an epoch of each baseline, ours and those of other libraries."""
    plans = _plans(options, dataset)
    measured = Measurements(facts={"torch_threads": torch.get_num_threads(), "baselines": {}})
    with tempfile.TemporaryDirectory() as scratch:
        folders = _Folders(dataset, Path(scratch))
        for name, plan in plans.items():
            try:
                request = _ours(measured, name, plan, options, dataset, device)
            except InputError as error:
                measured.notes.append(f"{LABELS[name]}: not measured: {error}")
                continue
            for library in options.libraries:
                _add(measured, name, library, _fastest(name, library, folders.of(name, plan), request, options))
    return measured


def _plans(options: Options, dataset: Dataset) -> dict[str, Plan]:
    """The plan of each baseline, with those of the settings that it has."""
    names = [name for name in BASELINES if name in (options.methods or BASELINES)]
    known = {name: _fields(methods.METHODS[name]) | _fields(Training) for name in names}
    for key in options.settings:
        if not any(key in fields for fields in known.values()):
            raise unknown("setting", key, set().union(*known.values()))
    plans = {}
    for name in names:
        changed = {key: value for key, value in options.settings.items() if key in known[name]}
        changed |= {"batch_size": options.batch_size, "threads": torch.get_num_threads()}
        changed |= {"batches": "full"} if name == "gcn" else {}
        plans[name] = resolve(name, dataset.name, changed, preset="paper")
        if plans[name].settings.get("layers", _LAYERS) != _LAYERS:
            raise InputError(f"layers: the other libraries' networks have {_LAYERS} layers")
    return plans


def _fields(kind: type) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


def _ours(
    measured: Measurements, name: str, plan: Plan, options: Options, dataset: Dataset, device: torch.device
) -> dict[str, Any]:
    """Add our epoch; return what another library has to know to train the same way."""
    settings = plan.settings
    request = {key: settings[key] for key in _SETTINGS if key in settings}
    request |= {"threads": torch.get_num_threads(), "device": device.type, "steps": options.library_steps}
    request |= {"least_seconds": _LEAST_SECONDS, "most_seconds": _MOST_SECONDS}
    facts: dict[str, Any] = {"label": LABELS[name], "settings": settings, "libraries": {}}
    if name == "node2vec":
        request |= {"walks_per_step": WALKS_PER_STEP}
        _our_walks(measured, plan, options, dataset, device)
    else:
        request |= _our_epoch(measured, name, plan, options, dataset, device, facts)
    measured.facts["baselines"][name] = facts
    return request


def _our_epoch(
    measured: Measurements,
    name: str,
    plan: Plan,
    options: Options,
    dataset: Dataset,
    device: torch.device,
    facts: dict[str, Any],
) -> dict[str, Any]:
    """Add the seconds of training epochs; return the sizes of samples that settings do not fix."""
    started = time.perf_counter()
    with EpochRunner(plan, dataset, device, options.steps if name in _IN_STEPS else None) as runner:
        nodes = [int(torch.unique(part).numel()) for part in runner.batches()]
        facts["preparation_seconds"] = time.perf_counter() - started
        facts |= {"steps": len(nodes), "nodes_a_batch": statistics.median(nodes)}
        is_part = runner.factor > 1
        basis = f"{len(nodes):,} steps of {plan.training.batch_size} targets" if is_part else ""
        _add_ours(measured, name, runner, options, device, runner.factor, basis)
        sampler, sizes = runner.prepared.train.sampler, {"steps_an_epoch": len(nodes)}
    if isinstance(sampler, ClusterSampler):
        return {"num_parts": len(sampler.clusters), "parts_a_step": sampler.parts_per_batch}
    if "fanouts" in plan.settings:
        return {"fanout": fanout_per_layer(plan.settings["fanouts"], _LAYERS)}
    return sizes


def _our_walks(measured: Measurements, plan: Plan, options: Options, dataset: Dataset, device: torch.device) -> None:
    """Add the seconds of an embedding's epoch, all walks from every node, extrapolated from one walk from each."""
    walks = plan.settings["walks"]
    one = resolve("node2vec", dataset.name, {**plan.settings, "walks": 1}, preset="paper")
    task = partial(one.prepare, dataset, Key.of(0), one.compute(device))
    basis = f"1 of {walks} walks from every node"
    _add_ours(measured, "node2vec", task, options, device, walks, basis if walks > 1 else "")


def _add_ours(
    measured: Measurements,
    name: str,
    task: timing.Task,
    options: Options,
    device: torch.device,
    factor: float,
    basis: str,
) -> None:
    """Time an epoch after a warm-up; short ones several at a time."""
    task()
    times = timing.in_a_row(task, device)
    seconds = [timing.once(timing.repeated(task, times), device) for _ in range(options.repeats)]
    measured.add(name, f"{LABELS[name]}: ours", seconds, factor=factor / times, basis=basis)


class _Folders:
    """The dataset folders that other libraries read: of the graph a method trains on, each written once."""

    def __init__(self, dataset: Dataset, scratch: Path) -> None:
        self._dataset, self._scratch = dataset, scratch
        self._written: dict[str, Path] = {}

    def of(self, name: str, plan: Plan) -> Path:
        kind = "part" if plan.trains_on_part(self._dataset) else "whole"
        if name == "node2vec" and self._dataset.graph.direction != "both":
            kind = "both-ways"
        if kind not in self._written:
            folder = self._scratch / kind
            folder.mkdir()
            self._written[kind] = others.training_folder(self._data(kind, plan), folder)
        return self._written[kind]

    def _data(self, kind: str, plan: Plan) -> Dataset:
        data = self._dataset
        if kind == "part":
            return others.training_data(plan, data)
        if kind == "both-ways":
            graph = Graph.from_edges(*data.graph.edges(), data.num_nodes)
            return dataclasses.replace(data, graph=graph, inductive=False)
        return data if data.path is not None else dataclasses.replace(data, inductive=False)


def _fastest(name: str, library: str, folder: Path, request: dict[str, Any], options: Options) -> dict[str, Any]:
    """What the fastest way to write a method in another library took, with the seconds of an epoch in each way."""
    python = options.library_python.get(library, sys.executable)
    answers: dict[str, dict[str, Any]] = {}
    for variant in _VARIANTS[library].get(name, ("",)):
        answers[variant] = others.run_worker(python, library, name, folder, {**request, "variant": variant})
        if answers[variant].get("is_missing") and len(answers) == 1:
            break
    epochs = {variant: _seconds(answer) for variant, answer in answers.items() if "absent" not in answer}
    if not epochs:
        return next(iter(answers.values()))
    fastest = min(epochs, key=lambda variant: epochs[variant])
    tried = {variant: epochs.get(variant, answer.get("absent")) for variant, answer in answers.items()}
    return {**answers[fastest], "variant": fastest, **({"variants": tried} if len(tried) > 1 else {})}


def _seconds(answer: dict[str, Any]) -> float:
    return statistics.median(others.step_means(answer)) * float(answer["steps_an_epoch"])


def _add(measured: Measurements, name: str, library: str, answer: dict[str, Any]) -> None:
    """Add another library's epoch and its ratio to ours, or a note that it is absent."""
    facts, label = measured.facts["baselines"][name], f"{LABELS[name]}: {LIBRARY_NAMES[library]}"
    facts["libraries"][library] = {key: value for key, value in answer.items() if key not in ("step_seconds", "nodes")}
    if "absent" in answer:
        measured.notes.append(f"{label}: absent: {answer['absent']}")
        return
    facts["libraries"][library] |= {
        "steps": len(answer["step_seconds"]),
        "nodes_a_batch": statistics.median(answer["nodes"]),
    }
    figure, variant = f"{name}_{library}", f", {answer['variant']}" if answer["variant"] else ""
    basis = f"{len(answer['step_seconds']):,} steps; an epoch has {answer['steps_an_epoch']:,}"
    measured.add(figure, label + variant, others.step_means(answer), factor=answer["steps_an_epoch"], basis=basis)
    measured.add_ratio(figure, f"{label} over ours", figure, name)
