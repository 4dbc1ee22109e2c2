"""Temporary files and folders, which are hidden until they get their name, and locks of names.

A temporary file is named ``.NAME.TOKEN.mggcn-tmp`` and locked while its writer lives. A lock file,
``.NAME.mggcn-tmp``, is a locked file without content that reserves NAME for one writer. Readers ignore both; whoever
writes into a folder removes those whose writer is gone. Locks end with their process, however it ends.
"""

import errno
import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mggcn._io.regular import open_handle
from mggcn.errors import InputError

_SUFFIX = ".mggcn-tmp"
_REPLACED = f".old{_SUFFIX}"  # a folder between the two renames of a replacement
_TRIES = 1_000  # a folder such as /proc is there, and no file can be created in it
_LOCKING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # it may be a folder, and a pipe is none of ours
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2

_handles: dict[Path, set[int]] = {}  # of temporary files, from before they are created until they are removed
_registering = threading.Lock()
_locked: set[tuple[int, Path]] = set()


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """Yield an empty file beside ``target``, which is removed at the end unless it was renamed."""
    remove_abandoned(target.parent)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    with _held(lambda: _hidden(target), lambda temporary: os.open(temporary, flags, 0o644)) as temporary:
        yield temporary


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside ``target``, which is removed at the end unless it was renamed."""
    with _parent_of(target):
        remove_abandoned(target.parent)
        with _held(lambda: _hidden(target), _created) as temporary:
            yield temporary


@contextmanager
def locked_name(target: Path, *, wait: bool = False) -> Iterator[None]:
    """Reserve a name for this thread; raise InputError if another writer has it, or wait for its end."""
    target = target.absolute()
    mine = (threading.get_ident(), target)
    if mine in _locked:
        yield
        return
    lock_file = target.with_name(f".{target.name}{_SUFFIX}")

    def refuse() -> None:
        if not wait and lock_file.exists():
            raise InputError(f"{target}: another command is writing it")

    with name_errors(target), _parent_of(target):
        remove_abandoned(target.parent)
        with _held(lambda: lock_file, _opened, wait=wait, failed=refuse):
            _locked.add(mine)
            try:
                yield
            finally:
                _locked.discard(mine)


def exchange(temporary: Path, target: Path) -> None:
    """Exchange the names of a temporary and an existing folder; at no moment is there no folder ``target``.

    Where the system cannot exchange names, :func:`recover` undoes a replacement that was killed half-way.
    """
    if _exchange(temporary, target):
        return
    replaced = _replaced(target)
    handle = os.open(target, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        target.rename(replaced)
        temporary.rename(target)
        replaced.rename(temporary)
    finally:
        os.close(handle)


def recover(target: Path) -> None:
    """Give a folder its name back if a replacement of it was killed half-way."""
    with suppress(OSError):
        if not target.exists() and _replaced(target).exists():
            remove_abandoned(target.parent)


def remove_abandoned(folder: Path, depth: int = 0) -> None:
    """Remove the temporary files in a folder whose writer is gone, and those in folders inside it down to a depth."""
    try:
        inside = list(folder.iterdir())
    except OSError:
        return
    for path in inside if depth else ():
        if path.is_dir() and not is_temporary(path.name):
            remove_abandoned(path, depth - 1)
    for temporary in (path for path in inside if is_temporary(path.name)):
        with suppress(OSError):
            handle = os.open(temporary, _LOCKING)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                target = temporary.with_name(temporary.name[1:].removesuffix(_REPLACED))
                if not _is_at(handle, temporary):
                    continue  # its writer has just removed it, and another may have the name
                if temporary.name.endswith(_REPLACED) and not target.exists():
                    temporary.rename(target)
                else:
                    _remove(temporary)
            finally:
                os.close(handle)


@contextmanager
def name_errors(target: Path) -> Iterator[None]:
    """Name ``target`` in every OSError of the block that names no file, or a temporary one."""
    try:
        yield
    except OSError as error:
        if not error.filename or _SUFFIX in str(error.filename):
            raise OSError(error.errno, error.strerror or str(error), str(target)) from None
        raise


def remove_own() -> None:
    """Remove the temporary files of this process, which is about to end without cleanup; those of others are locked."""
    for temporary, handles in list(_handles.items()):
        with suppress(OSError):
            for handle in (*handles, os.open(temporary, _LOCKING)):
                with suppress(OSError):
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(temporary)


def is_temporary(name: str) -> bool:
    """Whether a file or folder of this name is temporary or a lock."""
    return name.startswith(".") and name.endswith(_SUFFIX)


@contextmanager
def _parent_of(target: Path) -> Iterator[None]:
    """Create the folder of ``target``; what was created for it is removed at the end if it is empty."""
    missing = [parent for parent in target.absolute().parents if not parent.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for parent in missing:
            with suppress(OSError):
                parent.rmdir()


def _hidden(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.urandom(4).hex()}{_SUFFIX}")


def _replaced(target: Path) -> Path:
    return target.with_name(f".{target.name}{_REPLACED}")


def _opened(lock_file: Path) -> int:
    """A lock file; its folder is created again if a writer that failed has just removed it."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            return open_handle(lock_file, os.O_RDWR | os.O_CREAT)
        lock_file.parent.mkdir(parents=True, exist_ok=True)
    return open_handle(lock_file, os.O_RDWR | os.O_CREAT)


def _created(folder: Path) -> int:
    """A new temporary folder; created again if another writer takes it for abandoned before it is locked."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return os.open(folder, os.O_RDONLY)


@contextmanager
def _held(
    name: Callable[[], Path],
    create: Callable[[Path], int],
    *,
    wait: bool = False,
    failed: Callable[[], None] = lambda: None,
) -> Iterator[Path]:
    """Create a temporary file, lock it until the end of the block, and remove it.

    ``name`` returns its path and ``create`` its descriptor. If another process has it, ``wait`` for that, or call
    ``failed`` and try again.
    """
    while (handle := _lock(temporary := name(), create, wait)) is None:
        failed()
    try:
        yield temporary
    finally:
        _remove(temporary)
        _forget(temporary, handle)


def _lock(temporary: Path, create: Callable[[Path], int], wait: bool) -> int | None:
    """Create and lock a temporary file; None if another process has locked or removed it meanwhile."""
    _handles.setdefault(temporary, set())  # before it is created, so that a signal at any moment finds it
    handle = create(temporary)
    with _registering:
        _handles.setdefault(temporary, set()).add(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        is_there = _is_at(handle, temporary)
    except (BlockingIOError, FileNotFoundError):
        is_there = False
    except OSError:  # a file system without locks, on which nothing is removed either
        is_there = True
    if is_there:
        return handle
    _forget(temporary, handle)
    return None


def _is_at(handle: int, path: Path) -> bool:
    return os.path.samestat(os.fstat(handle), path.stat())


def _forget(temporary: Path, handle: int) -> None:
    with _registering:  # while the handle is open, so that no other has its number
        _handles[temporary].discard(handle)
        if not _handles[temporary]:
            del _handles[temporary]
    with suppress(OSError):
        os.close(handle)


def _remove(temporary: Path) -> None:
    if temporary.is_dir():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names at once; False if the system or the file system cannot."""
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    problem = ctypes.get_errno()
    if problem in (errno.ENOSYS, errno.EINVAL, errno.EPERM):
        return False
    raise OSError(problem, os.strerror(problem), str(other))
