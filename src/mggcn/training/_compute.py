"""Compute: the device, precision, threads and ranks of a run."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

import torch

from mggcn._io import memory
from mggcn.data import Cache
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.pick import PickTable
from mggcn.training._ranks import ALONE, Ranks

Precision = Literal["tf32", "fp32", "bf16"]

_SHARE_OF_GPU = 0.6


@dataclass(frozen=True)
class Compute:
    """The device, precision, threads and ranks of a run.

    Attributes:
        device: the device of the model.
        precision: of matrix products: ``tf32`` (on a GPU; elsewhere the same as fp32), ``fp32``, or ``bf16`` for mixed
            precision.
        threads: of the sampler on the CPU; all cores when None.
        ranks: the processes that train and score together.
        cache: keeps what is computed before training on disk; None computes it in memory.
    """

    device: torch.device
    precision: Precision = "tf32"
    threads: int | None = None
    ranks: Ranks = ALONE
    cache: Cache | None = None

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the input rows."""
        return torch.bfloat16 if self.precision == "bf16" else torch.float32

    def holds(self, num_bytes: int) -> bool:
        """Whether the device is a GPU with room for this many bytes in addition to the training itself."""
        return self.device.type == "cuda" and num_bytes < _SHARE_OF_GPU * torch.cuda.mem_get_info(self.device)[0]

    def free_bytes(self) -> int | None:
        """The free memory of the device; None where the system does not report it."""
        if self.device.type == "cuda":
            return torch.cuda.mem_get_info(self.device)[0]
        return memory.available()

    @contextmanager
    def arithmetic(self) -> Iterator[None]:
        """Use this precision inside the ``with`` block; on a CPU only bf16 differs from fp32."""
        mixed = torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16", cache_enabled=False)
        if self.device.type == "cpu":
            with mixed:
                yield
            return
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest" if self.precision == "fp32" else "high")
        try:
            with mixed:
                yield
        finally:
            torch.set_float32_matmul_precision(before)


def choose_device(device: str | torch.device) -> torch.device:
    """The device with this name; ``auto`` is the GPU if there is one."""
    if isinstance(device, torch.device):
        return device
    if device not in ("auto", "cpu", "cuda"):
        raise InputError(f"device: {device!r} is not one of auto, cpu, cuda")
    has_gpu = torch.cuda.is_available()
    if device == "cuda" and not has_gpu:
        raise InputError("device: cuda is not available, there is no usable GPU")
    return torch.device("cuda" if has_gpu and device != "cpu" else "cpu")


def warm_up(device: torch.device) -> None:
    """Start to initialise a GPU, its library of products, and the compilers of kernels, while data are read."""
    if device.type == "cuda":
        threading.Thread(target=_exercise, args=(device,), daemon=True).start()


def _exercise(device: torch.device) -> None:
    """Multiply and sum once, on the smallest matrices, which loads the library and the compilers."""
    with suppress(Exception):  # training meets the same error, and reports it
        square = torch.ones(16, 16, device=device)
        torch.mm(square, square)
        pair = PickTable.of(Graph.from_edges([0], [1], 2)).on(device)

        from mggcn.kernels.gpu import relabel

        relabel.segment_sum(square[:1, :1].contiguous(), pair.indptr[:2], pair.indices)
