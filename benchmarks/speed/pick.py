"""The pick section: times the kernel on one thread and on all, against enumeration, and with growing degrees.

Enumeration is Algorithm 1 of the paper as it is written: list all candidates, draw one.
Every pick lists the neighbours of all members again; or, with ``keep``, the list is kept from pick to pick and grows by
the neighbours of the new member, so that every neighbourhood is read once per target. Both mark the listed nodes in an
array as long as the graph. The enumeration inside the kernel, its fallback, needs no such array and searches the
members' rows for each neighbour instead.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray

from benchmarks.speed import timing
from benchmarks.speed.options import Options
from benchmarks.speed.timing import Measurements
from mggcn.block import Nodes
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import below, fold
from mggcn.kernels.pick import PickTable, pick_by_enumeration
from mggcn.keys import Key
from mggcn.runs import resolve

Ints = NDArray[np.int64]
AnyInts = NDArray[Any]

_CPU = torch.device("cpu")
_SHARES = (0.125, 0.25, 0.5, 1.0)
_LEAST_DEGREE = 16
_ENUMERATED, _SEARCHED = 16_384, 1024  # targets
_CACHED, _TIMES = 64, 1024  # so few targets that their rows stay in a core's own cache, drawn so often
_KEY = Key.of(0).fold("bench")


def measure(options: Options, dataset: Dataset, device: torch.device) -> Measurements:
    """Time the picks of all training targets."""
    picks = resolve("mg-gcn", dataset.name, options.settings, preset="paper").settings["picks"]
    targets = np.array(dataset.split.train) if dataset.split else np.arange(dataset.num_nodes)
    table = PickTable.of(dataset.graph)
    measured = Measurements(facts={"targets": targets.size, "picks": picks, "stored_edges": dataset.graph.num_stored})
    _kernel(measured, table, targets, picks, options.repeats)
    if device.type == "cuda":
        _on_device(measured, table, targets, picks, options.repeats, device)
    _enumerate(measured, table, targets, picks, options.repeats)
    _growing_degrees(measured, dataset.graph, targets, picks, options.repeats)
    return measured


def _kernel(measured: Measurements, table: PickTable, targets: Nodes, picks: int, repeats: int) -> None:
    threads = threading.available()
    single, parallel = (table.draw(targets, picks, _KEY, threads=count) for count in (1, max(threads, 2)))
    if not np.array_equal(single, parallel):
        raise InputError("pick: the kernel's picks depend on the number of threads")
    made = np.count_nonzero(single[:, 1:] != single[:, :1])
    measured.facts |= {"picks_made": int(made), "same_for_any_threads": True, "threads": threads}
    tasks = {
        "one": partial(table.draw, targets, picks, _KEY, threads=1),
        "all": partial(table.draw, targets, picks, _KEY, threads=threads),
    }
    seconds = timing.rounds(tasks, repeats, _CPU)
    measured.add("one_thread", "all targets, 1 thread", seconds["one"])
    measured.add("all_threads", f"all targets, {threads} threads", seconds["all"])
    rates = [made / value for value in seconds["all"]]
    measured.add("rate", f"picks a second, {threads} threads", rates, unit="1/s")
    measured.add_ratio("threads", f"1 thread over {threads} threads", "one_thread", "all_threads")


def _enumerate(measured: Measurements, table: PickTable, targets: Nodes, picks: int, repeats: int) -> None:
    order = _KEY.generator().permutation(targets)
    some, few = np.sort(order[:_ENUMERATED]), np.sort(order[:_SEARCHED])
    draw = partial(draw_by_listing, table)
    variants = {
        "some": ("the kernel", partial(table.draw, threads=1), some),
        "enumeration": ("enumeration", draw, some),
        "kept": ("enumeration, the list kept from pick to pick", partial(draw, keep=True), some),
        "search": ("the kernel's own enumeration", partial(draw_by_search, table), few),
    }
    tasks = {name: partial(variant, part, picks, _KEY) for name, (_, variant, part) in variants.items()}
    seconds = timing.rounds(tasks, min(repeats, 3), _CPU)
    for name, (label, _, part) in variants.items():
        basis = f"{part.size:,} of {targets.size:,} targets, drawn at random"
        factor = targets.size / part.size
        measured.add(name, f"all targets by {label}, 1 thread", seconds[name], factor=factor, basis=basis)
    measured.add_ratio("enumeration", "enumeration over the kernel, 1 thread each", "enumeration", "some")
    measured.add_ratio("kept", "enumeration with the list kept over the kernel", "kept", "some")
    measured.add_ratio("search", "the kernel's own enumeration over the kernel", "search", "some")


def _growing_degrees(measured: Measurements, graph: Graph, targets: Nodes, picks: int, repeats: int) -> None:
    """Time the picks on random sub-sets of the edges."""
    if graph.num_stored < _LEAST_DEGREE * graph.num_nodes or graph.direction != "both":
        measured.notes.append("cost per pick by degree: left out, the graph is too thin to be thinned")
        return
    source, target = graph.edges()
    chance = np.where(source < target, _KEY.fold("thin").generator().random(source.size), 2.0)
    again = np.tile(_KEY.generator().permutation(targets)[:_CACHED], _TIMES)
    tasks, made, labels, degrees = {}, {}, {}, measured.facts.setdefault("mean_degrees", [])
    for share in _SHARES:
        keep = chance < share
        table = PickTable.of(Graph.from_edges(source[keep], target[keep], graph.num_nodes))
        degrees.append(table.graph.num_stored / graph.num_nodes)
        for kind, nodes, where in (("growth", targets, ""), ("cached", again, f", rows of {_CACHED} targets")):
            drawn = table.draw(nodes, picks, _KEY)
            name = f"{kind}_{share / _SHARES[0]:.0f}x"
            tasks[name] = partial(table.draw, nodes, picks, _KEY, threads=1)
            made[name] = np.count_nonzero(drawn[:, 1:] != drawn[:, :1])
            labels[name] = f"a pick at mean degree {degrees[-1]:.1f}, 1 thread{where}"
    seconds = timing.rounds(tasks, repeats, _CPU)
    for name in sorted(tasks, reverse=True):
        measured.add(name, labels[name], seconds[name], unit="ns", factor=1e9 / made[name])
    measured.add_ratio("growth", "a pick at 8 × the mean degree over one at 1 ×", "growth_8x", "growth_1x")
    label = f"the same with rows of {_CACHED} targets only, which stay in the cache"
    measured.add_ratio("cached", label, "cached_8x", "cached_1x")


def _on_device(
    measured: Measurements, table: PickTable, targets: Nodes, picks: int, repeats: int, device: torch.device
) -> None:
    draw = partial(table.on(device).draw, torch.from_numpy(targets).to(device), picks, _KEY)
    if not np.array_equal(draw().cpu().numpy(), table.draw(targets, picks, _KEY)):
        raise InputError("pick: the device's picks differ from the CPU's")
    measured.facts["same_on_device"] = True
    seconds = timing.rounds({"device": draw}, max(repeats, 20), device)["device"]
    measured.add("device", "all targets on the device", seconds, unit="ms", factor=1e3)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _fill(
    indptr: Ints, indices: AnyInts, weights: Ints, targets: Ints, key: np.uint64, keep: bool, out: AnyInts
) -> None:
    num_nodes, mark = indptr.size - 1, np.int32(0)
    seen, listed = np.zeros(num_nodes, np.int32), np.empty(num_nodes, indices.dtype)
    for row in range(targets.size):
        stream = fold(key, targets[row])
        members = out[row]
        members[:] = targets[row]
        count, total = 0, np.int64(0)
        for step in range(members.size - 1):
            first = step if keep else 0
            if first == 0:
                mark += np.int32(1)
                count, total = 0, np.int64(0)
                for i in range(step + 1):
                    seen[members[i]] = mark
            for i in range(first, step + 1):
                for edge in range(indptr[members[i]], indptr[members[i] + 1]):
                    w = indices[edge]
                    if seen[w] != mark:
                        seen[w] = mark
                        listed[count] = w
                        count += 1
                        total += weights[w]
            if count == 0:
                break
            left = below(fold(stream, step), np.uint64(total))
            i = 0
            while left >= weights[listed[i]]:
                left -= weights[listed[i]]
                i += 1
            members[step + 1] = listed[i]
            total -= weights[listed[i]]
            count -= 1
            listed[i] = listed[count]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _fill_by_search(
    indptr: Ints, indices: AnyInts, sums: AnyInts, symmetric: bool, targets: Ints, key: np.uint64, out: AnyInts
) -> None:
    for row in range(targets.size):
        stream = fold(key, targets[row])
        members = out[row]
        members[:] = targets[row]
        for step in range(members.size - 1):
            n, value = step + 1, fold(stream, step)
            node = pick_by_enumeration(indptr, indices, sums, symmetric, members, n, 0, n, value)
            if node < 0:
                break
            members[step + 1] = node


def draw_by_listing(table: PickTable, targets: Ints, picks: int, key: Key, *, keep: bool = False) -> AnyInts:
    """Draw S(v) of every target on one thread: the distribution of :meth:`PickTable.draw`, other random numbers."""
    graph, out = table.graph, np.empty((targets.size, 1 + picks), table.graph.indices.dtype)
    _fill(graph.indptr, graph.indices, graph.degrees, targets, np.uint64(key.value), keep, out)
    return out


def draw_by_search(table: PickTable, targets: Ints, picks: int, key: Key) -> AnyInts:
    """The same with the enumeration inside the kernel."""
    graph, out = table.graph, np.empty((targets.size, 1 + picks), table.graph.indices.dtype)
    arrays = (graph.indptr, graph.indices, table.sums, graph.is_symmetric)
    _fill_by_search(*arrays, targets, np.uint64(key.value), out)
    return out
