"""Kernels that start early: only on a GPU that can."""

import pytest
import torch

pytest.importorskip("triton")

from mggcn.kernels.gpu import _early
from tests.skips import NO_GPU


def test_the_interpreter_starts_nothing_early() -> None:
    assert _early.options(torch.empty(1)) == {"EARLY": False}


@pytest.mark.skipif(not torch.cuda.is_available(), reason=NO_GPU)
def test_a_hopper_gpu_starts_kernels_early() -> None:
    is_hopper = torch.cuda.get_device_capability() >= (9, 0)
    assert _early.options(torch.empty(1, device="cuda"))["EARLY"] == is_hopper
