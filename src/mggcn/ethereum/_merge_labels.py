"""Merges lists of labelled addresses into the paper's six classes.

The paper names its classes and cites Etherscan's labels; which label belongs to which class is our inference. A
converter is an address labelled ``bancor`` whose name contains "converter"; a phishing account is an address labelled
``phish-hack`` whose name contains "Fake_Phishing". In a list without names the label alone decides. An address with
labels of two classes is left out and reported.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mggcn._io.files import check_file_free
from mggcn.errors import InputError, unknown
from mggcn.ethereum._label_lists import read_list, write_csv

CLASSES = ("ICO", "Converter", "Exchange", "Mining", "Gambling", "Phish")
_CLASS_OF = {name.lower(): name for name in CLASSES}
_CLASS_OF |= {"icowallet": "ICO", "icowallets": "ICO", "bancor": "Converter", "phishhack": "Phish"}
_REQUIRED_NAME = {"bancor": "converter", "phishhack": "fake_phishing"}
"""What the name of an address must contain for the label to count."""


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


def merge(lists: Iterable[tuple[Path, str | None]]) -> MergedLabels:
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


def write(merged: MergedLabels, out: Path, *, overwrite: bool = False) -> Path:
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
    write_csv(conflicts, ("address", "label", "place"), rows)
    if not merged.classes:
        raise InputError(f"{lists}: every address with a label of the classes has several, see {conflicts}")
    write_csv(out, ("address", "label"), merged.classes.items())
    return conflicts
