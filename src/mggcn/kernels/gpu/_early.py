"""Lets a Triton kernel start while the kernel before it ends, which shortens the pause between short kernels.

The programs of such a kernel are placed on the GPU early and wait there until all results of the kernel before are
written, so what they compute does not change. It needs a Hopper GPU or a later one, and a Triton that supports it.
"""

from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def wait_for_inputs(EARLY: tl.constexpr):
    """Allow the next kernel to be placed, and wait for the one before; to be called before anything is read."""
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()


def options(like: Tensor) -> dict[str, Any]:
    """Options of a launch on the device of a tensor."""
    is_possible = like.device.type == "cuda" and _is_possible(like.device.index)
    return {"EARLY": True, "launch_pdl": True} if is_possible else {"EARLY": False}


@cache
def _is_possible(device: int) -> bool:
    is_nvidia = torch.version.hip is None
    return is_nvidia and torch.cuda.get_device_capability(device) >= (9, 0) and hasattr(tl.extra.cuda, "gdc_wait")
