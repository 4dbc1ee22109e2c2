"""Reading a run folder."""

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from torch import Tensor

from mggcn import datasets, methods
from mggcn.dataset import Dataset
from mggcn.errors import InputError
from mggcn.methods.settings import is_import_path
from mggcn.records.reading import RECORD, is_unfinished, unfinished
from mggcn.records.record import RunRecord
from mggcn.run.parts import SPLIT, SplitIds
from mggcn.run.run import SCALER_ARRAYS, WEIGHTS, Run
from mggcn.train import Ranks, Scaler


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
    try:
        record = RunRecord.from_json((root / RECORD).read_text())
        record.check_complete()
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{root / RECORD}: not a run record ({error})") from None
    if not allow_import:
        refuse_imports(root / RECORD, record.method, record.settings)
    try:
        plan = methods.resolve(record.method, record.dataset["name"], record.settings, preset="paper")
    except InputError as error:
        raise InputError(f"{root / RECORD}: not a run record ({error})") from None
    try:
        tensors = load_tensors((root / WEIGHTS).read_bytes())
    except FileNotFoundError:
        raise InputError(f"{root}: not a run folder ({WEIGHTS} is missing)") from None
    except SafetensorError as error:
        raise InputError(f"{root / WEIGHTS}: cannot be read ({error})") from None
    try:
        model = plan.method.model(record.dataset["num_features"], len(record.dataset["classes"]), None)
        model.load_state_dict({name[6:]: tensor for name, tensor in tensors.items() if name.startswith("model.")})
    except RuntimeError:
        raise InputError(f"{root / WEIGHTS}: does not fit the model that {RECORD} describes") from None
    split_ids = SplitIds.read(root / SPLIT)
    return Run(record, plan, model, _scaler(record, tensors), path=root.resolve(), split_ids=split_ids)


def load_data(name: str, root: Path | None, ranks: Ranks, mmap: bool | None = None) -> Dataset:
    """Load a data set on every rank; the first of a machine downloads or generates it, and the others map its files."""
    return ranks.in_turn(lambda: datasets.load(name, root=root, mmap=True if ranks.size > 1 else mmap))


def is_finished(folder: Path) -> bool:
    """Whether a run folder has its record, which is written last."""
    return (folder / RECORD).is_file()


def refuse_imports(path: Path, method: object, settings: Mapping[str, object]) -> None:
    """Raise InputError if a file names code to import: a user's own method, or a setting that is a function."""
    for field_name, value in {"method": method, **settings}.items():
        if is_import_path(value):
            raise InputError(
                f"{path}: field {field_name} names code to import ({value}); "
                "if you trust it, allow it with allow_import=True or --allow-import"
            )


def _scaler(record: RunRecord, tensors: dict[str, Tensor]) -> Scaler:
    parts = {name: tensors[f"scaler.{name}"].numpy() for name in SCALER_ARRAYS if f"scaler.{name}" in tensors}
    return Scaler(record.settings["scaling"], **parts)
