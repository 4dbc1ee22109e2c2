"""The description of a search: the settings of a method, their values, and the metric to maximise."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal

import torch

from mggcn import methods
from mggcn.data import Dataset
from mggcn.errors import InputError
from mggcn.runs import Plan, resolve
from mggcn.training import RunRecord, Training

_CPU = torch.device("cpu")

Metric = Literal["accuracy", "macro-f1"]


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, whole if the bounds are; uniform on a logarithmic scale if ``log``."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[object, ...]


SPACE: Mapping[str, Range | Choice] = MappingProxyType(
    {
        "lr": Range(1e-3, 1e-1, log=True),
        "weight_decay": Choice((0.0, 1e-5, 1e-4, 5e-4, 1e-3, 5e-3)),
        "batch_size": Choice((64, 128, 256, 512, 1024)),
        "layers": Range(1, 3),
        "hidden": Choice((16, 32, 64, 128, 256)),
        "dropout": Choice((0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)),
        "picks": Range(1, 25, log=True),
        "explore": Choice(("both", "breadth", "depth")),
        "pick_by": Choice(("degree", "uniform")),
        "fine_norm": Choice(("mean", "symmetric", "half")),
        "samples": Choice((64, 128, 256, 400, 512, 1024)),
        "fanouts": Choice(("5,5", "10,5", "10,10", "15,10", "25,10")),
        "fanout": Choice((1, 2, 4, 8)),
        "hops": Range(1, 4),
        "pool": Choice((1, 2, 4)),
        "state": Choice((1, 2)),
        "variance": Choice((0.0, 0.001, 0.01, 0.1, 0.5, 1.0)),
        "parts_per_batch": Choice((1, 2, 5, 10, 20)),
        "roots": Choice((100, 300, 1000, 3000)),
        "walk": Range(1, 4),
        "alpha": Range(0.5, 0.99),
        "iterations": Choice((10, 20, 50, 100)),
        "walks": Choice((5, 10, 20, 40)),
        "window": Choice((2, 5, 10)),
        "p": Choice((0.25, 0.5, 1.0, 2.0, 4.0)),
        "q": Choice((0.25, 0.5, 1.0, 2.0, 4.0)),
        "trees": Choice((50, 100, 200, 500)),
        "max_depth": Choice((0, 4, 8, 16)),
        "min_leaf": Choice((1, 2, 5, 10)),
        "scaling": Choice(("row", "root", "tfidf", "standard")),
        "input_dropout": Choice((0.0, 0.2, 0.4, 0.5, 0.6, 0.8)),
        "label_smoothing": Choice((0.0, 0.05, 0.1, 0.2)),
        "consistency": Choice((0.0, 0.5, 1.0, 2.0)),
        "averaging": Choice((0.0, 0.9, 0.95, 0.98)),
        "class_weights": Choice(("none", "balanced")),
        "balanced": Choice((False, True)),
    }
)
"""The values that are searched for each setting; a search covers those settings of the method that are listed here."""

_FOR_RARE_CLASSES = ("class_weights", "balanced")
_SCALINGS = {"sparse": ("row", "root", "tfidf"), "dense": ("standard", "root")}  # the first is what "auto" means


@dataclass(frozen=True, eq=False)
class Search:
    """The description of a search.

    Attributes:
        dataset: with a split.
        method: a name from :data:`mggcn.methods.METHODS`.
        seeds: the number of runs of each trial, with seeds 0, 1, 2, …
        target: the validation metric to maximise.
        device: the device of the runs.
        fixed: settings that are not searched.
        preset: the settings of the first trial.
    """

    dataset: Dataset
    method: str
    seeds: int = 1
    target: Metric = "accuracy"
    device: torch.device = _CPU
    fixed: Mapping[str, object] = field(default_factory=dict)
    preset: methods.Preset = "default"

    def __post_init__(self) -> None:
        self.dataset.require_split()
        if self.seeds < 1:
            raise InputError(f"seeds: {self.seeds} is less than 1")

    def plan(self, settings: Mapping[str, object], seed: int = 0) -> Plan:
        """The method with the fixed settings and these."""
        changes = {**self.fixed, **settings}
        return resolve(self.method, self.dataset, changes, preset=self.preset, seed=seed, device=self.device)

    @property
    def start(self) -> dict[str, object]:
        """The settings that are searched, with their values without a search."""
        plan = self.plan({})
        names = {field.name for field in fields(plan.method)}
        if _has_parameters(plan):
            names |= {field.name for field in fields(Training)}
        names -= {*self.fixed, *(_FOR_RARE_CLASSES if self.target == "accuracy" else ())}
        names -= {"consistency"} if plan.method.redraws_targets else set()
        names -= {"scaling"} if not plan.method.uses_features else set()
        values = {name: plan.settings[name] for name in SPACE if name in names}
        if not values:
            raise InputError(f"{self.method}: no setting is left to be searched")
        return values

    @property
    def space(self) -> dict[str, Range | Choice]:
        """The values of each searched setting, extended if necessary to contain the start."""
        return {name: self._values(name, value) for name, value in self.start.items()}

    def _values(self, name: str, start: Any) -> Range | Choice:
        space = SPACE[name]
        if isinstance(space, Range):
            return replace(space, low=min(space.low, start), high=max(space.high, start))
        values = space.values
        if name == "scaling":
            values = _SCALINGS["sparse" if self.dataset.is_sparse else "dense"]
            values = values[1:] if start == "auto" else values
        return Choice(values if start in values else (start, *values))

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for a search to continue."""
        of_run = {name: value for name, value in self.plan({}).identity.items() if name != "seed"}
        return of_run | {"seeds": self.seeds, "target": self.target, "searched": list(self.start)}

    def value(self, records: Sequence[RunRecord]) -> float:
        """The value of a trial: the mean validation metric of its runs."""
        return statistics.fmean(
            record.val_accuracy if self.target == "accuracy" else record.val_macro_f1 for record in records
        )


def _has_parameters(plan: Plan) -> bool:
    """Whether a method has parameters to train; only then do the settings of training matter."""
    model = plan.method.model(1, 2, torch.Generator().manual_seed(0))
    return any(parameter.requires_grad for parameter in model.parameters())
