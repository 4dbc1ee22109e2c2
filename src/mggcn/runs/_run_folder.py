"""Folders of runs: created, continued and read; what starts a run, resumes it, or starts from its weights.

A folder holds ``config.toml`` from the start, checkpoints now and then, and the record last: ``record.json`` marks a
run as finished, and its checkpoints are then removed. Of a portfolio, every recipe has a folder of checkpoints inside,
which stays until all are trained. The runs of an experiment or a search have no folder of their
own, only checkpoints.
"""

import hashlib
import itertools
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import tomli_w
import torch

from mggcn._io import regular
from mggcn._io.files import parse_tensors, write_atomically
from mggcn._io.mapping import AUTOMATIC, Access
from mggcn._io.temporary import remove_abandoned
from mggcn.data import PARTS, Dataset, as_dataset, load_with, read_fields
from mggcn.errors import DataWarning, InputError, InputWarning, prefix_errors
from mggcn.graph import Direction
from mggcn.methods import Method, Preset
from mggcn.methods.settings import refuse_imports
from mggcn.runs._fitting import fit_plan
from mggcn.runs._matching import SPLIT, SplitIds
from mggcn.runs._plan import MAY_CHANGE, DataIdentity, Plan, read_config, resolve
from mggcn.runs._run import WEIGHTS, Run
from mggcn.training import (
    ALONE,
    CHECKPOINT,
    CONFIG,
    EVERY,
    FITTED,
    MEMBERS,
    RECORD,
    BusyError,
    Checkpoints,
    Progress,
    Ranks,
    Scaler,
    Training,
    check_tensors,
    choose_device,
    is_unfinished,
    lock,
    read_record,
    unfinished,
)

if TYPE_CHECKING:
    from torch_geometric.data import Data


def fit(
    dataset: "Dataset | Data",
    method: str | Method | type[Method] | None = None,
    *,
    training: Training | None = None,
    settings: Mapping[str, object] | None = None,
    preset: Preset = "default",
    seed: int = 0,
    device: str | torch.device = "auto",
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = EVERY,
    warm_start: Run | str | Path | None = None,
    direction: Direction | None = None,
    members: Sequence[Mapping[str, object]] | None = None,
) -> Run:
    """Train a method on a data set and test the best epoch's weights.

    If PyTorch's default process group is initialised, all its ranks call this function with the same arguments and
    train together; the run is the same on all of them.

    Each setting has the first value of these that is given: the one in ``settings``; the field of the ``method`` object
    or of ``training``; the preset's for this data set; the default of the class. So ``"mg-gcn"``, ``MixGrained`` and
    ``MixGrained()`` train the same model, and ``MixGrained.paper(dataset)`` has every setting of the paper's method. A
    setting of training that is in ``settings`` and in ``training`` is an InputError.

    Args:
        dataset: with a split; PyG's ``Data`` is converted by :meth:`mggcn.Dataset.from_pyg`, see ``run.dataset``.
        method: a name from :data:`mggcn.methods.METHODS`, a class, or an object such as ``MixGrained(picks=8)``. None
            is ``mg-gcn``, or with ``warm_start`` the method and the settings of that run.
        training: how to train; every field counts as given, also those with their default.
        settings: values by name, of the method or of training.
        preset: ``default`` is our recipe for such features, ``paper`` what the method's paper uses on this data set.
        seed: of weights, order and picks; the same seed gives the same result.
        device: ``auto``, ``cpu``, ``cuda`` or a device.
        progress: is called with every epoch.
        checkpoint: the run folder to create, with checkpoints from which :func:`resume` continues an interrupted run;
            at the end it holds the run as :meth:`Run.save` writes it. None writes no files. Of several ranks, only the
            first writes. A setting that cannot be imported again, such as a ``lambda``, is an InputError.
        checkpoint_every: seconds between two checkpoints, at least; 0 writes one after every epoch.
        warm_start: a saved run, or its folder, whose weights and scaling of features the run starts with; features are
            matched as in :meth:`Run.predict`.
        direction: which neighbours the nodes of a ``Data`` have, see :meth:`mggcn.Dataset.from_pyg`; the graph of a
            Dataset has its own.
        members: for each recipe of a portfolio, at most four, what it changes in the settings; they are trained one
            after the other, and the best or a mean is selected. With the setting ``portfolio="auto"`` they are those
            of the method when None.
    """
    if direction is not None and isinstance(dataset, Dataset):
        raise InputError(f"direction: {dataset.name} has the direction {dataset.graph.direction!r} already")
    dataset = as_dataset(dataset, "fit", needs_split=True, direction=direction)
    if dataset.warnings != dataset.notes:  # notes were warned of when the data were read
        warnings.warn(f"{dataset.name}: {dataset.warnings[-1]}", DataWarning, stacklevel=2)
    ranks, origin = Ranks.current(), warm_start
    if isinstance(origin, str | Path):
        try:
            origin = load_run(origin)
        except InputError as error:
            loaded = f"warm_start=mggcn.load_run({str(warm_start)!r}, allow_import=True)"
            raise InputError(str(error).replace("allow it with allow_import=True", f"give {loaded}")) from None
    if origin is not None and method is None and training is None:
        record = origin.record
        method, settings, preset = record.method, {**record.settings, **(settings or {})}, "paper"
    plan = resolve(
        method or "mg-gcn",
        dataset,
        settings,
        training,
        preset=preset,
        seed=seed,
        device=choose_device(device),
        warm_start=origin.as_origin() if origin else None,
        members=members,
    )
    if unused := plan.unused_parts(dataset, origin.record if origin else None):
        warnings.warn(f"{dataset.name}: {unused}", DataWarning, stacklevel=2)
    if checkpoint is None:
        plan.check_ranks(ranks)
        return fit_plan(dataset, plan, progress, origin=origin, ranks=ranks)
    folder = RunFolder.create(Path(checkpoint), dataset, plan, origin, ranks=ranks)
    return folder.train(progress, checkpoint_every)


