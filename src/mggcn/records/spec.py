"""RunSpec: all that decides what a run gives, and the hash that names it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from mggcn import storage
from mggcn.dataset import Dataset


@dataclass(frozen=True)
class RunSpec:
    """A run that may or may not have happened yet.

    Attributes:
        dataset: its name, the digest of its arrays, and what else of it matters to training.
        method: its name.
        seed: of weights, order and picks.
        device: ``cpu`` or ``cuda``: accuracies hardly depend on it, times and memory do.
        settings: every setting, resolved.
    """

    dataset: Mapping[str, Any]
    method: str
    seed: int
    device: str
    settings: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """The sha256 of the spec as canonical JSON: keys in order, whole numbers without a point."""
        fields = asdict(self)
        fields["settings"] = {name: _plain(value) for name, value in self.settings.items()}
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def identity(dataset: Dataset) -> dict[str, Any]:
    """What of a data set a spec holds."""
    return {
        "name": dataset.name,
        "digest": storage.digest(dataset),
        "direction": dataset.graph.direction,
        "inductive": dataset.inductive,
        "classes": dataset.num_classes,
    }


def _plain(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value
