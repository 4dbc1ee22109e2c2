"""Errors that name the file they came from."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mggcn.errors import InputError


@contextmanager
def blaming(file: str | Path) -> Iterator[None]:
    """Put ``file`` before the message of an InputError raised in the block."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def reason(error: BaseException) -> str:
    """The first line of an exception's message, or its type where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
