"""The kernels that ``mg-gcn`` needs, on a graph of six nodes, beside what they must give there.

This finds a broken compiler or driver on a user's machine; the tests compare every kernel with a reference.
"""

import itertools
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from mggcn._io.arrays import shared_tensor
from mggcn.block import Block
from mggcn.errors import first_line
from mggcn.graph import Graph
from mggcn.kernels.adam import Adam
from mggcn.kernels.aggregate import neighbour_mean, neighbour_mean_on
from mggcn.kernels.combine import combine_project, plain_combine
from mggcn.kernels.gather_sum import gather_sum
from mggcn.kernels.induce import induce, induce_on
from mggcn.kernels.loss import cross_entropy
from mggcn.kernels.pick import PickTable
from mggcn.kernels.sparse_product import sparse_product
from mggcn.keys import Key

Outcome = tuple[Any, Any]
"""What a kernel gives, and what it must give."""

_KEY = Key.of(0)
_GRAPH = Graph.from_edges([0, 0, 0, 0, 1, 2], [1, 2, 3, 4, 2, 3], 6)  # node 5 has no neighbours
_NODES = np.arange(6)
_ADJACENCY = np.array(
    [[0, 1, 1, 1, 1, 0], [1, 0, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], [1, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0] * 6]
)
_SHARES = _ADJACENCY / np.maximum(_ADJACENCY.sum(axis=1, keepdims=True), 1)
_PICKS = [[0, 1, 3, 4], [1, 0, 3, 4], [2, 0, 3, 1], [3, 2, 1, 0], [4, 0, 2, 1], [5, 5, 5, 5]]  # three of each node
_X = np.arange(-5, 7, dtype=np.float32).reshape(6, 2)
_PICKED = _ADJACENCY[np.array(_PICKS)[:, :, None], np.array(_PICKS)[:, None, :]]  # [6, 4, 4] are they neighbours
_WEIGHT = np.array([[1, -1, 2], [3, 0, 1], [0, 2, -1], [1, 1, 1]], np.float32)


def check_kernels(gpu: torch.device | None = None) -> Iterator[dict[str, Any]]:
    """Check every kernel on the CPU, and on a GPU if a device is given: name, back end, milliseconds and problem.

    The times on a machine's first check include compilation; the problem is empty if the results agree.
    """
    back_ends = [("cpu", None)] if gpu is None else [("cpu", None), ("gpu", gpu)]
    for (back_end, device), check in itertools.product(back_ends, _CHECKS):
        started, problem = time.perf_counter(), ""
        try:
            if not all(map(_is_close, *check(device))):
                problem = "another result than expected"
        except Exception as error:  # noqa: BLE001 - a broken compiler or driver raises its own exceptions
            problem = first_line(error)
        milliseconds = round((time.perf_counter() - started) * 1000, 3)
        kernel = check.__name__.removeprefix("_")
        yield {"kernel": kernel, "back_end": back_end, "milliseconds": milliseconds, "problem": problem}


def _is_close(result: Any, expected: Any) -> bool:
    array = result.detach().cpu().numpy() if isinstance(result, Tensor) else np.asarray(result)
    return array.shape == np.shape(expected) and np.allclose(array, expected, rtol=1e-4, atol=1e-5)


def _on(device: torch.device | None, *arrays: Any) -> tuple[Tensor, ...]:
    return tuple(torch.from_numpy(np.array(array)).to(device or "cpu") for array in arrays)


def _adam(gpu: torch.device | None) -> Outcome:
    weight, gradient = torch.tensor([[1.0, -2.0], [0.5, -3.0]], device=gpu)
    clock = torch.ones(1, device=gpu)
    if gpu is None:
        weight.grad = gradient
        Adam([weight], 0.1, 0.0, clock).step()
    else:
        from mggcn.kernels.gpu import adam

        first, second = torch.zeros_like(weight), torch.zeros_like(weight)
        adam.step([weight], [gradient], [first], [second], clock, 0.1, 0.0)
    return [weight], [[0.9, -1.9]]  # the first step is as long as the learning rate


