"""How much of the graph a training batch reads."""

import statistics
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray

from mggcn.block import Sampler
from mggcn.keys import Key
from mggcn.train.order import Targets, shuffled
from mggcn.train.training import Training

_MOST_BATCHES = 20


def nodes_per_batch(sampler: Sampler, targets: NDArray[np.int64], training: Training, key: Key) -> float:
    """The mean number of distinct nodes behind a batch's input rows, over the first batches of an epoch of its own.

    Args:
        sampler: of the training view.
        targets: the training nodes.
        training: its batch size and order.
        key: of the run.
    """
    own = key.fold("count")
    order: Targets = np.array(targets)
    if sampler.device.type == "cuda":
        order = torch.from_numpy(order).to(sampler.device)
    if training.shuffle:
        order = shuffled(order, own.fold("order"))
    with torch.no_grad():
        drawn = islice(sampler.batches(order, own, training.batch_size), _MOST_BATCHES)
        return statistics.fmean(torch.unique(batch.nodes).numel() for batch in drawn)
