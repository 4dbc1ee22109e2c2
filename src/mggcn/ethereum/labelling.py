"""Labels of accounts: a file of two columns, and the numbers of classes that go with the accounts of a graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import UNLABELLED
from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum.labels_read import csv_rows, is_address

_ACCOUNT = ("address", "account", "id")
_LABEL = ("label", "class")


@dataclass(frozen=True)
class Labels:
    """The class of each labelled account.

    Args:
        names: account to class.
        classes: every class, sorted.
    """

    names: Mapping[str, str]
    classes: tuple[str, ...]

    def numbers(self, accounts: list[str]) -> NDArray[np.int64]:
        """[n] the class number of each account, -1 for those without a label."""
        number = {name: place for place, name in enumerate(self.classes)}
        found = (self.names.get(account) for account in accounts)
        return np.array([UNLABELLED if name is None else number[name] for name in found], np.int64)


def read_labels(path: Path, *, any_ids: bool = False) -> Labels:
    """Read ``address,label``; also with semicolons or spaces, and without a header.

    An account that stands twice with one label is fine, with two it is refused. Addresses are read in lower case, and
    anything else in their place is refused.

    Args:
        path: the file.
        any_ids: accounts are any text; else they are addresses.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = file.readlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not text ({error.reason})") from None
    with prefix_errors(path):
        rows = list(csv_rows(lines, _delimiter(lines[0] if lines else "")))
    account, label, start = _columns(path, rows[0][1] if rows else [])
    names: dict[str, str] = {}
    for line, row in rows[start:]:
        if not row:
            continue
        if len(row) <= max(account, label):
            raise InputError(f"{path}: line {line}: {len(row)} values, an account and a label are needed")
        name, one = row[account].strip(), row[label].strip()
        if not name or not one:
            raise InputError(f"{path}: line {line}: {'the account' if not name else 'the label'} is empty")
        if not any_ids and not is_address(name.lower()):
            raise InputError(f"{path}: line {line}: {name!r} is not an address (0x and 40 hexadecimal digits)")
        name = name if any_ids else name.lower()
        if names.setdefault(name, one) != one:
            raise InputError(f"{path}: line {line}: {name} has the label {one!r}, before it had {names[name]!r}")
    if not names:
        raise InputError(f"{path}: no labels")
    return Labels(names, tuple(sorted(set(names.values()))))


def _delimiter(line: str) -> str:
    return next((mark for mark in ",;\t" if mark in line), " ")


def _columns(path: Path, first: list[str]) -> tuple[int, int, int]:
    """Where account and label stand, and the number of header lines."""
    header = [name.strip().lower() for name in first]
    account = next((header.index(name) for name in _ACCOUNT if name in header), None)
    label = next((header.index(name) for name in _LABEL if name in header), None)
    if account is not None and label is not None:
        return account, label, 1
    if account is None and label is None and len(header) == 2:
        return 0, 1, 0
    missing = "address" if account is None else "label"
    raise InputError(f"{path}: column {missing!r} is missing (it has {', '.join(map(repr, first))})")
