"""The exception and the warning for input that a user can correct; the command line prints each as one line."""

import inspect
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from tokenize import TokenError

ARRAY_ERRORS = (
    *(ValueError, OSError, EOFError, KeyError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, OverflowError),
)
"""What NumPy raises for a ``.npy`` or ``.npz`` file that it cannot read; an InputError is one of them."""


class InputError(ValueError):
    """Bad input; the message is one line that names the file, field and value."""


class InputWarning(UserWarning):
    """Input that is used, but perhaps not as intended; the message is one line."""


def warn_caller(message: str, category: type[InputWarning] = InputWarning) -> None:
    """Give a warning at the line outside this package that called it."""
    frames = inspect.stack(context=0)
    inside = [frame.frame.f_globals.get("__name__", "").partition(".")[0] == __package__ for frame in frames]
    warnings.warn(message, category, stacklevel=[*inside, False].index(False) + 1)


class DataWarning(InputWarning):
    """A data set may mislead; commands print :attr:`mggcn.data.Dataset.warnings` instead."""


class RankError(RuntimeError):
    """Another process that trains the same run has ended, or does not answer; the message is one line."""


def unknown(kind: str, name: str, valid: Iterable[str]) -> InputError:
    """Return the error for a name that is not among ``valid``, with the nearest valid names."""
    known = sorted(valid)
    near = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"valid: {', '.join(known)}"
    return InputError(f"unknown {kind} {name!r}; {hint}")


def require(module: str, extra: str) -> None:
    """Raise InputError if a library is missing, naming the extra that has it."""
    if find_spec(module) is None:
        raise InputError(f"this needs {module}: pip install 'mggcn[{extra}]'")


@contextmanager
def prefix_errors(source: str | Path) -> Iterator[None]:
    """Put ``source``, a file or field, before the message of every InputError raised in the block."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, or its type's name if the message is empty."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
