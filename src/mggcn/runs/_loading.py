"""Reading a run folder."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from mggcn._io import regular
from mggcn._io.files import parse_tensors, sha256
from mggcn._io.mapping import AUTOMATIC, Access
from mggcn.data import Dataset, load_with
from mggcn.errors import InputError, prefix_errors
from mggcn.methods.settings import refuse_imports
from mggcn.runs._nodes import SPLIT, SplitIds
from mggcn.runs._plan import DataIdentity, resolve
from mggcn.runs._run import SCALER_ARRAYS, WEIGHTS, Run
from mggcn.training import FITTED, RECORD, Ranks, RunRecord, Scaler, is_unfinished, read_record, unfinished


def load_run(folder: str | Path, *, allow_import: bool = False) -> Run:
    """Read a run folder.

    Args:
        folder: as :meth:`Run.save` wrote it.
        allow_import: allow the record to name Python code to import, as the record of a user's own method does. Only
            allow it for folders from a source you trust: importing runs the code.
    """
    root = Path(folder)
    if is_unfinished(root):
        raise InputError(unfinished(root))
    if not is_finished(root):
        raise InputError(f"{root}: not a run folder ({RECORD} is missing)")
    record, checksums = read_record(root / RECORD)
    try:
        record.check_complete()
    except ValueError as error:
        raise InputError(f"{root / RECORD}: not a run record ({error})") from None
    refuse_imports(root / RECORD, {"method": record.method, **record.settings}, allow_import=allow_import)
    try:
        plan = resolve(
            record.method,
            DataIdentity(record.dataset["name"], record.dataset["digest"]),
            record.settings,
            preset="paper",
            seed=record.seed,
            device=torch.device(record.device),
            warm_start=record.warm_start,
        )
    except InputError as error:
        raise InputError(f"{root / RECORD}: not a run record ({error})") from None
    _verify(root, checksums)
    try:
        tensors = parse_tensors(regular.read(root / WEIGHTS))
    except FileNotFoundError:
        raise InputError(f"{root}: not a run folder ({WEIGHTS} is missing)") from None
    except ValueError as error:
        raise InputError(f"{root / WEIGHTS}: cannot be read ({error})") from None
    model = plan.method.model(record.dataset["num_features"], len(record.dataset["classes"]), None)
    with prefix_errors(root / WEIGHTS):
        _load_weights(model, {name[6:]: tensor for name, tensor in tensors.items() if name.startswith("model.")})
        scaler = _scaler(record, tensors)
    return Run(record, plan, model, scaler, path=root.resolve(), stored_split=SplitIds.read(root / SPLIT))


def load_data(name: str, root: Path | None, ranks: Ranks, access: Access = AUTOMATIC) -> Dataset:
    """Load a data set on every rank; the first of a machine downloads or generates it, and the others map its files."""
    if ranks.size > 1:
        access = replace(access, mmap=True)
    return ranks.in_turn(lambda: load_with(access, name, root=root))


def is_finished(folder: Path) -> bool:
    """Whether a run folder has its record, which is written last."""
    return (folder / RECORD).is_file()


def _verify(folder: Path, checksums: Mapping[str, str]) -> None:
    """Raise InputError for a file that is not as it was when the record was written."""
    for name, expected in checksums.items():
        path = folder / Path(name).name
        if not path.is_file():
            raise InputError(f"{path}: missing, though {RECORD} lists it")
        if sha256(path) != expected:
            raise InputError(f"{path}: sha256 differs from {RECORD}; the file is damaged or was changed")


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
