"""The post-step of a run: its calibrated probabilities, smoothed along edges from training labels."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mggcn import training as train
from mggcn.data import UNLABELLED, Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.runs._labels import known_in
from mggcn.sampling.adjacency import propagation
from mggcn.training import (
    Compute,
    Prepared,
    Probabilities,
    Smoothed,
    Training,
    choose_share,
    measured,
    smoothed,
    with_labels,
)

if TYPE_CHECKING:
    from mggcn.runs._run import Run


def measure(
    prepared: Prepared, dataset: Dataset, training: Training, key: Key, compute: Compute, temperature: float
) -> Smoothed:
    """Choose the share that comes from neighbours on the validation nodes, and measure the smoothed probabilities.

    The whole graph is smoothed, of inductive data, too, as it is when the model is scored.
    """
    split, every = dataset.require_split(), np.arange(dataset.num_nodes)
    scores = train.predict(prepared.model, prepared.eval, every, key, compute, training.draws)
    probabilities = train.calibrated(scores, temperature).exp().cpu().numpy()
    start = with_labels(probabilities, known_in(dataset, dataset.classes))
    adjacency = propagation(dataset.graph)
    share = choose_share(adjacency, start, dataset.y, split.val, compute.threads)
    result = smoothed(adjacency, start, share, compute.threads)
    val, test = (measured(result, dataset.y, nodes) for nodes in (split.val, split.test))
    return Smoothed(share, val.accuracy, val.macro_f1, test.accuracy, test.macro_f1)


def readable_labels(run: "Run", dataset: Dataset, *, calibrated: bool) -> NDArray[np.int64]:
    """[num_nodes] the labels of a graph that its smoothing starts from, -1 elsewhere; InputError if it cannot start."""
    if run.record.smoothed is None:
        name = run.path or f"the run of {run.record.method}"
        raise InputError(f"smooth: {name} was trained without it; train with the setting smooth=true")
    if not calibrated:
        raise InputError("smooth: needs calibrated probabilities; leave out calibrated=False")
    known = known_in(dataset, run.classes)
    if not np.any(known != UNLABELLED):
        raise InputError(f"smooth: {dataset.name} has no training labels to smooth scores from")
    return known


def apply(run: "Run", dataset: Dataset, probabilities: Probabilities, known: NDArray[np.int64]) -> Probabilities:
    """[num_nodes, classes] the probabilities of all nodes of a graph, smoothed with the share of the run."""
    share = 0.0 if run.record.smoothed is None else run.record.smoothed.share
    threads = run.plan.training.threads or None
    return smoothed(propagation(dataset.graph), with_labels(probabilities, known), share, threads)