def resume(
    folder: str | Path,
    dataset: "Dataset | Data | None" = None,
    *,
    settings: Mapping[str, object] | None = None,
    progress: Progress | None = None,
    checkpoint_every: float = EVERY,
    root: Path | None = None,
    allow_import: bool = False,
) -> Run:
    """Continue a run that was interrupted; it ends as if it had not been. A finished run is only read.

    Args:
        folder: as :func:`fit` created it for ``checkpoint``.
        dataset: the same data, if it is neither a known data set nor a dataset folder.
        settings: other values of ``epochs`` or ``patience``; all others are those of the run.
        progress: is called with every epoch that is still to train.
        checkpoint_every: as in :func:`fit`.
        root: the folder in which named data sets are searched.
        allow_import: as in :func:`load_run`.
    """
    path, ranks = Path(folder), Ranks.current()
    if ranks.first(lambda: is_finished(path)):
        return load_run(path, allow_import=allow_import)
    data = None if dataset is None else as_dataset(dataset, "resume", needs_split=True)
    opened = RunFolder.open(path, data, settings, root=root, allow_import=allow_import, ranks=ranks)
    return opened.train(progress, checkpoint_every)


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
    members = record.portfolio or []
    for values in ({"method": record.method, **record.settings}, *(member.settings for member in members)):
        refuse_imports(path / RECORD, values, allow_import=allow_import)
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
        recipes = [plan.with_settings(member.settings) for member in members]
        portfolio = Plan.of_portfolio(recipes) if recipes else None
    except ValueError as error:  # an InputError is one
        raise InputError(f"{path / RECORD}: not a run record ({error})") from None
    others = [f"{MEMBERS}/{number}" for number in range(1, sum(member.selected for member in members))]
    of_others = {f"{name}/{RECORD}": name for name in others}
    for name in of_others.keys() - checksums.keys():
        raise InputError(f"{path / RECORD}: not a run record (it has no checksum of {name})")
    files = {
        name: _verified(path / (name if name in of_others else Path(name).name), checksum)
        for name, checksum in checksums.items()
    }
    if not {WEIGHTS, SPLIT} <= files.keys():
        raise InputError(f"{path / RECORD}: not a run record (it has no checksums of {WEIGHTS} and {SPLIT})")
    try:
        tensors = parse_tensors(files[WEIGHTS])
    except ValueError as error:
        raise InputError(f"{path / WEIGHTS}: cannot be read ({error})") from None
    inputs = plan.method.input_width(record.dataset["num_features"], record.edges)
    model = plan.method.model(inputs, len(record.dataset["classes"]), None)
    try:
        model.load_state_dict({name[6:]: tensor for name, tensor in tensors.items() if name.startswith("model.")})
    except RuntimeError:
        raise InputError(f"{path / WEIGHTS}: does not fit the model that {RECORD} describes") from None
    kind, width = record.settings["scaling"], record.dataset["num_features"]
    fitted = {f"scaler.{name}": torch.empty(width) for name in FITTED.get(kind, ())}
    with prefix_errors(path / WEIGHTS):
        expected = {f"model.{name}": tensor for name, tensor in model.state_dict().items()} | fitted
        check_tensors(tensors, expected, infinite=["scaler.deviation"])  # of a constant column
    scaler = Scaler(kind, **{name[7:]: tensors[name].numpy() for name in fitted})
    ids = read_fields(path / SPLIT, PARTS)
    for part, names in ids.items():
        if names.ndim != 1 or names.dtype.kind not in "iuUS":
            message = f"must be a vector of ids, not {names.dtype} of shape {names.shape}"
            raise InputError(f"{path / SPLIT}: {part}: {message}")
    split = SplitIds(tuple(ids[part] for part in PARTS))
    return Run(
        record,
        plan,
        model,
        scaler,
        path=path.resolve(),
        root=root,
        stored_split=split,
        portfolio=portfolio,
    ).with_others([load_run(path / name, allow_import=allow_import, root=root) for name in others])


