"""Checkpoints: the state of training on disk, in two generations, so that a killed run can continue.

A generation is ``EPOCH.safetensors`` (see :class:`mggcn.training._state.State`) and ``EPOCH.json``, which is written
last and holds everything else, with the checksums of both files.
"""

import fcntl
import hashlib
import json
import shutil
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, BinaryIO, Literal, Self

import msgspec
import torch
from msgspec import Meta
from safetensors.torch import save as save_tensors

from mggcn._io import regular
from mggcn._io.files import parse_json, parse_tensors, sealed, typed, unsealed, write_atomically
from mggcn._io.temporary import remove_abandoned
from mggcn.errors import InputError, InputWarning
from mggcn.training._metrics import Scores
from mggcn.training._ranks import ALONE, Identity, Ranks, difference
from mggcn.training._record import Epoch
from mggcn.training._state import Fitted, State

EVERY = 10.0
"""Seconds between two checkpoints, at least."""

_FORMAT = 1
_GENERATIONS = 2
_LOCK = "lock"
_COPY_EVERY = 0.2  # seconds; what an interrupt can lose
_SHARE = 0.01  # of the time that writing may take


_Natural = Annotated[int, Meta(ge=0, le=2**53)]


class BusyError(InputError):
    """Another process trains the run."""


class _Generation(msgspec.Struct, forbid_unknown_fields=True):
    """The content of ``EPOCH.json``."""

    format: Literal[1]
    identity: dict[str, Any]
    environment: dict[str, Any]
    epoch: _Natural
    seconds: Annotated[float, Meta(ge=0, le=1e12)]
    resumed: _Natural
    best_epoch: _Natural
    val: Scores
    first_peak: _Natural | None
    capacities: list[tuple[_Natural, _Natural]]
    curve: list[Epoch]
    tensors: str

    def check(self, name: str) -> None:
        """Raise ValueError if fields contradict each other, or the name of the file."""
        if not len(self.curve) == self.epoch == int(name):
            raise ValueError("another epoch than its name")
        if [epoch.number for epoch in self.curve] != list(range(1, self.epoch + 1)):
            raise ValueError("field curve: its epochs are not numbered from 1")
        if any(min(epoch.train_seconds, epoch.eval_seconds) < 0 for epoch in self.curve):
            raise ValueError("field curve: an epoch of less than 0 seconds")
        if self.best_epoch > self.epoch:
            raise ValueError(f"field best_epoch: {self.best_epoch} of {self.epoch} epochs")


