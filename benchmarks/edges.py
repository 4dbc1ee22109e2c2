"""Time what directions, weights and types of edges cost MG-GCN: preparing the inputs, and an epoch.

    python -m benchmarks.edges --scale 0.1

The graph is reddit-like with random weights, directions and types of edges. Prints, for each kind of edges, the seconds
of preparing (the means of the fine layer and the sums for picks) and the milliseconds of an epoch, medians of some
rounds in which all take turns, as ratios to the plain graph; preparing also for each relation that is averaged apart.
"""

import argparse
import statistics
import sys
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from benchmarks.speed import timing
from benchmarks.speed.epoch import EpochRunner
from mggcn.data import Dataset, load
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.methods.mg_gcn import MixGrained
from mggcn.runs import Plan, resolve

_CPU, _KEY, _TYPES = torch.device("cpu"), Key.of(0), 3


def kinds_of(data: Dataset) -> dict[str, tuple[Dataset, dict[str, object]]]:
    """The data set with what is known of its edges, and the settings, by name."""
    rows, columns = data.graph.edges()
    once = rows < columns
    source, target, rng = rows[once], columns[once], np.random.default_rng(0)
    weight, kind = rng.lognormal(size=source.size), rng.integers(0, _TYPES, source.size)

    def known(**options: object) -> Dataset:
        return replace(data, graph=Graph.from_edges(source, target, data.num_nodes, **options))  # type: ignore[arg-type]

    return {
        "plain": (data, {}),
        "plain, uniform picks": (data, {"pick_by": "uniform"}),
        "weights": (known(weight=weight), {}),
        "weights, picks by weight": (known(weight=weight), {"pick_by": "weight"}),
        "directions": (known(direction="directed"), {}),
        "directions and weights": (known(direction="directed", weight=weight), {}),
        f"{_TYPES} types": (known(edge_type=kind), {}),
    }


def main() -> int:
    """Print a line for each kind of edges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="0.1", help="of the numbers of nodes and edges of reddit-like")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    cases = kinds_of(load(f"reddit-like:{options.scale}"))

    def plan_of(data: Dataset, settings: dict[str, object]) -> Plan:
        return resolve("mg-gcn", data, settings, preset="paper")

    plans = {name: plan_of(*case) for name, case in cases.items()}
    preparing = {name: partial(plan.prepare, cases[name][0], _KEY, plan.compute(_CPU)) for name, plan in plans.items()}
    prepared = timing.rounds(
        {name: lambda task=task: task() and None for name, task in preparing.items()}, options.repeats, _CPU
    )
    with ExitStack() as stack:
        runners = {
            name: stack.enter_context(EpochRunner(plan, cases[name][0], _CPU, None)) for name, plan in plans.items()
        }
        epochs = timing.rounds(runners, options.repeats, _CPU)
    lines = ["| edges | relations | preparing, s | × plain | × plain for each relation | epoch, ms | × plain |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    first: tuple[float, float] | None = None
    for name, (data, _) in cases.items():
        method = plans[name].method
        groups = method.relations_apart(data.num_features, data.graph.schema) if isinstance(method, MixGrained) else {}
        seconds, epoch = statistics.median(prepared[name]), statistics.median(epochs[name])
        first = first or (seconds, epoch)
        count, ratio = max(len(groups), 1), seconds / first[0]
        cells = [name, count, f"{seconds:.2f}", f"{ratio:.2f}", f"{ratio / count:.2f}", f"{1000 * epoch:.0f}"]
        lines.append(f"| {' | '.join(map(str, [*cells, f'{epoch / first[1]:.2f}']))} |")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
