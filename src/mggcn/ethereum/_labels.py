"""Reads the label file of a build, and lists of labelled addresses, which it merges into the paper's six classes.

A list is one of these:

* JSON with one object, ``{address: {"name": …, "labels": […]}}``;
* CSV with commas or semicolons and a header with ``address`` and optional ``label``, ``name tag`` and ``chain id``,
  spelled in any way; a list without labels takes its label from the name of the file (``mining.csv``) or of the folder
  (``phish-hack/all.csv``);
* plain text without a header, one address per line; the user gives the label.

The paper names its classes and cites Etherscan's labels; which label belongs to which class is our inference. A
converter is an address labelled ``bancor`` whose name contains "converter"; a phishing account is an address labelled
``phish-hack`` whose name contains "Fake_Phishing". In a list without names the label alone decides. An address with
labels of two classes is left out and reported.
"""

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from mggcn._io.files import check_file_free, write_atomically
from mggcn.errors import InputError, first_line, prefix_errors, unknown

_ADDRESS = re.compile(r"0x[0-9a-f]{40}")
_MAINNET = "1"
_ACCOUNT_COLUMNS = ("address", "account", "id")
_LABEL_COLUMNS = ("label", "class")
CLASSES = ("ICO", "Converter", "Exchange", "Mining", "Gambling", "Phish")
_CLASS_OF = {name.lower(): name for name in CLASSES}
_CLASS_OF |= {"icowallet": "ICO", "icowallets": "ICO", "bancor": "Converter", "phishhack": "Phish"}
_REQUIRED_NAME = {"bancor": "converter", "phishhack": "fake_phishing"}
"""What the name of an address must contain for the label to count."""


@dataclass(frozen=True)
class LabelledAddress:
    """An address with one of its labels.

    Args:
        address: in lower case; None if it belongs to another chain.
        label: as spelled in the list.
        name: the name tag of the address; None if the list has no names.
        location: the file and the position in it, for messages.
        mainnet: False if the list says that the address belongs to another chain.
    """

    address: str | None
    label: str
    name: str | None
    location: str
    mainnet: bool = True


def read_list(path: Path, label: str | None = None) -> Iterator[LabelledAddress]:
    """Yield the entries of a list; ``label`` replaces all labels in it."""
    with _open(path) as file:
        entries = _from_json(file, label) if path.suffix.lower() == ".json" else _from_csv(file, path, label)
        for entry in entries:
            yield replace(entry, location=f"{path}: {entry.location}")


def addresses(path: Path) -> list[str]:
    """Return the mainnet addresses of a list, each once, whatever their labels."""
    unique: dict[str, None] = {}
    for entry in read_list(path, label="any"):
        if not entry.mainnet:
            continue
        if entry.address is None:
            raise InputError(f"{entry.location}: not an Ethereum address")
        unique[entry.address] = None
    if not unique:
        raise InputError(f"{path}: no addresses")
    return list(unique)


def read_labels(path: Path, *, any_ids: bool = False) -> tuple[dict[str, str], list[str]]:
    """Read the label file of a build: ``address,label``, also with semicolons, tabs or spaces, and without a header.

    An account may be repeated with the same label, not with another one. Addresses are converted to lower case. Labels
    that differ only in case are one class, spelled as most of them are.

    Returns:
        The label of each account, and a note for each class of several spellings.

    Args:
        path: the file.
        any_ids: accept any text as an account; else only addresses.
    """
    with _open(path) as file:
        lines = file.readlines()
        header_line = lines[0] if lines else ""
        delimiter = next((mark for mark in ",;\t" if mark in header_line), " ")
        rows = list(csv_rows(lines, delimiter))
        account_column, label_column, start = _columns(rows[0][1] if rows else [])
        spelling = _spellings(row[label_column].strip() for _, row in rows[start:] if len(row) > label_column)
        labels: dict[str, str] = {}
        for line, row in rows[start:]:
            if len(row) <= max(account_column, label_column):
                raise InputError(f"line {line}: {len(row)} values, an account and a label are needed")
            account, label = row[account_column].strip(), row[label_column].strip()
            if not account or not label:
                raise InputError(f"line {line}: the {'label' if account else 'account'} is empty")
            if not any_ids:
                account = _checked(account, f"line {line}")
            label = spelling[label]
            if labels.setdefault(account, label) != label:
                raise InputError(f"line {line}: {account} has the label {label!r}, before it had {labels[account]!r}")
        if not labels:
            raise InputError("no labels")
    merged = [(other, label) for other, label in sorted(spelling.items()) if other != label]
    return labels, [f"the label {other!r} is counted as {label!r}: they differ only in case" for other, label in merged]


