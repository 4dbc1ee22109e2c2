"""How long an epoch will take, from a few batches."""

import copy
import time
from dataclasses import replace

import numpy as np
import torch

from mggcn.data import Dataset
from mggcn.keys import Key
from mggcn.training._compute import Compute
from mggcn.training._epochs import Epochs
from mggcn.training._prepared import Prepared
from mggcn.training._training import Training

_BATCHES = 20


def epoch_seconds(prepared: Prepared, dataset: Dataset, training: Training, key: Key, compute: Compute) -> float | None:
    """The seconds of an epoch without its evaluation; None if a few batches do not tell, or on a GPU.

    A copy of the model is trained on some targets, so that kernels are compiled, and timed on others.
    """
    split, few = dataset.require_split(), _BATCHES * training.batch_size
    if compute.device.type != "cpu" or not getattr(prepared.train.sampler, "draws_per_target", False):
        return None
    if compute.ranks.size > 1 or split.train.size < 2 * few:
        return None
    first, second = np.array_split(key.fold("probe").select(split.train, 2 * few), 2)
    seconds = 0.0
    with torch.random.fork_rng([]):
        for targets in (first, second):
            model = copy.deepcopy(prepared.model)
            part = dataset.with_split(replace(split, train=targets))
            with Epochs(replace(prepared, model=model), part, training, key.fold("probe"), compute) as epochs:
                started = time.perf_counter()
                epochs.run(1)
                seconds = time.perf_counter() - started
    return seconds * split.train.size / second.size
