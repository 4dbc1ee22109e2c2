"""Warm starts: a run that begins with the weights and the scaling of an earlier one, on data with the same features.

Before its first step the model scores nodes as the earlier run does.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as save_tensors

from mggcn.data import Dataset
from mggcn.errors import InputError
from mggcn.runs._features import match_features
from mggcn.runs._loading import load_run
from mggcn.runs._plan import Plan, resolve
from mggcn.runs._run import Run
from mggcn.training import Scaler

_CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class WarmStart:
    """The run that another one starts from; it must have been saved."""

    run: Run

    @classmethod
    def of(cls, run: "Run | str | Path", *, allow_import: bool = False) -> "WarmStart":
        """From a run, or from its folder."""
        origin = run if isinstance(run, Run) else load_run(run, allow_import=allow_import)
        name = origin.record.method
        if not any(parameter.requires_grad for parameter in origin.model.parameters()):
            raise InputError(f"warm start: {name} has no weights to start from")
        if not origin.plan.method.uses_features:
            raise InputError(f"warm start: the weights of {name} fit only the graph they were trained on")
        return cls(origin)

    @property
    def path(self) -> Path:
        """The folder of the run."""
        if self.run.path is None:
            raise InputError("warm start: save the run first, so that its folder can be named")
        return self.run.path

    @cached_property
    def digest(self) -> str:
        """The sha256 of the weights."""
        state = {
            name: tensor.detach().cpu().contiguous().clone() for name, tensor in self.run.model.state_dict().items()
        }
        return hashlib.sha256(save_tensors(state)).hexdigest()

    @property
    def scaler(self) -> Scaler:
        """The scaling of the features."""
        return self.run.scaler

    def describe(self) -> dict[str, Any]:
        """What the record of the new run says about it."""
        dataset = {name: self.run.record.dataset[name] for name in ("name", "digest")}
        return {"path": str(self.path), "dataset": dataset, "seed": self.run.record.seed, "weights": self.digest}

    def check(self, plan: Plan) -> None:
        """Raise InputError if a plan is of another method or scaling."""
        if plan.name != self.run.record.method:
            raise InputError(f"warm start: {self.run.record.method} was trained, so {plan.name} cannot start from it")
        scaling = self.run.record.settings["scaling"]
        if plan.training.scaling != scaling:
            raise InputError(f"scaling: {plan.training.scaling}, but the run to start from has {scaling}")

    def match(self, dataset: Dataset) -> Dataset:
        """The data set with the features of the earlier run, matched as for predictions."""
        if dataset.classes != self.run.classes:
            raise InputError(
                f"{dataset.name}: classes {', '.join(dataset.classes)}, but the run to start from has "
                f"{', '.join(self.run.classes)}"
            )
        return match_features(dataset, self.run.record.dataset)

    def plan(
        self,
        dataset: Dataset | str,
        settings: Mapping[str, object],
        *,
        seed: int = 0,
        device: torch.device = _CPU,
    ) -> Plan:
        """A plan with the method and the settings of the earlier run, some of them changed."""
        record = self.run.record
        values, origin = {**record.settings, **settings}, self.describe()
        plan = resolve(record.method, dataset, values, preset="paper", seed=seed, device=device, warm_start=origin)
        self.check(plan)
        return plan