def load_data(name: str, root: Path | None, ranks: Ranks, access: Access = AUTOMATIC) -> Dataset:
    """Load a data set on every rank; the first of a machine downloads or generates it, and the others map its files."""
    mapped = access if ranks.size == 1 else replace(access, mmap=True)
    return ranks.in_turn(lambda: load_with(mapped, name, root=root))


def is_finished(folder: Path) -> bool:
    """Whether a run folder has its record, which is written last."""
    return (folder / RECORD).is_file()


@dataclass(frozen=True, eq=False)
class RunFolder:
    """A folder with a run that is not finished; of several ranks, only the first reads and writes it."""

    path: Path
    dataset: Dataset
    plan: Plan
    origin: Run | None = None
    created: tuple[Path, ...] = ()  # to be removed if the run cannot start
    ranks: Ranks = ALONE

    @classmethod
    def create(
        cls,
        path: Path,
        dataset: Dataset,
        plan: Plan,
        origin: Run | None = None,
        *,
        numbered: bool = False,
        again: bool = False,
        ranks: Ranks = ALONE,
    ) -> "RunFolder":
        """Create the folder, which must not exist; ``numbered`` adds a number to its name if it does.

        With ``again``, a run that this command has left is continued: of the same configuration, and not finished.
        """
        plan.check_loadable()
        content = tomli_w.dumps(plan.config(dataset.path)).encode()

        def create() -> tuple[Path, tuple[Path, ...]]:
            if again and (left := _left(path, content)) is not None:
                return left, ()
            created = _new_folder(path, numbered=numbered)
            (created[0] / CHECKPOINT).mkdir()
            write_atomically(created[0] / CONFIG, content)
            return created[0], created

        plan.check_ranks(ranks)
        folder, created = ranks.first(create)
        return cls(folder, dataset, plan, origin, created if ranks.is_first else (), ranks)

    @classmethod
    def open(
        cls,
        path: Path,
        dataset: Dataset | None = None,
        changes: Mapping[str, object] | None = None,
        *,
        root: Path | None = None,
        access: Access = AUTOMATIC,
        allow_import: bool = False,
        ranks: Ranks = ALONE,
    ) -> "RunFolder":
        """Read the folder of a run that is not finished, and load its data set unless it is given.

        ``changes`` replace settings; a checkpoint accepts only other numbers of epochs, and another patience.
        """
        if not ranks.first((path / CONFIG).is_file):
            raise InputError(f"{path}: not a run folder ({CONFIG} is missing)")
        config = ranks.first(lambda: read_config(path / CONFIG, allow_import=allow_import))
        if config.dataset is None or config.method is None:
            raise InputError(f"{path / CONFIG}: names no data set or no method")
        for name in {*(changes or {})} - {*MAY_CHANGE}:
            raise InputError(f"{name}: a run is resumed with its own settings, except for {' and '.join(MAY_CHANGE)}")
        data = dataset or load_data(config.dataset, root, ranks, access)
        origin = load_run(config.warm_start, allow_import=allow_import) if config.warm_start else None
        plan = resolve(
            config.method,
            data,
            {**config.settings, **(changes or {})},
            preset=config.preset,
            seed=config.seed,
            device=choose_device(config.device),
            warm_start=origin.as_origin() if origin else None,
            members=config.members_but(changes or {}),
        )
        plan.check_ranks(ranks)
        return cls(path, data, plan, origin, ranks=ranks)

    def train(
        self,
        progress: Progress | None = None,
        every: float = EVERY,
        opened: Callable[[Checkpoints], None] | None = None,
    ) -> Run:
        """Train the run from its last checkpoint, or from the start, and write its record.

        ``every`` is in seconds; ``opened`` is called with the checkpoints, before anything else.
        """
        run = None
        try:
            identity = self.plan.identity_to_resume
            with Checkpoints(self.path / CHECKPOINT, identity, every, self.ranks) as checkpoints:
                if opened is not None:
                    opened(checkpoints)
                run = fit_plan(self.dataset, self.plan, progress, checkpoints, self.origin, self.ranks)
                for name, content in run.files().items() if self.ranks.is_first else ():
                    (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                    write_atomically(self.path / name, content)
                checkpoints.remove()
        except InputError:
            if run is None and self.created:
                shutil.rmtree(self.path)
                with suppress(OSError):  # another run is in it
                    for parent in self.created[1:]:
                        parent.rmdir()
            raise
        return run.at(self.path)


@contextmanager
def continued(folder: Path, plan: Plan, progress: Progress, every: float = EVERY) -> Iterator[Checkpoints | None]:
    """Open the checkpoints of a run, for :func:`fit_plan`; only an interrupt leaves them behind.

    Checkpoints that cannot be used are left out with a warning. If another process trains the same run, there are none.
    ``progress`` is called with the epochs from before an interrupt.
    """
    checkpoints = Checkpoints(folder, plan.identity_to_resume, every)
    try:
        checkpoints.open()
    except BusyError:
        yield None
        return
    except InputError as error:
        warnings.warn(f"{error}; the run starts again", InputWarning, stacklevel=3)
        shutil.rmtree(folder)
        checkpoints.open()
    try:
        with checkpoints:
            for epoch in checkpoints.state.fitted.curve if checkpoints.state else ():
                progress.epoch(epoch)
            yield checkpoints
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if isinstance(error, InputError) or not any(folder.rglob("*.json")):
            checkpoints.remove()
        raise
    checkpoints.remove()


def _numbered(path: Path) -> Iterator[Path]:
    """A folder, and the others of its name."""
    yield path
    yield from (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))


