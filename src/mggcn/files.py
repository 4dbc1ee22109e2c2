"""Files on disk: atomic and flushed writing, checksums, and typed reading of JSON and TOML."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mggcn.errors import InputError

T = TypeVar("T")

_MISSING = re.compile(r"Object missing required field `(.+?)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.+?)`")
_STEP = re.compile(r"([^.\[\]]+)(?=\.|\[|$)|\[(\d+|\.\.\.)\]")
_FIELD = re.compile(r"(.+) - at `\$\.?(.+)`")


def check_file_free(path: Path, *, overwrite: bool) -> None:
    """Raise InputError unless a file may be written at ``path``: no folder, and no file unless ``overwrite``."""
    if path.is_dir():
        raise InputError(f"{path}: a folder, not a file to write")
    if path.exists() and not overwrite:
        raise InputError(f"{path}: already exists")


def check_writable(folder: Path) -> None:
    """Raise InputError, before any work is done, if a folder cannot be created or written to."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise InputError(f"--out: {existing} is not a folder")
    if not os.access(existing, os.W_OK):
        raise InputError(f"--out: {existing} cannot be written")


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces ``target`` if the block succeeds and is removed if it fails."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield draft
        draft.chmod(0o755)
        _sync(draft)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
            target.rename(old / target.name)
            draft.rename(target)
            shutil.rmtree(old)
        else:
            draft.rename(target)
        _sync(target.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_durably(path: Path, content: bytes) -> None:
    """Write a file and flush it to the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old or the new content, even if the process is killed meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        write_durably(draft, content)
        draft.replace(path)
        _sync(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path, kind: type[T]) -> T:
    """Read a JSON file as ``kind``, checked; errors name the file and the field."""
    return _read(path, kind, "JSON", msgspec.json.decode)


def read_toml(path: Path, kind: type[T]) -> T:
    """Read a TOML file as ``kind``, checked; errors name the file and the field."""
    return _read(path, kind, "TOML", msgspec.toml.decode)


def _read(path: Path, kind: type[T], language: str, decode: Callable[..., Any]) -> T:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        value: T = decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {_problem(str(error), decode(content))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid {language} ({error})") from None
    return value


def typed(kind: type[T], values: object) -> T:
    """Convert parsed JSON or TOML to ``kind``; raises InputError that names the field and its value."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise InputError(_problem(str(error), values)) from None


def _problem(message: str, content: Any) -> str:
    """A message of msgspec with the name of the field and its value."""
    located = _FIELD.fullmatch(message)
    problem, field = located.groups() if located else (message, "")
    prefix = f"{field}." if field else ""
    if missing := _MISSING.fullmatch(problem):
        return f"field '{prefix}{missing[1]}' is missing"
    if extra := _UNKNOWN.fullmatch(problem):
        return f"unknown field '{prefix}{extra[1]}'"
    problem = problem[0].lower() + problem[1:].replace("`", "")
    return f"field {field}: {problem}{_value(content, field)}" if field else problem


def _value(content: Any, field: str) -> str:
    """The value of a field such as ``rows[2].name``, in brackets; of a table where msgspec does not say which key."""
    for name, index in _STEP.findall(field.partition("[...]")[0]):
        try:
            content = content[name] if name else content[int(index)]
        except (LookupError, TypeError, ValueError):
            return ""
    return f" ({str(content)[:40]!r})" if isinstance(content, str) else f" ({str(content)[:40]})"


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
