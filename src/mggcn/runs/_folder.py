"""The folder of a run while it is trained: ``config.toml`` from the start, checkpoints now and then, the record last.

``record.json`` marks a run as finished; its checkpoints are then removed. The runs of an experiment or a search have no
folder of their own, only checkpoints.
"""

import itertools
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import tomli_w

from mggcn._io import regular
from mggcn._io.files import write_atomically
from mggcn._io.mapping import AUTOMATIC, Access
from mggcn._io.temporary import remove_abandoned
from mggcn.data import Dataset
from mggcn.errors import InputError, InputWarning
from mggcn.runs._fitting import fit_plan
from mggcn.runs._loading import load_data
from mggcn.runs._plan import MAY_CHANGE, Config, Plan, read_config, resolve
from mggcn.runs._run import Run
from mggcn.runs._warm_start import WarmStart
from mggcn.training import (
    ALONE,
    CHECKPOINT,
    CONFIG,
    EVERY,
    BusyError,
    Checkpoints,
    Progress,
    Ranks,
    choose_device,
    is_unfinished,
    lock,
)


@dataclass(frozen=True, eq=False)
class RunFolder:
    """A folder with a run that is not finished.

    Attributes:
        path: of the folder.
        dataset: with a split.
        plan: the method with every setting.
        origin: the run whose weights it starts with.
        created: the folders that were created for it, to be removed if the run cannot start.
        ranks: that train it; only the first reads and writes the folder.
    """

    path: Path
    dataset: Dataset
    plan: Plan
    origin: WarmStart | None = None
    created: tuple[Path, ...] = field(default=(), repr=False)
    ranks: Ranks = ALONE

    @classmethod
    def create(
        cls,
        path: Path,
        dataset: Dataset,
        plan: Plan,
        origin: WarmStart | None = None,
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
            claimed, created = _claim(path, numbered=numbered)
            (claimed / CHECKPOINT).mkdir()
            write_atomically(claimed / CONFIG, content)
            return claimed, created

        plan.check_ranks(ranks)
        claimed, created = ranks.first(create)
        return cls(claimed, dataset, plan, origin, created if ranks.is_first else (), ranks)

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
        config = ranks.first(lambda: _read_config(path, allow_import=allow_import))
        if config.dataset is None or config.method is None:
            raise InputError(f"{path / CONFIG}: names no data set or no method")
        for name in changes or {}:
            if name not in MAY_CHANGE:
                raise InputError(
                    f"{name}: a run is resumed with its own settings, except for {' and '.join(MAY_CHANGE)}"
                )
        device = choose_device(config.device)
        data = dataset or load_data(config.dataset, root, ranks, access)
        origin = WarmStart.of(config.warm_start, allow_import=allow_import) if config.warm_start else None
        plan = resolve(
            config.method,
            data,
            {**config.settings, **(changes or {})},
            preset=config.preset,
            seed=config.seed,
            device=device,
            warm_start=origin.describe() if origin else None,
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

        Args:
            progress: is called with every epoch.
            every: seconds between two checkpoints, at least.
            opened: is called with the checkpoints, before anything else.
        """
        try:
            own = self.checkpoints(every)
        except InputError:
            self._discard()
            raise
        with own as checkpoints:
            if opened is not None:
                opened(checkpoints)
            try:
                run = fit_plan(self.dataset, self.plan, progress, checkpoints, self.origin, self.ranks)
            except InputError:
                self._discard()
                raise
            for name, content in run.files().items() if self.ranks.is_first else ():
                write_atomically(self.path / name, content)
            checkpoints.remove()
        return replace(run, path=self.path.resolve())

    def checkpoints(self, every: float = EVERY) -> Checkpoints:
        """The run's checkpoints, which are opened by a ``with`` block."""
        return Checkpoints(self.path / CHECKPOINT, self.plan.identity_to_resume, every, self.ranks)

    def _discard(self) -> None:
        """Remove what :meth:`create` created."""
        if self.created:
            shutil.rmtree(self.path)
        for parent in self.created[1:]:
            try:
                parent.rmdir()
            except OSError:
                return  # another run is in it


@contextmanager
def continued(
    folder: Path,
    plan: Plan,
    progress: Progress,
    every: float = EVERY,
) -> Iterator[Checkpoints | None]:
    """Open the checkpoints of a run, for :func:`fit_plan`; only an interrupt leaves them behind.

    Checkpoints that cannot be used are left out with a warning. If another process trains the same run, there are none.

    Args:
        folder: of the checkpoints.
        plan: of the run.
        progress: is called with the epochs from before an interrupt.
        every: seconds between two checkpoints, at least.
    """
    try:
        opened = Checkpoints(folder, plan.identity_to_resume, every).open()
    except BusyError:
        yield None
        return
    except InputError as error:
        warnings.warn(f"{error}; the run starts again", InputWarning, stacklevel=3)
        shutil.rmtree(folder)
        opened = Checkpoints(folder, plan.identity_to_resume, every).open()
    try:
        with opened as checkpoints:
            for epoch in checkpoints.state.fitted.curve if checkpoints.state else ():
                progress.epoch(epoch)
            yield checkpoints
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if isinstance(error, InputError) or not any(folder.glob("*.json")):
            opened.remove()
        raise
    opened.remove()


def _read_config(folder: Path, *, allow_import: bool) -> Config:
    if not (folder / CONFIG).is_file():
        raise InputError(f"{folder}: not a run folder ({CONFIG} is missing)")
    return read_config(folder / CONFIG, allow_import=allow_import)


def _left(path: Path, config: bytes) -> Path | None:
    """The newest folder of this name with an unfinished run of this configuration, which no process trains."""
    for number in itertools.count(2):
        numbered = path.with_name(f"{path.name}-{number}")
        if not numbered.exists():
            break
        path = numbered if is_unfinished(numbered) else path
    if not is_unfinished(path) or regular.read(path / CONFIG) != config:
        return None
    try:
        lock(path / CHECKPOINT).close()
    except BusyError:
        return None
    return path


def _claim(path: Path, *, numbered: bool) -> tuple[Path, tuple[Path, ...]]:
    """Create a folder that does not exist; return it, and all folders that were created, the innermost first."""
    missing = [parent for parent in path.parents if not parent.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path.parent, depth=2)
    names = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    for candidate in itertools.chain([path], names):
        try:
            candidate.mkdir()
        except FileExistsError:
            if not numbered:
                raise InputError(f"{path}: already exists") from None
        else:
            return candidate, (candidate, *missing)
    raise AssertionError("there is always another number")
