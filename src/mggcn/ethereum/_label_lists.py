"""Reads the label file of a build, and lists of labelled addresses, which it merges into the paper's six classes.

A list is one of these:

* JSON with one object, ``{address: {"name": …, "labels": […]}}``;
* CSV with a column ``address`` and optional ``label``, ``name tag`` and ``chain id``, spelled in any way; one without
  labels takes its label from the name of the file (``mining.csv``) or of the folder (``phish-hack/all.csv``);
* plain text without a header, one address per line; the user gives the label.

CSV files may have commas, semicolons, tabs or spaces; without a header their columns are address and label.
The paper names its classes and cites Etherscan's labels; which label belongs to which class is our inference. A
converter is an address labelled ``bancor`` whose name contains "converter"; a phishing account is an address labelled
``phish-hack`` whose name contains "Fake_Phishing". In a list without names the label alone decides. An address with
labels of two classes is left out and reported.
"""

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from mggcn._io.files import check_file, write_atomically
from mggcn.data import BACKGROUND
from mggcn.errors import InputError, first_line, unknown

_ADDRESS = re.compile(r"0x[0-9a-f]{40}")
_MAINNET = "1"
_ALIASES = {"account": "address", "id": "address", "class": "label"}
_COLUMNS = {"address", "label", "nametag", "chainid"}
CLASSES = ("ICO", "Converter", "Exchange", "Mining", "Gambling", "Phish")
_CLASS_OF = {name.lower(): name for name in CLASSES}
_CLASS_OF |= {"icowallet": "ICO", "icowallets": "ICO", "bancor": "Converter", "phishhack": "Phish"}
_REQUIRED_NAME = {"bancor": "converter", "phishhack": "fake_phishing"}
"""What the name of an address must contain for the label to count."""


class LabelledAddress(NamedTuple):
    """An address with one of its labels."""

    address: str | None  # in lower case; None if it belongs to another chain
    label: str  # as spelled in the list
    name: str | None  # the name tag of the address; None if the list has no names
    location: str  # the file and the position in it, for messages


class _Entry(msgspec.Struct):
    """What a list in JSON says of an address."""

    labels: list[str]
    name: str | None = None


def read_list(path: Path, label: str | None = None) -> Iterator[LabelledAddress]:
    """Yield the entries of a list; ``label`` replaces all labels in it."""
    return _from_json(path, label) if path.suffix.lower() == ".json" else _from_csv(path, label)


def addresses(path: Path) -> list[str]:
    """Return the mainnet addresses of a list, each once, whatever their labels."""
    unique = dict.fromkeys(entry.address for entry in read_list(path, label="any") if entry.address is not None)
    if not unique:
        raise InputError(f"{path}: no addresses of Ethereum")
    return list(unique)


def read_labels(path: Path, *, any_ids: bool = False) -> tuple[dict[str, str], list[str]]:
    """Read the label file of a build: ``address,label``, also with semicolons, tabs or spaces, and without a header.

    An account may be repeated with the same label, not with another one. Addresses are converted to lower case. Labels
    that differ only in case are one class, spelled as most of them are; ``Background`` is the class of accounts that
    are known to be in none of the others.

    Returns:
        The label of each account, and a note for each class of several spellings.

    Args:
        path: the file.
        any_ids: accept any text as an account; else only addresses.
    """
    rows = list(rows_of(path, ("address", "label")))
    counts = Counter(fields["label"] for _, fields in rows)
    best: dict[str, str] = {}
    for label, _ in counts.most_common():
        best.setdefault(label.lower(), BACKGROUND if label.lower() == BACKGROUND.lower() else label)
    labels: dict[str, str] = {}
    for location, fields in rows:
        account, label = fields["address"], best[fields["label"].lower()]
        if not account or not label:
            raise InputError(f"{location}: the {'label' if account else 'account'} is empty")
        account = account_of(account, location, any_ids=any_ids)
        if labels.setdefault(account, label) != label:
            raise InputError(f"{location}: {account} has the label {label!r}, before it had {labels[account]!r}")
    if not labels:
        raise InputError(f"{path}: no labels")
    merged = [(other, best[other.lower()]) for other in sorted(counts) if other != best[other.lower()]]
    return labels, [f"the label {other!r} is counted as {label!r}: they differ only in case" for other, label in merged]


def is_address(text: str) -> bool:
    """Return whether a text is an address in lower case."""
    return _ADDRESS.fullmatch(text) is not None


