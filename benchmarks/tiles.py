"""Time the products with gathered rows on a GPU, with the tiles in use and with others, beside a copy and cuBLAS.

    python -m benchmarks.tiles

The matrix has as many rows and columns as MG-GCN's inputs on a graph of Reddit's size, and the weights 128 channels.
Prints the microseconds of a product and of the gradient of its weights for 1,280 and for 20,480 rows, the inputs of 256
and of 4,096 targets with four picks each. Every call reads other random rows. The calls are recorded as one CUDA graph,
as in training; a time is the median of some replays. A tile is named by its rows, columns, step, stages and warps.
"""

import argparse
import statistics
import sys
from collections.abc import Callable
from itertools import product
from unittest.mock import patch

import torch
from torch import Tensor

from benchmarks.speed import timing

NODES, WIDTH, CHANNELS = 232_965, 1204, 128
CALLS = {1280: 64, 20_480: 16}
TILES = {
    1280: [*product((32, 64), (32, 64), (64, 128), (4, 6), (4,))],
    20_480: [*product((64, 128), (64, 128), (64,), (4, 6), (4, 8))],
}

Call = Callable[[Tensor], object]


def microseconds(call: Call, batches: list[Tensor], repeats: int) -> float:
    """The median time of a call, or infinity for a tile that needs more shared memory than there is."""
    from triton.runtime.errors import OutOfResources

    try:
        call(batches[0])
    except OutOfResources:
        return float("inf")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for nodes in batches:
            call(nodes)
    seconds = timing.rounds({"call": graph.replay}, repeats, batches[0].device)["call"]
    return 1e6 * statistics.median(seconds) / len(batches)


def copied(table: Tensor, weight: Tensor, coming: Tensor) -> tuple[Call, Call]:
    """A copy of the rows, multiplied by cuBLAS; the gradient needs no copy, because the product has made it."""
    rows = table[: coming.shape[0], :WIDTH].contiguous()
    return lambda nodes: table.index_select(0, nodes)[:, :WIDTH] @ weight, lambda _: rows.t() @ coming


def in_place(table: Tensor, weight: Tensor, coming: Tensor) -> tuple[Call, Call]:
    """Our kernels, which read the rows where they are."""
    from mggcn.kernels.gpu import gather as gpu

    return lambda nodes: gpu.product(table, nodes, weight), lambda nodes: gpu.gradient(table, nodes, coming, WIDTH)


def main() -> int:
    """Print a line for each precision, form and tile."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("there is no usable GPU")
    from mggcn.kernels.gpu import gather as gpu

    torch.set_float32_matmul_precision("high")
    device, wide = torch.device("cuda"), WIDTH + -WIDTH % 8
    full = torch.rand(NODES, wide, device=device)
    full[:, WIDTH:] = 0
    sys.stdout.write(f"{'rows':>6}  {'precision':9}  {'form':27}  {'product':>8}  {'gradient':>8}\n")
    for count, calls in CALLS.items():
        batches = [torch.randint(NODES, (count,), device=device, dtype=torch.int32) for _ in range(calls)]
        few = count <= gpu.FEW
        for precision, dtype in (("tf32", torch.float32), ("bf16", torch.bfloat16)):
            arrays = (full.to(dtype), *(torch.rand(n, CHANNELS, device=device).to(dtype) for n in (WIDTH, count)))
            forms = {"copied, cuBLAS": (copied(*arrays), None), "in place, the tiles in use": (in_place(*arrays), None)}
            for tile in TILES[count] if precision == "bf16" else []:
                forms[f"in place, {'-'.join(map(str, tile))}"] = (in_place(*arrays), gpu.Tile(*tile))
            for form, (tasks, other) in forms.items():
                tiles = {} if other is None else {few: other}
                with patch.dict(gpu.PRODUCT, tiles), patch.dict(gpu.GRADIENT, tiles):
                    shown = "  ".join(f"{microseconds(task, batches, options.repeats):8.2f}" for task in tasks)
                sys.stdout.write(f"{count:6}  {precision:9}  {form:27}  {shown}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