class Checkpoints:
    """The checkpoints of one run. Used in a ``with`` block, which locks the folder; an exception writes the last state.

    Args:
        folder: created if it is missing.
        identity: what must not change between the start of a run and its end, ready for JSON.
        every: seconds between two checkpoints, at least; 0 writes one after every epoch. With other values, checkpoints
            that take long are written less often, so that they take less than a hundredth of the time.
        ranks: that train together; the first reads and writes for all of them.

    Attributes:
        state: the one to continue from; None at the start of a run.
    """

    def __init__(self, folder: Path, identity: Identity, every: float = EVERY, ranks: Ranks = ALONE) -> None:
        if not every >= 0:
            raise InputError(f"checkpoint_every: {every:g} seconds is less than 0")
        self.folder, self._ranks = folder, ranks
        self.state: State | None = None
        self.write_seconds = 0.0
        self._identity, self._every = json.loads(json.dumps(identity)), every
        self._latest: State | None = None
        self._writing = threading.Lock()
        self._lock: BinaryIO | None = None
        self._is_open = False
        self._opened = self._copied = self._written = time.perf_counter()

    def open(self) -> Self:
        """Lock the folder and read the state to continue from; the ``with`` block that follows closes it."""
        self.state = self._ranks.first(self._lock_and_read)
        self._is_open = True
        self._opened = self._copied = self._written = time.perf_counter()
        return self

    def _lock_and_read(self) -> State | None:
        self._lock = lock(self.folder)
        try:
            remove_abandoned(self.folder)
            return self._read()
        except BaseException:
            self._lock.close()
            self._lock = None
            raise

    def __enter__(self) -> Self:
        return self if self._is_open else self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None and not isinstance(error, InputError):
                self.flush()
        finally:
            self._is_open = False
            if self._lock is not None:
                self._lock.close()
                self._lock = None

    @property
    def resumed(self) -> int:
        """How often the run was resumed from a checkpoint."""
        return self.state.resumed + 1 if self.state else 0

    @property
    def seconds(self) -> float:
        """The time spent on the run, also before it was resumed."""
        return (self.state.seconds if self.state else 0.0) + time.perf_counter() - self._opened

    def epoch_ended(self, capture: Callable[[], State]) -> None:
        """Copy the state in memory now and then, and write it if the last checkpoint is old enough."""
        if not self._ranks.is_first:
            return
        now = time.perf_counter()
        wait = max(self._every, self.write_seconds / _SHARE) if self._every else 0.0
        is_due = now - self._written >= wait
        if is_due or now - self._copied >= _COPY_EVERY:
            self._latest, self._copied = capture(), now
        if is_due:
            self.flush()

    def remove(self) -> None:
        """Remove the folder, when the run is finished."""
        self._latest = None
        if self._ranks.is_first:
            shutil.rmtree(self.folder, ignore_errors=True)

    def flush(self) -> None:
        """Write the last state that was copied, if it is not on disk; other threads may do the same."""
        with self._writing:
            if self._latest is None:
                return
            started = time.perf_counter()
            self._write(self._latest)
            self._latest, self._written = None, time.perf_counter()
            self.write_seconds = self._written - started

    def _write(self, state: State) -> None:
        path, fitted = self._path(state.epoch), state.fitted
        copied = {
            name: value.cpu().clone(memory_format=torch.contiguous_format) for name, value in state.tensors.items()
        }
        tensors = save_tensors(copied)
        values = {
            "format": _FORMAT,
            "identity": self._identity,
            "environment": self._environment(),
            "epoch": state.epoch,
            "seconds": state.seconds,
            "resumed": self.resumed,
            "best_epoch": fitted.best_epoch,
            "val": asdict(fitted.val),
            "first_peak": fitted.first_peak,
            "capacities": list(state.capacities.items()),
            "curve": [asdict(epoch) for epoch in fitted.curve],
            "tensors": hashlib.sha256(tensors).hexdigest(),
        }
        write_atomically(path.with_suffix(".safetensors"), tensors)
        write_atomically(path, sealed(json.dumps(values)))
        for old in sorted(self.folder.glob("*.json"))[:-_GENERATIONS]:
            _unlink(old)

    def _read(self) -> State | None:
        """The newest state that is whole; those that are damaged are removed if there is another."""
        paths = sorted(self.folder.glob("*.json"), reverse=True)
        damaged: list[tuple[Path, str]] = []
        for path in paths:
            try:
                generation, state = _parse(path)
            except (OSError, ValueError) as error:
                damaged.append((path, " ".join(str(error).split())))
                continue
            self._check(generation.identity, generation.environment)
            for other, problem in damaged:
                _warn(f"{other}: damaged ({problem}), so the checkpoint of epoch {state.epoch} is used")
                _unlink(other)
            return state
        if damaged:
            path, problem = damaged[0]
            what = "both checkpoints are" if len(damaged) > 1 else "its only checkpoint is"
            raise InputError(f"{path.parent}: {what} damaged ({path.name}: {problem})")
        return None

    def _check(self, identity: Identity, environment: Identity) -> None:
        if changed := _change(identity, self._identity):
            raise InputError(f"{self.folder.parent}: cannot be resumed with {changed}")
        if changed := _change(environment, self._environment()):
            _warn(f"{self.folder.parent}: resumed with {changed}; results may differ in their last digits")

    def _environment(self) -> dict[str, Any]:
        """What may change the last digits of a result."""
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else None
        several = {"ranks": self._ranks.size} if self._ranks.size > 1 else {}
        return {"torch": torch.__version__, "torch_threads": torch.get_num_threads(), "GPU": device, **several}

    def _path(self, epoch: int) -> Path:
        return self.folder / f"{epoch:06d}.json"


def lock(folder: Path) -> BinaryIO:
    """Create and lock the folder of a run's checkpoints until the file that is returned is closed."""
    folder.mkdir(parents=True, exist_ok=True)
    file = regular.open_to_append(folder / _LOCK)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise BusyError(f"{folder.parent}: open in another process, which trains this run") from None
    return file


def _parse(path: Path) -> tuple[_Generation, State]:
    """Read a generation; raises OSError or ValueError if it is not what was written."""
    content, is_sealed = unsealed(regular.read(path))
    if not is_sealed:
        raise ValueError("its checksum is missing")
    read = typed(_Generation, parse_json(content))
    read.check(path.stem)
    tensors = regular.read(path.with_suffix(".safetensors"))
    if hashlib.sha256(tensors).hexdigest() != read.tensors:
        raise ValueError(f"wrong checksum of {path.stem}.safetensors")
    fitted = Fitted(read.curve, read.best_epoch, read.val, read.first_peak)
    return read, State(fitted, parse_tensors(tensors), dict(read.capacities), read.seconds, read.resumed)


def _change(old: Identity, new: Identity) -> str:
    """The first field in which two identities differ, with both values; empty if there is none."""
    found = difference(old, new)
    return f"{found[0]} {found[2]}; it was started with {found[1]}" if found else ""


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_suffix(".safetensors").unlink(missing_ok=True)


def _warn(message: str) -> None:
    warnings.warn(message, InputWarning, stacklevel=2)
