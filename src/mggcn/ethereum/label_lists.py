"""Reads published lists of labelled addresses.

* JSON with one object, ``{address: {"name": …, "labels": […]}}``;
* CSV with commas or semicolons and a header with ``address`` and optional ``label``, ``name tag`` and ``chain id``,
  spelled in any way; a list without labels takes its label from the name of the file (``mining.csv``) or of the folder
  (``phish-hack/all.csv``);
* plain text without a header, one address per line; the user gives the label.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mggcn.errors import InputError, first_line, prefix_errors

_ADDRESS = re.compile(r"0x[0-9a-f]{40}")
_MAINNET = "1"


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
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with prefix_errors(path):
        entries = _from_json(path, label) if path.suffix.lower() == ".json" else _from_csv(path, label)
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


def is_address(text: str) -> bool:
    """Return whether a text is an address in lower case."""
    return _ADDRESS.fullmatch(text) is not None


def csv_rows(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file, each with the number of its first line."""
    line, reader = 1, csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"line {line}: not readable as CSV ({first_line(error)})") from None


def _from_json(path: Path, label: str | None) -> Iterator[LabelledAddress]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
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


def _from_csv(path: Path, label: str | None) -> Iterator[LabelledAddress]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
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
                if not row:
                    continue
                if len(row) != len(header):
                    raise InputError(f"{location}: {len(row)} values for {len(header)} columns")
                fields = dict(zip(header, map(str.strip, row), strict=True))
                mainnet = fields.get("chainid", _MAINNET) == _MAINNET
                address = _parse_address(fields["address"], location) if mainnet else None
                name = label or fields.get("label", default)
                yield LabelledAddress(address, name, fields.get("nametag"), location, mainnet)
        except UnicodeDecodeError as error:
            raise InputError(f"not a readable CSV file ({first_line(error)})") from None


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
    if is_address(address):
        return address
    if address and not address.startswith("0x"):
        return None
    raise InputError(f"{location}: {text.strip()!r} is not an address (0x and 40 hexadecimal digits)")
