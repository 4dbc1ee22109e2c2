"""The pick section: the kernel on one thread and on all, against enumeration, and as the degrees grow."""

from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from mggcn import methods
from mggcn.bench import clock, enumeration
from mggcn.bench.options import Options
from mggcn.bench.sheet import Sheet
from mggcn.dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key

_CPU = torch.device("cpu")
_SHARES = (0.125, 0.25, 0.5, 1.0)
_LEAST_DEGREE = 16
_ENUMERATED, _SEARCHED = 16_384, 1024  # targets
_KEY = Key.of(0).fold("bench")


def measure(options: Options, dataset: Dataset, device: torch.device) -> Sheet:
    """Time the picks of all training targets."""
    picks = methods.resolve("mg-gcn", dataset.name, options.settings).settings["picks"]
    targets = np.array(dataset.split.train) if dataset.split else np.arange(dataset.num_nodes)
    table = PickTable.of(dataset.graph)
    sheet = Sheet(facts={"targets": targets.size, "picks": picks, "stored_edges": dataset.graph.num_stored})
    _kernel(sheet, table, targets, picks, options.repeats)
    if device.type == "cuda":
        _on_device(sheet, table, targets, picks, options.repeats, device)
    _enumeration(sheet, table, targets, picks, options.repeats)
    _growth(sheet, dataset.graph, targets, picks, options.repeats)
    return sheet


def _kernel(sheet: Sheet, table: PickTable, targets: NDArray[np.int64], picks: int, repeats: int) -> None:
    most = threading.available()
    alone, together = (table.draw(targets, picks, _KEY, threads=count) for count in (1, max(most, 2)))
    if not np.array_equal(alone, together):
        raise InputError("pick: the kernel's picks depend on the number of threads")
    made = np.count_nonzero(alone[:, 1:] != alone[:, :1])
    sheet.facts |= {"picks_made": int(made), "same_for_any_threads": True, "threads": most}
    works = {
        "one": partial(table.draw, targets, picks, _KEY, threads=1),
        "all": partial(table.draw, targets, picks, _KEY, threads=most),
    }
    seconds = clock.rounds(works, repeats, _CPU)
    sheet.put("one_thread", "all targets, 1 thread", seconds["one"])
    sheet.put("all_threads", f"all targets, {most} threads", seconds["all"])
    rates = [made / value for value in seconds["all"]]
    sheet.put("rate", f"picks a second, {most} threads", rates, unit="1/s")
    sheet.divide("threads", f"1 thread over {most} threads", "one_thread", "all_threads")


def _enumeration(sheet: Sheet, table: PickTable, targets: NDArray[np.int64], picks: int, repeats: int) -> None:
    order = _KEY.generator().permutation(targets)
    some, few = np.sort(order[:_ENUMERATED]), np.sort(order[:_SEARCHED])
    works = {
        "some": ("all targets by the kernel, 1 thread", partial(table.draw, threads=1), some),
        "enumeration": ("all targets by enumeration, 1 thread", partial(enumeration.draw, table), some),
        "kept": (
            "all targets by enumeration, the list kept from pick to pick, 1 thread",
            partial(enumeration.draw, table, keep=True),
            some,
        ),
        "search": (
            "all targets by the kernel's own enumeration, 1 thread",
            partial(enumeration.draw_by_search, table),
            few,
        ),
    }
    runs = {name: partial(work, part, picks, _KEY) for name, (_, work, part) in works.items()}
    seconds = clock.rounds(runs, min(repeats, 3), _CPU)
    for name, (label, _, part) in works.items():
        basis = f"{part.size:,} of {targets.size:,} targets, drawn at random"
        sheet.put(name, label, seconds[name], factor=targets.size / part.size, basis=basis)
    sheet.divide("enumeration", "enumeration over the kernel, 1 thread each", "enumeration", "some")
    sheet.divide("kept", "enumeration with the list kept over the kernel", "kept", "some")
    sheet.divide("search", "the kernel's own enumeration over the kernel", "search", "some")


def _growth(sheet: Sheet, graph: Graph, targets: NDArray[np.int64], picks: int, repeats: int) -> None:
    if graph.num_stored < _LEAST_DEGREE * graph.num_nodes or graph.direction != "both":
        sheet.notes.append("cost per pick by degree: left out, the graph is too thin to be thinned")
        return
    source, target = graph.edges()
    chance = np.where(source < target, _KEY.fold("thin").generator().random(source.size), 2.0)
    drawn = {}
    for share in _SHARES:
        keep = chance < share
        table = PickTable.of(Graph.from_edges(source[keep], target[keep], graph.num_nodes))
        made = table.draw(targets, picks, _KEY)
        sheet.facts.setdefault("mean_degrees", []).append(table.graph.num_stored / graph.num_nodes)
        drawn[share] = (
            partial(table.draw, targets, picks, _KEY, threads=1),
            np.count_nonzero(made[:, 1:] != made[:, :1]),
        )
    seconds = clock.rounds({str(share): work for share, (work, _) in drawn.items()}, repeats, _CPU)
    for share, degree in zip(_SHARES, sheet.facts["mean_degrees"], strict=True):
        factor = 1e9 / drawn[share][1]
        label = f"a pick at mean degree {degree:.1f}, 1 thread"
        sheet.put(f"growth_{share / _SHARES[0]:.0f}x", label, seconds[str(share)], unit="ns", factor=factor)
    sheet.divide("growth", "a pick at 8 × the mean degree over one at 1 ×", "growth_8x", "growth_1x")


def _on_device(
    sheet: Sheet, table: PickTable, targets: NDArray[np.int64], picks: int, repeats: int, device: torch.device
) -> None:
    placed = table.on(device)  # type: ignore[attr-defined, unused-ignore]
    there = torch.from_numpy(targets).to(device)
    same = np.array_equal(placed.draw(there, picks, _KEY).cpu().numpy(), table.draw(targets, picks, _KEY))
    if not same:
        raise InputError("pick: the device's picks differ from the CPU's")
    sheet.facts["same_on_device"] = True
    seconds = clock.rounds({"device": partial(placed.draw, there, picks, _KEY)}, max(repeats, 20), device)["device"]
    sheet.put("device", "all targets on the device", seconds, unit="ms", factor=1e3)
