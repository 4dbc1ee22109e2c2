"""Checkpoints: the state of training on disk, in two generations, so that a killed run can continue.

A generation is ``EPOCH.safetensors`` and ``EPOCH.json``, which is written last and holds everything else of a
:class:`State`, with the checksums of both files.
"""

import fcntl
import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Self
from warnings import warn

import msgspec
import torch
from msgspec import Meta
from safetensors.torch import save as save_tensors
from torch import Tensor

from mggcn._io import regular
from mggcn._io.files import checksummed, parse_json, parse_tensors, typed, without_checksum, write_atomically
from mggcn._io.temporary import remove_abandoned
from mggcn.errors import InputError, InputWarning
from mggcn.training._metrics import Scores
from mggcn.training._ranks import ALONE, Identity, Ranks, difference
from mggcn.training._record import Epoch

EVERY = 10.0
"""Seconds between two checkpoints, at least."""

_GENERATIONS = 2
_LOCK = "lock"
_SHOWN = 60  # characters of a name
_COPY_EVERY = 0.2  # seconds; what an interrupt can lose
_SHARE = 0.01  # of the time that writing may take

Tensors = dict[str, Tensor]
_Natural = Annotated[int, Meta(ge=0, le=2**53)]


class BusyError(InputError):
    """Another process trains the run."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result of training: the curve, the best epoch and its validation scores.

    ``first_peak`` is the peak memory of the first epoch; None if nothing is trained.
    """

    curve: list[Epoch] = field(default_factory=list)
    best_epoch: _Natural = 0
    val: Scores = field(default_factory=lambda: Scores(math.inf, 0.0, 0.0))
    first_peak: _Natural | None = None


@dataclass(frozen=True, eq=False)
class State:
    """Training after an epoch.

    Attributes:
        fitted: the curve so far, and the best epoch in it.
        tensors: by name: weights and buffers of the model, Adam's moments and clock, the average of the weights, the
            best epoch's weights, the states of torch's generators, and the sizes that a sampler has fixed.
        seconds: spent on the run so far.
        resumed: how often the run was resumed before.
    """

    fitted: Fitted
    tensors: Tensors
    seconds: float = 0.0
    resumed: int = 0

    @property
    def epoch(self) -> int:
        """The number of the last finished epoch."""
        return len(self.fitted.curve)


class _Generation(msgspec.Struct, forbid_unknown_fields=True):
    """The content of ``EPOCH.json``."""

    identity: dict[str, Any]
    environment: dict[str, Any]
    fitted: Fitted
    seconds: Annotated[float, Meta(ge=0, le=1e12)]
    resumed: _Natural
    tensors: str