def account_of(text: str, location: str, *, any_ids: bool = False) -> str:
    """Return an address in lower case with 0x, however it is spelled; other text is an error unless any id will do."""
    if any_ids:
        return text
    address = f"0x{text.lower().removeprefix('0x')}"
    if not is_address(address):
        raise InputError(f"{location}: {text[:60]!r} is not an address (0x and 40 hexadecimal digits)")
    return address


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file with a header, atomically."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    write_atomically(path, text.getvalue().encode())


def rows_of(path: Path, required: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a CSV file that are not blank, by column, each with its file and line.

    Without a header the columns are address and label; files that require others have one.
    """
    lines = io.StringIO(_read(path), newline="")
    first = lines.readline().strip()
    lines.seek(0)
    reader = csv.reader(lines, delimiter=next((mark for mark in ",;\t " if mark in first), ","), strict=True)
    line, names = 1, list[str]()
    try:
        for row in reader:
            location, line = f"{path}: line {line}", reader.line_num + 1
            if not names and row:
                names = [re.sub("[^a-z]", "", name.lower()) for name in row]
                names = [name if _ALIASES.get(name, name) in names else _ALIASES[name] for name in names]
                is_header = not _COLUMNS.isdisjoint(names)
                names = names if is_header else ["address", "label"][: len(row)]
                if missing := [name for name in required if name not in names]:
                    raise InputError(
                        f"{location}: column {missing[0]!r} is missing (it has {', '.join(map(repr, row))})"
                    )
                if is_header:
                    continue
            if row and len(row) != len(names):
                raise InputError(f"{location}: {len(row)} values for {len(names)} columns")
            if row:
                yield location, dict(zip(names, map(str.strip, row), strict=True))
    except csv.Error as error:
        raise InputError(f"{path}: line {line}: not readable as CSV ({first_line(error)})") from None


def _from_json(path: Path, label: str | None) -> Iterator[LabelledAddress]:
    try:
        entries = msgspec.json.decode(_read(path), type=dict[str, _Entry])
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: not a JSON object of addresses and their labels ({first_line(error)})") from None
    for text, entry in entries.items():
        location = f"{path}: entry {text!r}"
        address = _parse_address(text, location)
        for name in entry.labels if label is None else [label]:
            yield LabelledAddress(address, name, entry.name or "", location)


def _from_csv(path: Path, label: str | None) -> Iterator[LabelledAddress]:
    default = path.parent.name if path.stem == "all" else path.stem
    for location, fields in rows_of(path, ("address",)):
        if label is None and len(fields) == 1:
            raise InputError(f"{path}: a list without labels; give its class as in Phish=FILE")
        is_mainnet = fields.get("chainid", _MAINNET) == _MAINNET
        address = _parse_address(fields["address"], location) if is_mainnet else None
        yield LabelledAddress(address, label or fields.get("label", default), fields.get("nametag"), location)


def _parse_address(text: str, location: str) -> str | None:
    """Return an address in lower case, or None for another chain; a truncated or misspelt address is an error."""
    text = text.strip()
    is_foreign = text and not text.lower().startswith("0x") and not is_address(f"0x{text.lower()}")
    return None if is_foreign else account_of(text, location)


def _read(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not text ({first_line(error)})") from None


@dataclass
class MergedLabels:
    """The result of merging lists."""

    classes: dict[str, str] = field(default_factory=dict)  # the class of each address that has exactly one
    # for each address with several classes, these classes with their locations
    conflicts: dict[str, dict[str, str]] = field(default_factory=dict)
    by_file: dict[Path, Counter[str]] = field(default_factory=dict)  # how many addresses of a list are in each class
    dropped: Counter[str] = field(default_factory=Counter)  # entries of each label that belongs to no class
    unnamed: Counter[str] = field(default_factory=Counter)  # of each label that needs another name of the address
    foreign: list[str] = field(default_factory=list)  # the locations of entries of other chains

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
        check_file(path, overwrite=overwrite)
    rows = [(address, *pair) for address, classes in merged.conflicts.items() for pair in classes.items()]
    write_csv(conflicts, ("address", "label", "location"), rows)
    if not merged.classes:
        raise InputError(f"{lists}: every address with a label of the classes has several, see {conflicts}")
    write_csv(out, ("address", "label"), merged.classes.items())
    return conflicts
