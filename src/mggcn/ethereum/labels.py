"""Label lists merged into the paper's six classes.

The paper names its classes and cites Etherscan's labels; which label makes which class is inferred. A converter is an
address of Bancor whose name says so, a phishing account one of ``phish-hack`` that Etherscan names Fake_Phishing; a
list without names is taken at its labels' word. An address with labels of two classes has none: it is left out and
told.
"""

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mggcn.errors import InputError, unknown
from mggcn.ethereum.labels_read import Entry, entries
from mggcn.storage import check_file_free, write_atomically

CLASSES = ("ICO", "Converter", "Exchange", "Mining", "Gambling", "Phish")
_CLASS_OF = {
    "icowallet": "ICO",
    "icowallets": "ICO",
    "bancor": "Converter",
    "exchange": "Exchange",
    "mining": "Mining",
    "gambling": "Gambling",
    "phishhack": "Phish",
} | {name.lower(): name for name in CLASSES}
_NAMED = {"bancor": "converter", "phishhack": "fake_phishing"}
"""What an address's name must contain for its label to count."""


@dataclass
class Merged:
    """What came out of merging lists.

    Args:
        classes: the class of each address that has one.
        conflicts: the classes, with their places, of each address that has several.
        by_file: for each list, how many of its addresses it puts into each class.
        dropped: how many entries each label had that makes no class.
        unnamed: how many entries had a label that counts but not the name that it needs.
        foreign: the places of entries of other chains.
    """

    classes: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, dict[str, str]] = field(default_factory=dict)
    by_file: dict[Path, Counter[str]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    unnamed: Counter[str] = field(default_factory=Counter)
    foreign: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """Addresses by class."""
        found = Counter(self.classes.values())
        return {name: found[name] for name in CLASSES}


def parse_list(text: str) -> tuple[Path, str | None]:
    """A list as it is written on the command line: FILE, or Class=FILE for a list without labels."""
    name, equals, file = text.partition("=")
    if not equals or Path(text).is_file():
        return Path(text), None
    if name.lower() not in _CLASS_OF:
        raise unknown("class", name, CLASSES)
    return Path(file), _CLASS_OF[name.lower()]


def class_of(entry: Entry) -> str | None:
    """The class that an entry's label makes, if any; a name that it needs is not looked at."""
    return _CLASS_OF.get(_letters(entry.label))


def merge(lists: Iterable[tuple[Path, str | None]]) -> Merged:
    """Merge lists, each with the class that all of it has or None."""
    merged = Merged()
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path, given in lists:
        seen: dict[str, set[str]] = {name: set() for name in CLASSES}
        for entry in entries(path, given):
            name = class_of(entry)
            if entry.address is None:
                merged.foreign.append(entry.place)
            elif name is None:
                merged.dropped[entry.label] += 1
            elif not _named(entry):
                merged.unnamed[entry.label] += 1
            else:
                seen[name].add(entry.address)
                found[entry.address].setdefault(name, entry.place)
        merged.by_file[path] = Counter({name: len(addresses) for name, addresses in seen.items()})
    for address, classes in sorted(found.items()):
        if len(classes) > 1:
            merged.conflicts[address] = classes
        else:
            merged.classes[address] = next(iter(classes))
    return merged


def write(merged: Merged, out: Path, *, overwrite: bool = False) -> Path:
    """Write labels as ``address,label`` and the conflicts beside them; return the conflicts' file.

    Args:
        merged: what to write; where it has conflicts alone, they are written before it is refused.
        out: the CSV file; neither it nor the conflicts' file is ever one of the lists that were merged.
        overwrite: replace existing files.
    """
    files = ", ".join(map(str, merged.by_file))
    if not merged.classes and not merged.conflicts:
        raise InputError(f"{files}: no address has a label of the classes {', '.join(CLASSES)}")
    conflicts = out.parent / f"{out.stem}.conflicts.csv"
    for path in (out, conflicts):
        _check_writable(path, merged.by_file, overwrite)
    rows = [(address, name, place) for address, classes in merged.conflicts.items() for name, place in classes.items()]
    write_atomically(conflicts, _csv(("address", "label", "place"), rows))
    if not merged.classes:
        raise InputError(f"{files}: every address with a label of the classes has several, see {conflicts}")
    write_atomically(out, _csv(("address", "label"), list(merged.classes.items())))
    return conflicts


def _check_writable(path: Path, lists: Iterable[Path], overwrite: bool) -> None:
    if path.exists() and any(path.samefile(file) for file in lists):
        raise InputError(f"{path}: one of the lists to merge, it would be replaced")
    check_file_free(path, overwrite=overwrite)


def _named(entry: Entry) -> bool:
    wanted = _NAMED.get(_letters(entry.label))
    return wanted is None or entry.name is None or wanted in entry.name.lower()


def _letters(label: str) -> str:
    return "".join(filter(str.isalnum, label.lower()))


def _csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()
