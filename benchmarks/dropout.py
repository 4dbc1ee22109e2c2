"""Compare the dropout kernel of the CPU with torch's dropout, on rows of the size that a batch of Pubmed has.

    python -m benchmarks.dropout --threads 1

Prints the milliseconds of dense input rows, of sparse ones (gathered by scipy for torch), and of hidden units with
their gradient: of a call among ten in a row, the least of some repeats in which all take turns.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from scipy.sparse import random_array
from torch import Tensor
from torch.nn import functional

from benchmarks.speed import timing
from mggcn.kernels.dropout import dropout, dropout_sparse
from mggcn.keys import Key
from mggcn.nn.conv import dropout as hidden_dropout

NODES, WIDTH, DENSITY, CHANNELS = 4000, 1000, 0.1, 128
CALLS = 10


def tasks(rows: int, share: float, threads: int) -> dict[str, Callable[[], object]]:
    """What to time, by name: the kernel's tasks, and those of torch."""
    key, rng = Key.of(0), np.random.default_rng(0)
    nodes = torch.from_numpy(rng.choice(NODES, rows, replace=False))
    x = random_array((NODES, WIDTH), density=DENSITY, format="csr", dtype=np.float32, rng=rng)
    dense, hidden = torch.randn(rows, WIDTH), torch.randn(rows, CHANNELS, requires_grad=True)
    coming = torch.randn(rows, CHANNELS)

    def with_gradient(drop: Callable[[Tensor, float, bool], Tensor]) -> None:
        torch.autograd.grad(drop(hidden, share, True), hidden, coming)

    return {
        "dense kernel": lambda: dropout(dense, nodes, share, key, threads=threads),
        "dense torch": lambda: functional.dropout(dense, share),
        "sparse kernel": lambda: dropout_sparse(x, nodes, share, key, threads=threads),
        "sparse torch": lambda: functional.dropout(torch.from_numpy(x[nodes.numpy()].data), share),
        "hidden kernel": lambda: with_gradient(hidden_dropout),
        "hidden torch": lambda: with_gradient(functional.dropout),
    }


def _repeat(task: Callable[[], object]) -> None:
    for _ in range(CALLS):
        task()


def main() -> int:
    """Print a line for each kind of rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1100)
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    drops = tasks(options.rows, options.share, options.threads)
    series = {name: partial(_repeat, task) for name, task in drops.items()}
    timed = timing.rounds(series, options.repeats, torch.device("cpu"))
    for kind in ("dense", "sparse", "hidden"):
        ours, theirs = (1e3 / CALLS * min(timed[f"{kind} {of}"]) for of in ("kernel", "torch"))
        print(f"{kind:7} kernel {ours:7.3f} ms  torch {theirs:7.3f} ms  {theirs / ours:6.1f} x")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