def _left(path: Path, config: bytes) -> Path | None:
    """The newest folder of this name with an unfinished run of this configuration, which no process trains."""
    others = [folder for folder in itertools.takewhile(Path.exists, _numbered(path)) if is_unfinished(folder)]
    if not others or regular.read(others[-1] / CONFIG) != config:
        return None
    with suppress(BusyError):
        lock(others[-1] / CHECKPOINT).close()
        return others[-1]
    return None


def _new_folder(path: Path, *, numbered: bool) -> tuple[Path, ...]:
    """Create a folder that does not exist; return all folders that were created, this one first."""
    missing = [parent for parent in path.parents if not parent.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path.parent, depth=2)
    new = next(folder for folder in _numbered(path) if not (numbered and folder.exists()))
    try:
        new.mkdir()
    except FileExistsError:
        if numbered:  # another process was faster
            return _new_folder(path, numbered=True)
        raise InputError(f"{path}: already exists") from None
    return (new, *missing)


def _verified(path: Path, checksum: str) -> bytes:
    """The content of a file; InputError if it is not as it was when the record was written."""
    try:
        content = regular.read(path)
    except FileNotFoundError:
        raise InputError(f"{path}: missing, though {RECORD} lists it") from None
    if hashlib.sha256(content).hexdigest() != checksum:
        raise InputError(f"{path}: sha256 differs from {RECORD}; the file is damaged or was changed")
    return content
