"""Examines an installation: versions, devices, data roots, and every kernel on a small graph."""

from mggcn.doctor._diagnosis import Cache, DataRoot, Diagnosis, Extra, examine, summary
from mggcn.doctor._kernels import KernelCheck, check_kernels

__all__ = ["Cache", "DataRoot", "Diagnosis", "Extra", "KernelCheck", "check_kernels", "examine", "summary"]
