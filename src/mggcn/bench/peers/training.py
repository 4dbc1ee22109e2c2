"""What training has in common in all peers: timing, the optimiser, a step of gradient descent."""

import math
import time
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .data import TrainingData

WARMUP = 3  # steps
_FEWEST = 3  # steps that are measured even if they take long

Options = dict[str, Any]


def timed(loader: Any, step: Callable[[Any], int], options: Options) -> dict[str, Any]:
    """Time steps, sampling and gathering included; ``step`` returns the number of nodes in its batch.

    ``options`` has the number of ``steps``; if an epoch has fewer, whole epochs are timed. Timing goes on for at least
    ``least_seconds`` and ends early after ``most_seconds``, if they are given.
    """
    size, wanted = len(loader), options["steps"]
    least, most = options.get("least_seconds", 0.0), options.get("most_seconds", math.inf)
    unit = size if size <= wanted else 1
    seconds: list[float] = []
    nodes: list[int] = []
    spent, started = 0.0, time.perf_counter()
    for batch in chain.from_iterable(repeat(loader)):
        nodes.append(step(batch))
        if options["device"] == "cuda":
            torch.cuda.synchronize()
        finished = time.perf_counter()
        seconds.append(finished - started)
        started = finished
        count = len(seconds) - WARMUP
        if count < 1:
            continue
        spent += seconds[-1]
        is_enough = count >= wanted and count % unit == 0 and spent >= least
        if is_enough or (count >= _FEWEST and spent > most):
            break
    return {"step_seconds": seconds[WARMUP:], "nodes": nodes[WARMUP:], "steps_an_epoch": size}


def two_layers(conv: Callable[..., Any], data: TrainingData, options: Options) -> tuple[Any, Any, torch.optim.Adam]:
    """Two convolutions and their optimiser."""
    first = conv(data.x.shape[1], options["hidden"]).to(options["device"])
    second = conv(options["hidden"], data.num_classes).to(options["device"])
    return first, second, adam([*first.parameters(), *second.parameters()], options)


def adam(parameters: Any, options: Options) -> torch.optim.Adam:
    """Adam with our learning rate and weight decay."""
    return torch.optim.Adam(parameters, lr=options.get("lr", 0.001), weight_decay=options.get("weight_decay", 0.0))


def activate(h: Tensor, options: Options) -> Tensor:
    """ReLU and dropout of hidden rows."""
    share = options.get("dropout", 0.0)
    return functional.dropout(torch.relu(h), share) if share else torch.relu(h)


def descend(optimizer: torch.optim.Optimizer, scores: Tensor, labels: Tensor, weight: Any = None) -> None:
    """One step on the cross-entropy; ``weight`` [n] makes it a weighted sum instead of the mean."""
    if weight is None:
        loss = functional.cross_entropy(scores, labels)
    else:
        loss = weight @ functional.cross_entropy(scores, labels, reduction="none")
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
