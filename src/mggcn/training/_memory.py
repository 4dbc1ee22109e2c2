"""Peak memory of a run: resident on a CPU, of all tensors on a GPU."""

import torch

from mggcn.training import _environment as environment


def reset_peak(device: torch.device) -> None:
    """Free what is no longer used, and measure the peak from here on."""
    environment.reset_peak_memory()
    if device.type == "cuda":
        torch._C._cuda_clearCublasWorkspaces()  # noqa: SLF001  (kept for every stream that earlier runs used)
        torch.cuda.reset_peak_memory_stats(device)


def restart_peak(device: torch.device) -> None:
    """Measure the peak from here on, within a run; it takes no time."""
    environment.restart_peak_memory()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak(device: torch.device) -> int:
    """Bytes: the process's largest resident size since the last reset, or the largest sum of tensors on the GPU."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else environment.peak_memory()
