"""What must be the same when a run is resumed, and on all ranks that train it."""

from typing import Any

import torch

from mggcn.data import Dataset
from mggcn.methods.plan import WITHOUT_EFFECT, Plan
from mggcn.runs._warm_start import WarmStart
from mggcn.training import ALONE, Ranks
from mggcn.training import _environment as environment

MAY_CHANGE = ("epochs", "patience")
"""The settings that a run may be resumed with other values of."""


def identity_of(dataset: Dataset, plan: Plan, seed: int, device: torch.device) -> dict[str, Any]:
    """What must be the same when a run is resumed."""
    without_effect = (*MAY_CHANGE, *WITHOUT_EFFECT)
    return {
        "data_set_digest": dataset.digest,
        "method": plan.name,
        "method_version": plan.method.version,
        "seed": seed,
        "device": device.type,
        "settings": {name: value for name, value in plan.settings.items() if name not in without_effect},
    }


def check_ranks(
    ranks: Ranks, dataset: Dataset, plan: Plan, seed: int, device: torch.device, origin: WarmStart | None
) -> None:
    """Raise InputError, on every rank, unless they have the same data, settings, versions and weights to start from."""
    if ranks == ALONE:
        return
    identity = identity_of(dataset, plan, seed, device) | {
        "settings": plan.settings,
        "warm_start": origin and origin.digest,
    }
    identity |= environment.versions()
    ranks.check(device, plan.training.batch_size, identity)
