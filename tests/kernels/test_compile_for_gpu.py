"""Every Triton kernel compiles for a GPU on a machine that has none; the interpreter alone would not notice."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

SCRIPT = """
import warnings
warnings.simplefilter("ignore")
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from mggcn.kernels.gpu import adam, aggregate, combine, gather, loss, pick, relabel

def check(kernel, arguments, **constants):
    names = [name for name in kernel.arg_names if name not in constants]
    types = arguments.split() if isinstance(arguments, str) else arguments
    signature = dict(zip(names, types, strict=True)) | {name: "constexpr" for name in constants}
    source = ASTSource(kernel, signature, constants)
    assert "ptx" in triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm

for sums in ("*i32", "*i64"):
    arguments = f"*i64 *i32 {sums} *i32 *i64 i32 i32 *i32 i32 i32"
    check(pick._pick, arguments, PICKS=4, WIDTH=8, SYMMETRIC=True, EXPLORE=1)
check(pick._induce, "*i64 *i32 *i32 *i8 i32 i32", SIZE=5, SYMMETRIC=True, LANES=128)
for weighted in (False, True):
    sizes = {"COLUMNS": 128, "EDGES": 8, "INCLUDE_SELF": True, "WEIGHTED": weighted}
    check(aggregate._mean, "*i64 *i32 *fp32 *fp32 *fp32 i32", **sizes)
sizes = {"CHANNELS": 128, "OUT": 41, "GROUP": 5, "BLOCK": 128, "WIDTH": 64}
sizes |= {"PRECISION": "tf32", "REPEATED": True, "EARLY": True}
check(combine._forward, "*fp32 *fp32 *fp32 *fp32 *i32 i32 fp32", **sizes)
check(combine._backward, "*fp32 *fp32 *fp32 *fp32 *fp32 *fp32 *i32 i32 fp32 i32 i32", **sizes)
pair = ("*fp32", "*fp32")
check(adam._step, [pair, pair, pair, pair, ("i32", "i32"), "*fp32", "fp32", "fp32"], CELLS=512, EARLY=True)
kinds = {"WEIGHTED": True, "SMOOTHED": True, "EARLY": True}
check(loss._cross_entropy, "*fp32 *i64 *i32 *fp32 *fp32 *fp32 *fp32 i32 fp32", CLASSES=41, WIDTH=64, **kinds)
for x in ("*fp32", "*bf16"):
    for tile in (*gather.PRODUCT.values(), *gather.GRADIENT.values()):
        sizes = {"STRIDE": 1208, "WIDTH": 1204, "CHANNELS": 128, "PRECISION": "tf32", "EARLY": True}
        shape = {"ROWS": tile.rows, "COLUMNS": tile.columns, "STEP": tile.step}
        check(gather._product, f"{x} *i32 {x} {x} i32", **sizes, **shape)
        check(gather._gradient, f"{x} *i32 {x} *fp32 i32 i32", **sizes, **shape)
    check(gather._sums, f"*i64 *i64 *fp32 {x} {x} i32", COLUMNS=128, EDGES=16)
    check(gather._dots, f"*i64 *i64 {x} {x} *fp32 i32", COLUMNS=128, EDGES=16)
check(relabel._segment_sum, "*fp32 *i32 *i32 *fp32", CHANNELS=128, BLOCK=128, ROWS=8)
print("compiled")
"""


def test_every_kernel_compiles_for_a_gpu() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "compiled\n", done.stderr[-2000:]
