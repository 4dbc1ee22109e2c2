"""Files on disk: atomic and flushed writing, checksums, and typed reading of JSON and TOML."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from mggcn.errors import InputError

T = TypeVar("T")

_MISSING = re.compile(r"Object missing required field `(.+?)`")
_FIELD = re.compile(r"(.+) - at `\$\.?(.+)`")


def check_file_free(path: Path, *, overwrite: bool) -> None:
    """Raise InputError unless a file may be written at ``path``: no folder, and no file unless ``overwrite``."""
    if path.is_dir():
        raise InputError(f"{path}: a folder, not a file to write")
    if path.exists() and not overwrite:
        raise InputError(f"{path}: already exists")


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
    finally:
        draft.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path, kind: type[T]) -> T:
    """Read a JSON file as ``kind``, checked; errors name the file and the field."""
    try:
        return msgspec.json.decode(_read(path), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise decode_error(path, "JSON", error) from None


def read_toml(path: Path, kind: type[T]) -> T:
    """Read a TOML file as ``kind``, checked; errors name the file and the field."""
    try:
        return msgspec.toml.decode(_read(path), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise decode_error(path, "TOML", error) from None


def decode_error(source: str | Path, language: str, error: Exception) -> InputError:
    """Convert an error of msgspec's decoders to one line that names ``source`` and the field."""
    if not isinstance(error, msgspec.ValidationError):
        return InputError(f"{source}: not valid {language} ({error})")
    located = _FIELD.fullmatch(str(error))
    problem, field = located.groups() if located else (str(error), "")
    missing = _MISSING.fullmatch(problem)
    if missing:
        return InputError(f"{source}: field '{'.'.join(filter(None, [field, missing[1]]))}' is missing")
    problem = problem[0].lower() + problem[1:].replace("`", "")
    return InputError(f"{source}: field {field}: {problem}" if field else f"{source}: {problem}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
