"""Smoothing: a step after training that averages the probabilities of nodes along edges, from training labels.

Z ← (1 - share) Z⁰ + share Â Z, where Z⁰ holds the probabilities of a model and, at training nodes, their labels; Â is
Kipf and Welling's D^-½ (A + I) D^-½. Rows of the result are scaled to sum to 1. The share is chosen on validation
nodes, whose own labels are not in Z⁰. This is the last step of Correct and Smooth.

Differs from the paper: Â has self-loops, so that an isolated node keeps its probabilities; and ten iterations instead
of the limit.

Reference: Huang, He, Singh, Lim and Benson: Combining Label Propagation and Simple Models Out-performs Graph Neural
Networks, ICLR 2021.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.data import UNLABELLED
from mggcn.sampling.adjacency import propagated
from mggcn.training._metrics import Scores, score

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The shares that are tried; 0 changes nothing."""

_ITERATIONS = 10
_LOWEST = np.finfo(np.float64).tiny

Probabilities = NDArray[np.float64]


def with_labels(probabilities: Probabilities, known: NDArray[np.int64]) -> Probabilities:
    """Z⁰: the probabilities, with 1 for the class of each node whose label is known.

    Args:
        probabilities: [num_nodes, classes].
        known: [num_nodes] labels, -1 for a node without one.
    """
    start, labelled = probabilities.copy(), np.flatnonzero(known != UNLABELLED)
    start[labelled] = 0
    start[labelled, known[labelled]] = 1
    return start


def smoothed(adjacency: csr_array, start: Probabilities, share: float, threads: int | None = None) -> Probabilities:
    """[num_nodes, classes] smoothed probabilities; ``start`` itself if the share is 0.

    Args:
        adjacency: Â, as :func:`mggcn.sampling.adjacency.propagation` returns it.
        start: Z⁰, see :func:`with_labels`.
        share: of the probabilities that comes from neighbours, in [0, 1).
        threads: all cores when None.
    """
    if share == 0:
        return start
    rest = ((1 - share) * start).astype(np.float32)
    z = start.astype(np.float32)
    for _ in range(_ITERATIONS):
        z = np.float32(share) * np.asarray(propagated(adjacency, z, threads)) + rest
    exact = z.astype(np.float64)
    return np.asarray(exact / exact.sum(axis=1, keepdims=True))


def choose_share(
    adjacency: csr_array, start: Probabilities, y: NDArray[np.int64], val: NDArray[np.int64], threads: int | None = None
) -> float:
    """The share with the best accuracy of the validation nodes, of equal ones with the lowest loss; see :data:`SHARES`.

    Args:
        adjacency: as in :func:`smoothed`.
        start: as in :func:`smoothed`, with no label of a validation node.
        y: [num_nodes] labels.
        val: the validation nodes.
        threads: all cores when None.
    """

    def rank(share: float) -> tuple[float, float]:
        scores = measured(smoothed(adjacency, start, share, threads), y, val)
        return scores.accuracy, -scores.loss

    return max(SHARES, key=rank)


def measured(probabilities: Probabilities, y: NDArray[np.int64], nodes: NDArray[np.int64]) -> Scores:
    """The metrics of some labelled nodes."""
    p = np.log(np.maximum(probabilities[nodes], _LOWEST))
    return score(torch.from_numpy(p), torch.from_numpy(y[nodes]))
