"""Where and how a method computes: the device, the numbers it computes with, and the sampler's threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

Precision = Literal["tf32", "fp32", "bf16"]

_SHARE_OF_GPU = 0.6


@dataclass(frozen=True)
class Compute:
    """Where a method computes.

    Attributes:
        device: of the model.
        precision: of matrix products: ``tf32`` (on a GPU; elsewhere the same as fp32), ``fp32``, or ``bf16`` for mixed
            precision.
        threads: of the sampler on the CPU; all cores when None.
    """

    device: torch.device
    precision: Precision = "tf32"
    threads: int | None = None

    @property
    def dtype(self) -> torch.dtype:
        """Of the input rows."""
        return torch.bfloat16 if self.precision == "bf16" else torch.float32

    def holds(self, num_bytes: int) -> bool:
        """Whether the device is a GPU with room for so many bytes beside the work itself."""
        if self.device.type != "cuda":
            return False
        free, _ = torch.cuda.mem_get_info(self.device)
        return num_bytes < _SHARE_OF_GPU * free

    def free_bytes(self) -> int | None:
        """The memory that work here can still have; None where the system does not say."""
        if self.device.type == "cuda":
            return torch.cuda.mem_get_info(self.device)[0]
        try:
            lines = Path("/proc/meminfo").read_text().splitlines()
        except OSError:
            return None
        free = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
        return free[0] if free else None

    @contextmanager
    def arithmetic(self) -> Iterator[None]:
        """Compute with this precision inside the block."""
        before = torch.get_float32_matmul_precision()
        mixed = torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16", cache_enabled=False)
        torch.set_float32_matmul_precision("high" if self.precision == "tf32" else "highest")
        try:
            with mixed:
                yield
        finally:
            torch.set_float32_matmul_precision(before)
