"""The label file of a build: two columns, account and label."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import UNLABELLED
from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum.label_lists import csv_rows, is_address

_ACCOUNT_COLUMNS = ("address", "account", "id")
_LABEL_COLUMNS = ("label", "class")


@dataclass(frozen=True)
class AccountLabels:
    """The class of each labelled account.

    Args:
        names: account to class.
        classes: all classes, sorted.
    """

    names: Mapping[str, str]
    classes: tuple[str, ...]

    def numbers(self, accounts: Sequence[str]) -> NDArray[np.int64]:
        """[n] the class number of each account; -1 for accounts without a label."""
        number_of = {name: number for number, name in enumerate(self.classes)}
        labels = (self.names.get(account) for account in accounts)
        return np.array([UNLABELLED if label is None else number_of[label] for label in labels], np.int64)


def read_labels(path: Path, *, any_ids: bool = False) -> AccountLabels:
    """Read ``address,label``, also with semicolons, tabs or spaces, and without a header.

    An account may be repeated with the same label, not with another one. Addresses are converted to lower case.

    Args:
        path: the file.
        any_ids: accept any text as an account; else only addresses.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with prefix_errors(path):
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                lines = file.readlines()
        except UnicodeDecodeError as error:
            raise InputError(f"not text ({error.reason})") from None
        header_line = lines[0] if lines else ""
        delimiter = next((mark for mark in ",;\t" if mark in header_line), " ")
        rows = list(csv_rows(lines, delimiter))
        account_column, label_column, start = _columns(rows[0][1] if rows else [])
        names: dict[str, str] = {}
        for line, row in rows[start:]:
            if not row:
                continue
            if len(row) <= max(account_column, label_column):
                raise InputError(f"line {line}: {len(row)} values, an account and a label are needed")
            account, label = row[account_column].strip(), row[label_column].strip()
            if not account or not label:
                raise InputError(f"line {line}: the {'label' if account else 'account'} is empty")
            if not any_ids and not is_address(account.lower()):
                raise InputError(f"line {line}: {account!r} is not an address (0x and 40 hexadecimal digits)")
            account = account if any_ids else account.lower()
            if names.setdefault(account, label) != label:
                raise InputError(f"line {line}: {account} has the label {label!r}, before it had {names[account]!r}")
        if not names:
            raise InputError("no labels")
    return AccountLabels(names, tuple(sorted(set(names.values()))))


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Return a CSV file with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def _columns(first_row: list[str]) -> tuple[int, int, int]:
    """Return the positions of account and label, and the number of header lines."""
    header = [name.strip().lower() for name in first_row]
    account = next((header.index(name) for name in _ACCOUNT_COLUMNS if name in header), None)
    label = next((header.index(name) for name in _LABEL_COLUMNS if name in header), None)
    if account is not None and label is not None:
        return account, label, 1
    if account is None and label is None and len(header) == 2:
        return 0, 1, 0
    missing = "address" if account is None else "label"
    raise InputError(f"column {missing!r} is missing (it has {', '.join(map(repr, first_row))})")
