"""Starts what training on a GPU needs while data are read: neither has to wait for the other."""

import threading
from contextlib import suppress

import torch

from mggcn.graph import Graph
from mggcn.kernels.pick import PickTable


def wake(device: torch.device) -> None:
    """Start to initialise a GPU, its library of products, and the compilers of kernels."""
    if device.type == "cuda":
        threading.Thread(target=_exercise, args=(device,), daemon=True).start()


def _exercise(device: torch.device) -> None:
    """Use each of them once, on as little as possible."""
    with suppress(Exception):  # training meets the same error, and reports it
        square = torch.ones(16, 16, device=device)
        torch.mm(square, square)
        pair = PickTable.of(Graph.from_edges([0], [1], 2)).on(device)
        from mggcn.kernels.gpu import relabel

        relabel.segment_sum(square[:1, :1].contiguous(), pair.indptr[:2], pair.indices)
