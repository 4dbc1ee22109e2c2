"""The number of nodes that a training batch reads."""

import statistics
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray

from mggcn.block import Sampler
from mggcn.keys import Key
from mggcn.train.order import Targets, shuffled
from mggcn.train.training import Training

_MAX_BATCHES = 20


def nodes_per_batch(sampler: Sampler, targets: NDArray[np.int64], training: Training, key: Key) -> float:
    """The mean number of distinct nodes behind a batch's input rows, over the first batches of an extra epoch.

    Args:
        sampler: of the training view.
        targets: the training nodes.
        training: the batch size, and whether targets are shuffled.
        key: the run's random key.
    """
    key = key.fold("count")
    order: Targets = np.array(targets)
    if sampler.device.type == "cuda":
        order = torch.from_numpy(order).to(sampler.device)
    if training.shuffle:
        order = shuffled(order, key.fold("order"))
    with torch.no_grad():
        batches = islice(sampler.batches(order, key, training.batch_size), _MAX_BATCHES)
        return statistics.fmean(torch.unique(batch.nodes).numel() for batch in batches)