def _aggregate(gpu: torch.device | None) -> Outcome:
    if gpu is None:
        return [neighbour_mean(_GRAPH, _X)], [_SHARES @ _X]
    indptr, indices, x = _on(gpu, _GRAPH.indptr, _GRAPH.indices, _X)
    return [neighbour_mean_on(indptr, indices, x)], [_SHARES @ _X]


def _combine(gpu: torch.device | None) -> Outcome:
    leaves = [leaf.requires_grad_() for leaf in _on(None, _X, _WEIGHT)]
    expected = plain_combine(leaves[0], 3, 0.5) @ leaves[1]
    if gpu is None:
        out = combine_project(leaves[0], 3, 0.5, leaves[1])
        gradients = torch.autograd.grad(out.sum(), leaves)
    else:
        from mggcn.kernels.gpu import combine

        h, weight = _on(gpu, _X, _WEIGHT)
        out, joined = combine.forward(h, 3, 0.5, weight)
        gradients = combine.backward(h, 3, 0.5, weight, joined, torch.ones_like(out))
    return [out, *gradients], [expected.detach(), *torch.autograd.grad(expected.sum(), leaves)]


def _gather_sum(gpu: torch.device | None) -> Outcome:
    (x,) = _on(gpu, _X)
    block = Block(6, shared_tensor(_GRAPH.indptr), shared_tensor(_GRAPH.indices).long(), torch.arange(6))
    if gpu is None:
        out = gather_sum(x.requires_grad_(), block)
        gradients = torch.autograd.grad(out.sum(), x)
        return [out, *gradients], [_SHARES @ _X, np.tile(_SHARES.sum(axis=0), (2, 1)).T]
    from mggcn.kernels.gpu import gather_sum as kernel

    block, out = block.to(gpu), torch.empty_like(x)
    kernel.sums(block.indptr, block.indices, block.factors, x, out)
    return [out], [_SHARES @ _X]


def _induce(gpu: torch.device | None) -> Outcome:
    if gpu is None:
        return [induce(_GRAPH, np.array(_PICKS))], [_PICKED]
    indptr, indices, members = _on(gpu, _GRAPH.indptr, _GRAPH.indices, np.array(_PICKS, np.int32).T.copy())
    return [induce_on(indptr, indices, True, members)], [_PICKED.transpose(1, 0, 2).reshape(24, 4)]


def _loss(gpu: torch.device | None) -> Outcome:
    scores, labels, targets, tally = _on(gpu, np.zeros((2, 2), np.float32), [1, 0], [0, 1], np.zeros(2))
    if gpu is None:
        gradient = cross_entropy(scores, labels, targets, None, tally)
    else:
        from mggcn.kernels.gpu import loss

        tally, gradient = tally.float(), torch.empty_like(scores)
        loss.cross_entropy(scores, labels, targets, None, tally, gradient)
    return [gradient, tally], [[[0.25, -0.25], [-0.25, 0.25]], [2 * math.log(2), 1]]


def _pick(gpu: torch.device | None) -> Outcome:
    table = PickTable.of(_GRAPH)
    drawn = table.draw(_NODES, 3, _KEY) if gpu is None else table.on(gpu).draw(_on(gpu, _NODES)[0], 3, _KEY)
    return [drawn], [_PICKS]


def _product(gpu: torch.device | None) -> Outcome:
    """Two rows of x times a matrix, and the gradient of the matrix; of sparse x on the CPU, of dense x on a GPU."""
    x, nodes, weight = _on(gpu, _X, np.array([4, 0], np.int32), _WEIGHT[:2])
    if gpu is None:
        out = sparse_product(csr_array(_X), nodes, weight.requires_grad_())
        (gradient,) = torch.autograd.grad(out.sum(), weight)
    else:
        from mggcn.kernels.gpu import gather_product

        out = gather_product.product(x, nodes, weight)
        gradient = gather_product.gradient(x, nodes, torch.ones_like(out), 2)
    return [out, gradient], [_X[[4, 0]] @ _WEIGHT[:2], np.tile(_X[[4, 0]].sum(axis=0), (3, 1)).T]


_CHECKS = (_adam, _aggregate, _combine, _gather_sum, _induce, _loss, _pick, _product)
