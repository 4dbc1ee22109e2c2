"""Reading the folder of a finished run, and starting another run with its weights."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from mggcn._io import regular
from mggcn._io.files import parse_tensors
from mggcn._io.mapping import AUTOMATIC, Access
from mggcn.data import Dataset, load_with
from mggcn.errors import InputError, prefix_errors
from mggcn.methods.settings import refuse_imports
from mggcn.runs._features import match_features
from mggcn.runs._nodes import SPLIT, SplitIds
from mggcn.runs._plan import DataIdentity, Plan, resolve
from mggcn.runs._run import SCALER_ARRAYS, WEIGHTS, Run
from mggcn.training import FITTED, RECORD, Ranks, RunRecord, Scaler, is_unfinished, read_record, unfinished


def load_run(folder: str | Path, *, allow_import: bool = False, root: Path | None = None) -> Run:
    """Read a run folder.

    Args:
        folder: as :meth:`Run.save` wrote it.
        allow_import: allow the record to name Python code to import, as the record of a user's own method does. Only
            allow it for folders from a source you trust: importing runs the code.
        root: the folder in which its data set is searched if that has a name; as in :func:`mggcn.load`.
    """
    path = Path(folder)
    if is_unfinished(path):
        raise InputError(unfinished(path))
    if not is_finished(path):
        raise InputError(f"{path}: not a run folder ({RECORD} is missing)")
    record, checksums = read_record(path / RECORD)
    refuse_imports(path / RECORD, {"method": record.method, **record.settings}, allow_import=allow_import)
    try:
        record.check_complete()
        plan = resolve(
            record.method,
            DataIdentity(record.dataset["name"], record.dataset["digest"]),
            record.settings,
            preset="paper",
            seed=record.seed,
            device=torch.device(record.device),
            warm_start=record.warm_start,
        )
    except ValueError as error:  # an InputError is one
        raise InputError(f"{path / RECORD}: not a run record ({error})") from None
    files = {name: _verified(path / Path(name).name, checksum) for name, checksum in checksums.items()}
    if not {WEIGHTS, SPLIT} <= files.keys():
        raise InputError(f"{path / RECORD}: not a run record (it has no checksums of {WEIGHTS} and {SPLIT})")
    try:
        tensors = parse_tensors(files[WEIGHTS])
    except ValueError as error:
        raise InputError(f"{path / WEIGHTS}: cannot be read ({error})") from None
    model = plan.method.model(record.dataset["num_features"], len(record.dataset["classes"]), None)
    with prefix_errors(path / WEIGHTS):
        _load_weights(model, {name[6:]: tensor for name, tensor in tensors.items() if name.startswith("model.")})
        scaler = _scaler(record, tensors)
    split = SplitIds.read(path / SPLIT)
    return Run(record, plan, model, scaler, path=path.resolve(), root=root, stored_split=split)


def load_data(name: str, root: Path | None, ranks: Ranks, access: Access = AUTOMATIC) -> Dataset:
    """Load a data set on every rank; the first of a machine downloads or generates it, and the others map its files."""
    if ranks.size > 1:
        access = replace(access, mmap=True)
    return ranks.in_turn(lambda: load_with(access, name, root=root))


def is_finished(folder: Path) -> bool:
    """Whether a run folder has its record, which is written last."""
    return (folder / RECORD).is_file()


def _verified(path: Path, checksum: str) -> bytes:
    """The content of a file; InputError if it is not as it was when the record was written."""
    try:
        content = regular.read(path)
    except FileNotFoundError:
        raise InputError(f"{path}: missing, though {RECORD} lists it") from None
    if hashlib.sha256(content).hexdigest() != checksum:
        raise InputError(f"{path}: sha256 differs from {RECORD}; the file is damaged or was changed")
    return content


def _load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    expected = {name: tensor.dtype for name, tensor in model.state_dict().items()}
    for name, tensor in weights.items():
        if name in expected and tensor.dtype != expected[name]:
            raise InputError(f"{name} holds {tensor.dtype}, but the model has {expected[name]}")
        if not tensor.isfinite().all():
            raise InputError(f"{name} holds a number that is not finite")
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        raise InputError(f"does not fit the model that {RECORD} describes") from None


def _scaler(record: RunRecord, tensors: Mapping[str, Tensor]) -> Scaler:
    parts = {name: tensors[f"scaler.{name}"].numpy() for name in SCALER_ARRAYS if f"scaler.{name}" in tensors}
    scaler, width = Scaler(record.settings["scaling"], **parts), record.dataset["num_features"]
    for name, array in parts.items():
        is_valid = np.isfinite(array) | (np.isposinf(array) if name == "deviation" else False)  # of a constant column
        if array.shape != (width,) or array.dtype != np.float32 or not is_valid.all():
            raise InputError(f"scaler.{name} is not {width} finite numbers, one for each feature")
    if set(parts) != FITTED.get(scaler.kind, set()):
        held = " and ".join(parts) or "nothing"
        raise InputError(f"holds {held} for the scaling of features, which does not fit scaling {scaler.kind}")
    return scaler


@dataclass(frozen=True, eq=False)
class WarmStart:
    """The saved run whose weights and scaling another one starts with, on data with the same features.

    Before its first step the new model scores nodes as the earlier run does.
    """

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

    @cached_property
    def digest(self) -> str:
        """The sha256 of the weights."""
        state = self.run.model.state_dict()
        copied = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in state.items()}
        return hashlib.sha256(save_tensors(copied)).hexdigest()

    def describe(self) -> dict[str, Any]:
        """What the record of the new run says about it."""
        if self.run.path is None:
            raise InputError("warm start: save the run first, so that its folder can be named")
        dataset = {name: self.run.record.dataset[name] for name in ("name", "digest")}
        return {"path": str(self.run.path), "dataset": dataset, "seed": self.run.record.seed, "weights": self.digest}

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
