"""Time an epoch of MG-GCN on wide sparse features, in both forms of its inputs, beside one of GraphSAGE-mean.

    python -m benchmarks.wide_features

The graph is random, with the numbers of nodes, edges and features of a graph of photographers and their tags: 7,575
nodes with a mean degree of 63 and 24 of 12,047 tags each. Prints the milliseconds of an epoch: the median of some
repeats in which all take turns, with the methods' settings of the paper. With ``--input-dropout`` above 0, which drops
values of the averages, the averages are what is chosen.
"""

import argparse
import sys
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import torch
from scipy.sparse import csr_array

from benchmarks.speed import timing
from benchmarks.speed.epoch import EpochRunner
from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.graph import Graph
from mggcn.methods._fine import Fine
from mggcn.runs import resolve

NODES, EDGES, TAGS, TAGS_A_NODE, CLASSES = 7575, 239738, 12047, 24, 9


def photographers(tags: int) -> Dataset:
    """Random edges and tags; frequent tags are a hundred times as likely as rare ones."""
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(*rng.integers(0, NODES, (2, EDGES)), NODES)
    likely = np.geomspace(1, 0.01, tags)
    columns = rng.choice(tags, NODES * TAGS_A_NODE, p=likely / likely.sum())
    rows = np.repeat(np.arange(NODES), TAGS_A_NODE)
    x = csr_array((np.ones(rows.size, np.float32), (rows, columns)), shape=(NODES, tags))
    nodes = rng.permutation(NODES)
    split = Split(*(np.sort(part) for part in np.split(nodes, (NODES // 2, 3 * NODES // 4))))
    return Dataset("photographers", graph, x, rng.integers(0, CLASSES, NODES), (*map(str, range(CLASSES)),), split)


def main() -> int:
    """Print a line for each form and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tags", type=int, default=TAGS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--input-dropout", type=float, default=0.0)
    options = parser.parse_args()
    data, cpu = photographers(options.tags), torch.device("cpu")
    changes = {"input_dropout": options.input_dropout}
    plans = {name: resolve(name, "photographers", changes, preset="paper") for name in ("mg-gcn", "graphsage-mean")}
    with ExitStack() as stack:
        chosen = stack.enter_context(EpochRunner(plans["mg-gcn"], data, cpu, None))
        with patch.object(Fine, "averaged_later", return_value=None):
            averages = stack.enter_context(EpochRunner(plans["mg-gcn"], data, cpu, None))
        sage = stack.enter_context(EpochRunner(plans["graphsage-mean"], data, cpu, None))
        tasks = {"mg-gcn, as chosen": chosen, "mg-gcn, with averages": averages, "graphsage-mean": sage}
        for task in tasks.values():
            task()
        seconds = timing.rounds(tasks, options.repeats, cpu)
    inputs = {name: type(task.prepared.train.inputs).__name__ for name, task in tasks.items()}
    lines = [f"{name:22} {inputs[name]:15} {1000 * np.median(values):8.1f} ms" for name, values in seconds.items()]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