class Checkpoints:
    """The checkpoints of one run. Used in a ``with`` block, which locks the folder; an exception writes the last state.

    Args:
        folder: created if it is missing.
        identity: what must not change between the start of a run and its end, ready for JSON.
        every: seconds between two checkpoints, at least; 0 writes one after every epoch. With other values, checkpoints
            that take long are written less often, so that they take less than a hundredth of the time.
        ranks: that train together; the first reads and writes for all of them.
        keeps_end: write a checkpoint at the end of training, too, from which the run only has to be tested.

    Attributes:
        state: the one to continue from; None at the start of a run.
    """

    def __init__(
        self,
        folder: Path,
        identity: Identity,
        every: float = EVERY,
        ranks: Ranks = ALONE,
        *,
        keeps_end: bool = False,
    ) -> None:
        if not every >= 0:
            raise InputError(f"checkpoint_every: {every:g} seconds is less than 0")
        self.folder, self._ranks, self._keeps_end = folder, ranks, keeps_end
        self.state: State | None = None
        self._latest: State | None = None
        self._identity, self._every, self.write_seconds = json.loads(json.dumps(identity)), every, 0.0
        self._held, self._is_open = ExitStack(), False

    def open(self) -> Self:
        """Lock the folder and read the state to continue from; the ``with`` block that follows closes it."""
        self.state = self._ranks.first(self._lock_and_read)
        self._is_open = True
        self._opened = self._copied = self._written = time.perf_counter()
        return self

    def _lock_and_read(self) -> State | None:
        with ExitStack() as held:
            held.enter_context(lock(self.folder))
            remove_abandoned(self.folder)
            state = self._read()
            self._held = held.pop_all()
            return state

    def __enter__(self) -> Self:
        return self if self._is_open else self.open()

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._is_open = False
        with self._held:
            if error is not None and not isinstance(error, InputError):
                self.flush()

    def of_member(self, number: int, identity: Identity) -> "Checkpoints":
        """The checkpoints of a recipe of the run's portfolio, in a folder inside this one."""
        return Checkpoints(self.folder / str(number), identity, self._every, self._ranks, keeps_end=True)

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

    def training_ended(self, capture: Callable[[], State]) -> None:
        """Write the state after the last epoch, if it is kept."""
        if self._keeps_end and self._ranks.is_first:
            self._latest = capture()
            self.flush()

    def remove(self) -> None:
        """Remove the folder, when the run is finished."""
        self._latest = None
        if self._ranks.is_first:
            shutil.rmtree(self.folder, ignore_errors=True)

    def flush(self) -> None:
        """Write the last state that was copied, if it is not on disk."""
        if self._latest is not None:
            started = time.perf_counter()
            self._write(self._latest)
            self._latest, self._written = None, time.perf_counter()
            self.write_seconds = self._written - started

    def _write(self, state: State) -> None:
        path = self.folder / f"{state.epoch:06d}.json"
        form = torch.contiguous_format
        tensors = save_tensors({name: value.cpu().clone(memory_format=form) for name, value in state.tensors.items()})
        checksum, environment = hashlib.sha256(tensors).hexdigest(), self._environment()
        written = _Generation(self._identity, environment, state.fitted, state.seconds, self.resumed, checksum)
        write_atomically(path.with_suffix(".safetensors"), tensors)
        write_atomically(path, checksummed(json.dumps(msgspec.to_builtins(written))))
        for old in sorted(self.folder.glob("*.json"))[:-_GENERATIONS]:
            _unlink(old)

    def _read(self) -> State | None:
        """The newest state that is whole; those that are damaged are removed if there is another."""
        damaged: list[tuple[Path, str]] = []
        for path in sorted(self.folder.glob("*.json"), reverse=True):
            try:
                read, tensors = _parse(path)
            except (OSError, ValueError) as error:
                damaged.append((path, " ".join(str(error).split())))
                continue
            but, warnings = "; it was started with", []
            if changed := difference(read.identity, self._identity, but):
                raise InputError(f"{self.folder.parent}: cannot be resumed with {changed}")
            if changed := difference(read.environment, self._environment(), but):
                warnings += [f"{self.folder.parent}: resumed with {changed}; results may differ in their last digits"]
            state = State(read.fitted, tensors, read.seconds, read.resumed)
            for other, problem in damaged:
                warnings += [f"{other}: damaged ({problem}), so the checkpoint of epoch {state.epoch} is used"]
                _unlink(other)
            for warning in warnings:
                warn(warning, InputWarning, stacklevel=2)
            return state
        if damaged:
            path, problem = damaged[0]
            what = "both checkpoints are" if len(damaged) > 1 else "its only checkpoint is"
            raise InputError(f"{path.parent}: {what} damaged ({path.name}: {problem})")
        return None

    def _environment(self) -> dict[str, Any]:
        """What may change the last digits of a result."""
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else None
        several = {"ranks": self._ranks.size} if self._ranks.size > 1 else {}
        return {"torch": str(torch.__version__), "torch_threads": torch.get_num_threads(), "GPU": device, **several}


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


def _parse(path: Path) -> tuple[_Generation, Tensors]:
    """Read a generation; raises OSError or ValueError if it is not what was written."""
    read = typed(_Generation, parse_json(without_checksum(regular.read(path))))
    curve, best = read.fitted.curve, read.fitted.best_epoch
    if [epoch.number for epoch in curve] != list(range(1, int(path.stem) + 1)):
        raise ValueError(f"field fitted.curve: its epochs are not numbered from 1 to {int(path.stem)}")
    if any(min(epoch.train_seconds, epoch.eval_seconds) < 0 for epoch in curve):
        raise ValueError("field fitted.curve: an epoch of less than 0 seconds")
    if best > len(curve):
        raise ValueError(f"field fitted.best_epoch: {best} of {len(curve)} epochs")
    tensors = regular.read(path.with_suffix(".safetensors"))
    if hashlib.sha256(tensors).hexdigest() != read.tensors:
        raise ValueError(f"wrong checksum of {path.stem}.safetensors")
    return read, parse_tensors(tensors)


def check_tensors(
    tensors: Tensors, expected: Tensors, growing: Collection[str] = (), infinite: Collection[str] = ()
) -> None:
    """Raise InputError unless tensors have the names, types and shapes of those expected, and finite numbers.

    The first dimension of those that are ``growing`` may be another; those that are ``infinite`` may hold infinity.
    """
    for name in sorted(tensors.keys() | expected.keys()):
        found, wanted = (_described(side.get(name), int(name in growing)) for side in (tensors, expected))
        if found != wanted:
            raise InputError(f"{name[:_SHOWN]} is {found}, not {wanted}")
        values = tensors[name]
        if not (values.isfinite() | (values.isposinf() & (name in infinite))).all():
            raise InputError(f"{name} holds a number that is not finite")


def _described(tensor: Tensor | None, first: int) -> str:
    if tensor is None:
        return "missing"
    sizes = ["…"] * min(first, tensor.dim()) + [str(size) for size in tensor.shape[first:]]
    return f"{tensor.dtype} [{', '.join(sizes)}]"


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_suffix(".safetensors").unlink(missing_ok=True)
