"""Reading the folder of a finished run, and starting another run with its weights."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as save_tensors
from torch import Tensor

from mggcn._io import regular
from mggcn._io.files import parse_tensors
from mggcn._io.mapping import AUTOMATIC, Access
from mggcn.data import Dataset, load_with
from mggcn.errors import InputError, prefix_errors
from mggcn.methods.settings import refuse_imports
from mggcn.runs._features import match_features
from mggcn.runs._nodes import SPLIT, SplitIds
from mggcn.runs._plan import DataIdentity, Plan, resolve
from mggcn.runs._run import WEIGHTS, Run
from mggcn.training import FITTED, RECORD, Ranks, Scaler, is_unfinished, read_record, unfinished

_DEVIATION = "scaler.deviation"  # which is infinite for a constant column


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
    try:
        model.load_state_dict({name[6:]: tensor for name, tensor in tensors.items() if name.startswith("model.")})
    except RuntimeError:
        raise InputError(f"{path / WEIGHTS}: does not fit the model that {RECORD} describes") from None
    kind, width = record.settings["scaling"], record.dataset["num_features"]
    fitted = {f"scaler.{name}": torch.empty(width) for name in FITTED.get(kind, ())}
    with prefix_errors(path / WEIGHTS):
        _check_tensors(tensors, {f"model.{name}": tensor for name, tensor in model.state_dict().items()} | fitted)
    scaler = Scaler(kind, **{name[7:]: tensors[name].numpy() for name in fitted})
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


def _check_tensors(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Raise InputError unless tensors have the names, types and shapes of others, and finite numbers."""
    for name in sorted(tensors.keys() | expected.keys()):
        found, wanted = (_described(side.get(name)) for side in (tensors, expected))
        if found != wanted:
            raise InputError(f"{name} is {found}, but for {RECORD} it is {wanted}")
        values = tensors[name]
        if not (values.isfinite() | (values.isposinf() & (name == _DEVIATION))).all():
            raise InputError(f"{name} holds a number that is not finite")


def _described(tensor: Tensor | None) -> str:
    return "missing" if tensor is None else f"{tensor.dtype} {[*tensor.shape]}"


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