def _spellings(labels: Iterable[str]) -> dict[str, str]:
    """The most frequent spelling of each label in any case."""
    counts = Counter(labels)
    best: dict[str, str] = {}
    for label, _ in counts.most_common():
        best.setdefault(label.lower(), label)
    return {label: best[label.lower()] for label in counts}


def is_address(text: str) -> bool:
    """Return whether a text is an address in lower case."""
    return _ADDRESS.fullmatch(text) is not None


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file with a header, atomically."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    write_atomically(path, text.getvalue().encode())


def csv_rows(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file that are not blank, each with the number of its first line."""
    line, reader = 1, csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"line {line}: not readable as CSV ({first_line(error)})") from None


def _from_json(file: TextIO, label: str | None) -> Iterator[LabelledAddress]:
    try:
        entries = json.load(file)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({first_line(error)})") from None
    if not isinstance(entries, dict):
        raise InputError("not a JSON object of addresses")
    for text, fields in entries.items():
        location = f"entry {text!r}"
        labels = fields.get("labels") if isinstance(fields, dict) else None
        if not isinstance(labels, list) or not all(isinstance(name, str) for name in labels):
            raise InputError(f"{location}: field 'labels' is not a list of names")
        address = _parse_address(text, location)
        for name in labels if label is None else [label]:
            yield LabelledAddress(address, name, str(fields.get("name", "")), location)


def _from_csv(file: TextIO, path: Path, label: str | None) -> Iterator[LabelledAddress]:
    header_line = file.readline()
    file.seek(0)
    rows = csv_rows(file, ";" if ";" in header_line else ",")
    header = _header(header_line, rows)
    if "address" not in header:
        raise InputError(f"line 1: no column 'address' among {', '.join(map(repr, header))}")
    if label is None and header == ["address"]:
        raise InputError("a list without labels; give its class as in Phish=FILE")
    default = path.parent.name if path.stem == "all" else path.stem
    for line, row in rows:
        location = f"line {line}"
        if len(row) != len(header):
            raise InputError(f"{location}: {len(row)} values for {len(header)} columns")
        fields = dict(zip(header, map(str.strip, row), strict=True))
        mainnet = fields.get("chainid", _MAINNET) == _MAINNET
        address = _parse_address(fields["address"], location) if mainnet else None
        name = label or fields.get("label", default)
        yield LabelledAddress(address, name, fields.get("nametag"), location, mainnet)


def _header(header_line: str, rows: Iterator[tuple[int, list[str]]]) -> list[str]:
    """Return the names of the columns, reduced to lower-case letters; a file without a header has address and label."""
    names = re.split("[;,]", header_line.strip())
    if is_address(names[0].strip().lower()):
        return ["address", "label"][: len(names)]
    _, header = next(rows, (1, []))
    return [re.sub("[^a-z]", "", name.lower()) for name in header]


def _parse_address(text: str, location: str) -> str | None:
    """Return an address in lower case, or None for another chain; a truncated or misspelt address is an error."""
    address = text.strip().lower()
    return None if address and not address.startswith("0x") else _checked(text.strip(), location)


def _checked(text: str, location: str) -> str:
    """Return an address in lower case; other text is an error."""
    if not is_address(text.lower()):
        raise InputError(f"{location}: {text!r} is not an address (0x and 40 hexadecimal digits)")
    return text.lower()


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


@contextmanager
def _open(path: Path) -> Iterator[TextIO]:
    """Open a text file; errors in the block name it."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with prefix_errors(path), path.open(newline="", encoding="utf-8-sig") as file:
        try:
            yield file
        except UnicodeDecodeError as error:
            raise InputError(f"not text ({first_line(error)})") from None


@dataclass
class MergedLabels:
    """The result of merging lists.

    Args:
        classes: the class of each address that has exactly one.
        conflicts: for each address with several classes, these classes with their locations.
        by_file: for each list, the number of its addresses in each class.
        dropped: the number of entries of each label that belongs to no class.
        unnamed: the number of entries of each label that counts, but whose name does not contain what it must.
        foreign: the locations of entries of other chains.
    """

    classes: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, dict[str, str]] = field(default_factory=dict)
    by_file: dict[Path, Counter[str]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    unnamed: Counter[str] = field(default_factory=Counter)
    foreign: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """The number of addresses in each class."""
        sizes = Counter(self.classes.values())
        return {name: sizes[name] for name in CLASSES}


def parse_list(text: str) -> tuple[Path, str | None]:
    """Parse a command-line argument: FILE, or Class=FILE for a list without labels."""
    name, equals, file = text.partition("=")
    if not equals or Path(text).is_file():
        return Path(text), None
    if name.lower() not in _CLASS_OF:
        raise unknown("class", name, CLASSES)
    return Path(file), _CLASS_OF[name.lower()]


def merge_labels(lists: Iterable[tuple[Path, str | None]]) -> MergedLabels:
    """Merge lists; each comes with the class of all its addresses, or None."""
    merged = MergedLabels()
    locations: dict[str, dict[str, str]] = defaultdict(dict)
    for path, label in lists:
        members: dict[str, set[str]] = {name: set() for name in CLASSES}
        for entry in read_list(path, label):
            label_letters = "".join(filter(str.isalnum, entry.label.lower()))
            name, required = _CLASS_OF.get(label_letters), _REQUIRED_NAME.get(label_letters, "")
            if entry.address is None:
                merged.foreign.append(entry.location)
            elif name is None:
                merged.dropped[entry.label] += 1
            elif entry.name is not None and required not in entry.name.lower():
                merged.unnamed[entry.label] += 1
            else:
                members[name].add(entry.address)
                locations[entry.address].setdefault(name, entry.location)
        merged.by_file[path] = Counter({name: len(addresses) for name, addresses in members.items()})
    for address, classes in sorted(locations.items()):
        if len(classes) > 1:
            merged.conflicts[address] = classes
        else:
            merged.classes[address] = next(iter(classes))
    return merged


def write_labels(merged: MergedLabels, out: Path, *, overwrite: bool = False) -> Path:
    """Write ``address,label`` and a file with the conflicts beside it; return the path of the conflicts.

    Args:
        merged: the labels. If every address is in conflict, the conflicts are written before the error is raised.
        out: the CSV file. Neither it nor the file of conflicts may be one of the merged lists.
        overwrite: replace existing files.
    """
    lists = ", ".join(map(str, merged.by_file))
    if not merged.classes and not merged.conflicts:
        raise InputError(f"{lists}: no address has a label of the classes {', '.join(CLASSES)}")
    conflicts = out.parent / f"{out.stem}.conflicts.csv"
    for path in (out, conflicts):
        if path.exists() and any(path.samefile(file) for file in merged.by_file):
            raise InputError(f"{path}: one of the lists to merge, it would be replaced")
        check_file_free(path, overwrite=overwrite)
    rows = [(address, *pair) for address, classes in merged.conflicts.items() for pair in classes.items()]
    write_csv(conflicts, ("address", "label", "location"), rows)
    if not merged.classes:
        raise InputError(f"{lists}: every address with a label of the classes has several, see {conflicts}")
    write_csv(out, ("address", "label"), merged.classes.items())
    return conflicts
