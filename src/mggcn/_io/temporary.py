"""Drafts: hidden files and folders that are written before they get their name, and claims of names.

A draft is named ``.NAME.TOKEN.mggcn-draft`` and locked while its writer lives. A claim, ``.NAME.mggcn-draft``, is a
locked file without content that reserves NAME for one writer. Readers ignore both; whoever writes into a folder removes
those whose writer is gone. Locks end with their process, however it ends.
"""

import errno
import fcntl
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mggcn._io.regular import open_handle
from mggcn.errors import InputError

_SUFFIX = ".mggcn-draft"
_REPLACED = f".old{_SUFFIX}"  # a folder between the two renames of a replacement
_TRIES = 1_000  # a folder such as /proc is there, and no file can be created in it
_LOCKING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a draft may be a folder, and a pipe is none of ours
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2

_handles: dict[Path, set[int]] = {}  # of drafts, from before they are created until they are removed
_registering = threading.Lock()
_open: dict[Path, int] = {}
_claims: set[tuple[int, Path]] = set()


@contextmanager
def draft_file(target: Path) -> Iterator[Path]:
    """Yield an empty file beside ``target``, which is removed at the end unless it was renamed."""
    remove_abandoned(target.parent)
    while not _lock(draft := _registered(_name(target)), os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)):
        continue
    try:
        yield draft
    finally:
        _unlock(draft)


@contextmanager
def draft_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside ``target``, which is removed at the end unless it was renamed."""
    with _parent_of(target):
        remove_abandoned(target.parent)
        while not _lock(draft := _registered(_name(target)), _created(draft)):
            continue
        try:
            yield draft
        finally:
            _unlock(draft)


@contextmanager
def claimed(target: Path, *, wait: bool = False) -> Iterator[None]:
    """Reserve a name for this thread; raise InputError if another writer has it, or wait for its end."""
    target = target.absolute()
    mine = (threading.get_ident(), target)
    if mine in _claims:
        yield
        return
    claim = target.with_name(f".{target.name}{_SUFFIX}")
    with name_errors(target), _parent_of(target):
        remove_abandoned(target.parent)
        while not _lock(_registered(claim), _opened(claim), wait=wait):
            if not wait and claim.exists():
                raise InputError(f"{target}: another command is writing it")
        _claims.add(mine)
        try:
            yield
        finally:
            _claims.discard(mine)
            _unlock(claim)


def exchange(draft: Path, target: Path) -> None:
    """Give a draft the name of an existing folder, which becomes the draft; at no moment is there no such folder.

    Where the system cannot exchange names, :func:`recover` undoes a replacement that was killed half-way.
    """
    if _exchange(draft, target):
        return
    replaced = _replaced(target)
    handle = os.open(target, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        target.rename(replaced)
        draft.rename(target)
        replaced.rename(draft)
    finally:
        os.close(handle)


def recover(target: Path) -> None:
    """Give a folder its name back if a replacement of it was killed half-way."""
    with suppress(OSError):
        if not target.exists() and _replaced(target).exists():
            remove_abandoned(target.parent)


def remove_abandoned(folder: Path, depth: int = 0) -> None:
    """Remove the drafts in a folder whose writer is gone, and those in folders inside it down to a depth."""
    try:
        inside = list(folder.iterdir())
    except OSError:
        return
    for path in inside if depth else ():
        if path.is_dir() and not is_draft(path.name):
            remove_abandoned(path, depth - 1)
    for draft in (path for path in inside if is_draft(path.name)):
        with suppress(OSError):
            handle = os.open(draft, _LOCKING)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                target = draft.with_name(draft.name[1:].removesuffix(_REPLACED))
                if not _is_at(handle, draft):
                    continue  # its writer has just removed it, and another may have the name
                if draft.name.endswith(_REPLACED) and not target.exists():
                    draft.rename(target)
                else:
                    _remove(draft)
            finally:
                os.close(handle)


@contextmanager
def name_errors(target: Path) -> Iterator[None]:
    """Name ``target`` in every OSError of the block that names no file, or a draft."""
    try:
        yield
    except OSError as error:
        if not error.filename or _SUFFIX in str(error.filename):
            raise OSError(error.errno, error.strerror or str(error), str(target)) from None
        raise


def remove_own() -> None:
    """Remove the drafts of this process, which is about to end without cleanup; those of others are locked."""
    for draft, handles in list(_handles.items()):
        with suppress(OSError):
            if any(_try_lock(handle) for handle in (*handles, os.open(draft, _LOCKING))):
                _remove(draft)


def is_draft(name: str) -> bool:
    """Whether a file or folder of this name is a draft or a claim."""
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


def _name(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.urandom(4).hex()}{_SUFFIX}")


def _registered(draft: Path) -> Path:
    """Register a draft before it is created, so that a signal at any moment finds it."""
    _handles.setdefault(draft, set())
    return draft


def _replaced(target: Path) -> Path:
    return target.with_name(f".{target.name}{_REPLACED}")


def _opened(claim: Path) -> int:
    """A claim's file; its folder is created again if a writer that failed has just removed it."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            return open_handle(claim, os.O_RDWR | os.O_CREAT)
        claim.parent.mkdir(parents=True, exist_ok=True)
    return open_handle(claim, os.O_RDWR | os.O_CREAT)


def _created(folder: Path) -> int:
    """A new draft's folder; created again if another writer takes it for abandoned before it is locked."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return os.open(folder, os.O_RDONLY)


def _lock(draft: Path, handle: int, *, wait: bool = False) -> bool:
    """Lock a draft until :func:`_unlock`; False if another process has locked or removed it meanwhile."""
    with _registering:
        _handles.setdefault(draft, set()).add(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        is_there = _is_at(handle, draft)
    except (BlockingIOError, FileNotFoundError):
        is_there = False
    except OSError:  # a file system without locks, on which nothing is removed either
        is_there = True
    if is_there:
        _open[draft] = handle
    else:
        _forget(draft, handle)
    return is_there


def _is_at(handle: int, path: Path) -> bool:
    return os.path.samestat(os.fstat(handle), path.stat())


def _try_lock(handle: int) -> bool:
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _unlock(draft: Path) -> None:
    handle = _open.pop(draft)  # before another thread can claim the name
    _remove(draft)
    _forget(draft, handle)


def _forget(draft: Path, handle: int) -> None:
    with _registering:  # while the handle is open, so that no other has its number
        _handles[draft].discard(handle)
        if not _handles[draft]:
            del _handles[draft]
    with suppress(OSError):
        os.close(handle)


def _remove(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


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
