"""Files on disk: atomic and flushed writing, checksums, and typed reading of JSON and TOML.

Every JSON object that is written to be read again begins with its checksum, see :func:`sealed`.
"""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mggcn._io import regular
from mggcn._io.temporary import exchange, locked_name, name_errors, temporary_file, temporary_folder
from mggcn.errors import InputError, first_line

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")

_MISSING = re.compile(r"Object missing required field `(.+?)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.+?)`")
_STEP = re.compile(r"([^.\[\]]+)(?=\.|\[|$)|\[(\d+|\.\.\.)\]")
_CHECKSUM = re.compile(rb'\{"checksum": "([0-9a-f]{64})",[\n ]')
_HEAD_BYTES = 96
_NPY = b"\x93NUMPY"
_MOST_TOML = 1 << 18  # bytes
_MOST_PARTS = 16
_DOTTED = re.compile(
    rb"""(?<![\w-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){%d}""" % _MOST_PARTS,
)
_FIELD = re.compile(r"(.+) - at `\$\.?(.+)`")


def check_writable(folder: Path, name: str = "out") -> None:
    """Raise InputError, before any work is done, if a folder cannot be created or written to; it calls it ``name``."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise InputError(f"{name}: {existing} is not a folder")
    try:
        with tempfile.TemporaryFile(dir=existing):
            return
    except OSError as error:
        raise InputError(f"{name}: {existing} cannot be written ({error.strerror})") from None


def check_file(path: Path, *, overwrite: bool = True) -> None:
    """Raise InputError, before any work is done, if a file cannot be created or, with ``overwrite``, replaced."""
    if path.is_dir():
        raise InputError(f"{path}: a folder, not a file to write")
    check_writable(path.absolute().parent, str(path))
    if path.exists() and not overwrite:
        raise InputError(f"{path}: already exists")


def _refuse(target: Path) -> None:
    raise InputError(f"{target}: already exists")


@contextmanager
def replacing(target: Path, check: Callable[[Path], None] = _refuse) -> Iterator[Path]:
    """Yield a temporary folder that gets the name ``target`` if the block succeeds and is removed if it fails.

    The name is locked until then, so that no other writer can take it. ``check`` raises InputError if an existing
    ``target`` may not be replaced, as is the case by default.
    """
    with name_errors(target), locked_name(target), temporary_folder(target) as temporary:
        if target.exists():
            check(target)
        yield temporary
        for path in (*temporary.rglob("*"), temporary):
            _sync(path)
        if target.exists():
            check(target)
            exchange(temporary, target)
        else:
            temporary.rename(target)
        _sync(target.parent)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old or the new content, even if the process is killed meanwhile."""
    with replacing_file(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces ``path`` if the block succeeds and is removed if it fails."""
    with name_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_file(path) as temporary:
            yield temporary
            _sync(temporary)
            temporary.replace(path)
            _sync(path.parent)


def sealed(text: str, end: str = "\n") -> bytes:
    """A JSON object with a first field ``checksum``, the sha256 of everything after that field and ``end``."""
    rest = text[1:].lstrip().encode()
    return f'{{"checksum": "{hashlib.sha256(rest).hexdigest()}",{end}'.encode() + rest


def unsealed(content: bytes) -> tuple[bytes, bool]:
    """A JSON object without its checksum, and whether it had one; raises ValueError if it is not the right one."""
    head = _CHECKSUM.match(content)
    if head is None:
        return content, False
    rest = content[head.end() :]
    if hashlib.sha256(rest).hexdigest().encode() != head[1]:
        raise ValueError("wrong checksum")
    return b"{" + rest, True


def is_sealed(path: Path) -> bool:
    """Whether a JSON file begins with a checksum."""
    with regular.open_regular(path) as file:
        return _CHECKSUM.match(file.read(_HEAD_BYTES)) is not None


def parse_json(content: bytes) -> Any:
    """Parse JSON that may be hostile; raises ValueError for everything that is not a value of text and numbers."""
    try:
        values = json.loads(content)
        if b"\\ud" in content.lower():
            json.dumps(values, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no character") from None
    return values


def parse_tensors(content: bytes) -> "dict[str, Tensor]":
    """The tensors of a safetensors file that may be hostile; raises ValueError if it is not one."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(content)
    except (SafetensorError, KeyError, AttributeError, RuntimeError, TypeError) as error:
        raise ValueError(f"not tensors in safetensors form ({first_line(error)})") from None


def check_npy(path: Path) -> None:
    """Raise ValueError unless a file begins as that of one array does; :func:`numpy.load` also opens archives."""
    with regular.open_regular(path) as file:
        if file.read(len(_NPY)) != _NPY:
            raise ValueError("not an array as numpy.save writes it")


def sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes, in hex."""
    with regular.open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path, kind: type[T]) -> T:
    """Read a JSON file as ``kind``, checked; errors name the file and the field."""
    return _read(path, kind, "JSON", msgspec.json.decode)


def read_toml(path: Path, kind: type[T]) -> T:
    """Read a TOML file as ``kind``, checked; errors name the file and the field."""
    return _read(path, kind, "TOML", _decode_toml, _MOST_TOML + 1)


def _decode_toml(content: bytes, type: Any = Any) -> Any:  # noqa: A002
    """Decode TOML that takes no more than a second: the time of Python's parser is quadratic in the parts of a key."""
    if len(content) > _MOST_TOML:
        raise ValueError(f"larger than {_MOST_TOML >> 10} KiB")
    if key := _DOTTED.search(content):
        line = content.count(b"\n", 0, key.start()) + 1
        raise ValueError(f"a key of more than {_MOST_PARTS} parts at line {line}")
    return msgspec.toml.decode(content, type=type)


def _read(path: Path, kind: type[T], language: str, decode: Callable[..., Any], most: int = -1) -> T:
    try:
        content, _ = unsealed(regular.read(path, most))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    try:
        try:
            value: T = decode(content, type=kind)
            return value
        except msgspec.ValidationError as error:
            problem = _problem(error, decode(content))
    except RecursionError:
        problem = f"not valid {language} (nested too deeply)"
    except (ValueError, msgspec.MsgspecError) as error:
        problem = f"not valid {language} ({first_line(error)})"
    raise InputError(f"{path}: {problem}")


def typed(kind: type[T], values: object) -> T:
    """Convert parsed JSON or TOML to ``kind``; raises InputError that names the field and its value."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise InputError(_problem(error, values)) from None


def _problem(error: msgspec.ValidationError, content: Any) -> str:
    """The message of an error on one line, with the name of the field and its value."""
    message = " ".join(str(error).split())
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
    try:
        return f" ({content[:40]!r})" if isinstance(content, str) else f" ({str(content)[:40]})"
    except RecursionError:
        return " (nested too deeply)"


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
