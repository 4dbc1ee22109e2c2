"""RunSpec: everything that determines the result of a run, and the hash that identifies it in a ledger."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from mggcn.data import Dataset

_ADDED = {
    "fine_norm": "mean",
    "input_dropout": 0,
    "label_smoothing": 0,
    "consistency": 0,
    "averaging": 0,
    "draws": 1,
    "background_prior": 0,
}  # settings that were added later, with the value that leaves runs as they were
TRAITS = ("nodes", "degree", "sparse")
"""The parts of a data set's identity on which recipes depend; its digest covers them."""


@dataclass(frozen=True)
class RunSpec:
    """A run that may or may not have happened yet.

    Attributes:
        dataset: its name, the digest of its arrays, and what else of it matters to training.
        method: its name.
        seed: of weights, order and picks.
        device: ``cpu`` or ``cuda``: accuracies hardly depend on it, times and memory do.
        settings: every setting, resolved.
        method_version: see :attr:`mggcn.methods.Method.version`.
    """

    dataset: Mapping[str, Any]
    method: str
    seed: int
    device: str
    settings: Mapping[str, Any]
    method_version: int = 1

    @cached_property
    def digest(self) -> str:
        """The sha256 of the spec as canonical JSON: sorted keys, whole numbers without a point.

        Version 1 and neutral values of newer settings are left out, so that older ledgers stay valid.
        """
        values = asdict(self)
        added = _ADDED | ({"hops": 1} if "fine_norm" in self.settings else {})
        if not self.settings.get("background_prior"):  # earlier runs with a prior had the non-negative risk
            added["background_risk"] = "likelihood"
        plain = {name: _plain(value) for name, value in self.settings.items()}
        values["settings"] = {name: value for name, value in plain.items() if name not in added or added[name] != value}
        for name in TRAITS:
            values["dataset"].pop(name, None)
        if self.method_version == 1:
            del values["method_version"]
        text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def identity(dataset: Dataset) -> dict[str, Any]:
    """The part of a data set that a spec holds."""
    return {
        "name": dataset.name,
        "digest": dataset.digest,
        "nodes": dataset.num_nodes,
        "degree": dataset.graph.num_stored / dataset.num_nodes,
        "sparse": dataset.is_sparse,
    }


def _plain(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value
