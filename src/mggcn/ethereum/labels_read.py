"""Lists of labelled addresses as people publish them.

* JSON of one object, ``{address: {"name": …, "labels": […]}}``;
* CSV with commas or semicolons and a header with ``address`` and optional ``label``, ``name tag`` and ``chain id``, in
  any spelling of these; a list without labels has its file's label (``mining.csv``) or its folder's
  (``phish-hack/all.csv``);
* plain lists without a header, one address a line, which have a label only where the user gives one.
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
class Entry:
    """An address with one of its labels.

    Args:
        address: in lower case; None where it is an address of another chain.
        label: as the list gives it.
        name: the address's name tag, or None where the list has no names.
        place: the file and where in it.
        mainnet: False where the list says that it is of another chain.
    """

    address: str | None
    label: str
    name: str | None
    place: str
    mainnet: bool = True


def entries(path: Path, label: str | None = None) -> Iterator[Entry]:
    """The entries of a list; ``label`` stands for all labels in it."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with prefix_errors(path):
        found = _from_json(path, label) if path.suffix.lower() == ".json" else _from_csv(path, label)
        for entry in found:
            yield replace(entry, place=f"{path}: {entry.place}")


def addresses(path: Path) -> list[str]:
    """The addresses of a list on the main chain, whatever their labels, each once."""
    found: dict[str, None] = {}
    for entry in entries(path, label="any"):
        if not entry.mainnet:
            continue
        if entry.address is None:
            raise InputError(f"{entry.place}: not an Ethereum address")
        found[entry.address] = None
    if not found:
        raise InputError(f"{path}: no addresses")
    return list(found)


def is_address(text: str) -> bool:
    """Whether a text is an address in lower case."""
    return _ADDRESS.fullmatch(text) is not None


def parse_address(text: str, place: str) -> str | None:
    """An address in lower case, or None for one of another chain; one that is cut off or misspelt is an error."""
    address = text.strip().lower()
    if is_address(address):
        return address
    if address and not address.startswith("0x"):
        return None
    raise InputError(f"{place}: {text.strip()!r} is not an address (0x and 40 hexadecimal digits)")


def csv_rows(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file, each with the line that it starts on; one that cannot be read is an error."""
    line, reader = 1, csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"line {line}: not readable as CSV ({first_line(error)})") from None


def _from_json(path: Path, given: str | None) -> Iterator[Entry]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not valid JSON ({first_line(error)})") from None
    if not isinstance(table, dict):
        raise InputError("not a JSON object of addresses")
    for text, fields in table.items():
        place = f"entry {text!r}"
        labels = fields.get("labels") if isinstance(fields, dict) else None
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise InputError(f"{place}: field 'labels' is not a list of names")
        address = parse_address(text, place)
        for label in labels if given is None else [given]:
            yield Entry(address, label, str(fields.get("name", "")), place)


def _from_csv(path: Path, given: str | None) -> Iterator[Entry]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            start = file.readline()
            file.seek(0)
            rows = csv_rows(file, ";" if ";" in start else ",")
            header = _header(start, rows)
            if "address" not in header:
                raise InputError(f"line 1: no column 'address' among {', '.join(map(repr, header))}")
            default = path.parent.name if path.stem == "all" else path.stem
            if given is None and "label" not in header and header == ["address"]:
                raise InputError("a list without labels; give its class as in Phish=FILE")
            for line, row in rows:
                place = f"line {line}"
                if not row:
                    continue
                if len(row) != len(header):
                    raise InputError(f"{place}: {len(row)} values for {len(header)} columns")
                fields = dict(zip(header, map(str.strip, row), strict=True))
                mainnet = fields.get("chainid", _MAINNET) == _MAINNET
                address = parse_address(fields["address"], place) if mainnet else None
                yield Entry(address, given or fields.get("label", default), fields.get("nametag"), place, mainnet)
        except UnicodeDecodeError as error:
            raise InputError(f"not a readable CSV file ({first_line(error)})") from None


def _header(start: str, rows: Iterator[tuple[int, list[str]]]) -> list[str]:
    """The columns' names, in small letters only; a file that starts with an address has address and label."""
    names = re.split("[;,]", start.strip())
    if is_address(names[0].strip().lower()):
        return ["address", "label"][: len(names)]
    _, header = next(rows, (1, []))
    return [re.sub("[^a-z]", "", name.lower()) for name in header]
