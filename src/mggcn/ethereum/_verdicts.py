"""Verdicts of analysts on alerts: a file beside the labels, from which a build takes what was known at a date.

It is a CSV file with the columns ``address``, ``verdict``, ``date``, ``name`` and ``label``. The verdict is one of
:data:`VERDICTS`: ``confirmed``, and ``label`` is the class of the account; ``false alarm``: the account is in none of
the classes, so it is in the class Background; ``unsure``: it has no label. The date is that of the verdict, and the
name that of the analyst. A verdict replaces the label of the file of labels from its date on; of several verdicts on an
account the latest counts.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from mggcn.data import BACKGROUND
from mggcn.errors import InputError, unknown
from mggcn.ethereum._dates import parse_as_of
from mggcn.ethereum._label_lists import account_of, rows_of, write_csv

CONFIRMED, FALSE_ALARM, UNSURE = "confirmed", "false alarm", "unsure"
VERDICTS = (CONFIRMED, FALSE_ALARM, UNSURE)
_COLUMNS = ("address", "verdict", "date", "name", "label")


@dataclass(frozen=True)
class Verdict:
    """What an analyst says of an account.

    Attributes:
        address: of the account.
        verdict: one of :data:`VERDICTS`.
        date: of the verdict, such as ``2020-01-31``, which counts from the end of that day, or a time.
        name: of the analyst.
        label: the class of a confirmed account.
    """

    address: str
    verdict: str
    date: str
    name: str
    label: str = ""

    @property
    def outcome(self) -> str | None:
        """The class of the account from then on, None if it has none."""
        return {CONFIRMED: self.label, FALSE_ALARM: BACKGROUND}.get(self.verdict)

    @property
    def seconds(self) -> int:
        """When the verdict is known, in seconds since 1970."""
        return parse_as_of(self.date, "date")


@dataclass(frozen=True)
class InForce:
    """What the verdicts of a file say at a time.

    Attributes:
        file: its name.
        verdicts: of each account.
        num_others: verdicts that are later, or replaced by a later one.
    """

    file: str
    verdicts: dict[str, Verdict]
    num_others: int

    def note(self, num_known: int) -> str:
        """The verdicts in words, of which the accounts of ``num_known`` have a transaction."""
        counts = Counter(one.verdict for one in self.verdicts.values())
        parts = [", ".join(f"{counts[kind]:,} {kind}" for kind in VERDICTS)]
        parts += [f"{self.num_others:,} later or replaced"] * (self.num_others > 0)
        absent = len(self.verdicts) - num_known
        parts += [f"{absent:,} of accounts without a transaction"] * (absent > 0)
        return f"verdicts of {self.file}: {'; '.join(parts)}"


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a file, the earliest first."""

    file: str
    all: tuple[Verdict, ...]

    def as_of(self, until: int | None) -> InForce:
        """What is known at a time, given in seconds since 1970; None is the end."""
        known = {one.address: one for one in self.all if until is None or one.seconds <= until}
        return InForce(self.file, known, len(self.all) - len(known))


def read_verdicts(path: Path, classes: Collection[str], *, any_ids: bool = False) -> Verdicts:
    """Read a file of verdicts.

    Args:
        path: the file.
        classes: those of the labels; a confirmed account is in one of them.
        any_ids: accept any text as an account; else only addresses.
    """
    spelled = {name.lower(): name for name in classes if name != BACKGROUND}
    verdicts: list[Verdict] = []
    at_time: dict[tuple[str, int], Verdict] = {}
    for location, fields in rows_of(path, _COLUMNS[:-1]):
        kind, label = " ".join(fields["verdict"].lower().replace("_", " ").split()), fields.get("label", "")
        if kind not in VERDICTS:
            raise InputError(f"{location}: verdict {fields['verdict']!r} is none of {', '.join(VERDICTS)}")
        if not fields["name"]:
            raise InputError(f"{location}: the name of the analyst is empty")
        if kind == CONFIRMED and label.lower() not in spelled:
            problem = "a confirmed account needs a class in the column 'label'" if not label else ""
            raise InputError(f"{location}: {problem or unknown('class', label, sorted(spelled.values()))}")
        account = account_of(fields["address"], location, any_ids=any_ids)
        seconds = parse_as_of(fields["date"], f"{location}: date")
        label = spelled[label.lower()] if kind == CONFIRMED else ""
        verdict = Verdict(account, kind, fields["date"], fields["name"], label)
        other = at_time.setdefault((account, seconds), verdict)
        if other.outcome != verdict.outcome:
            raise InputError(
                f"{location}: {account} is {_words(verdict)} at {verdict.date}, and {_words(other)} by {other.name} at "
                "the same time"
            )
        verdicts.append(verdict)
    if not verdicts:
        raise InputError(f"{path}: no verdicts")
    return Verdicts(path.name, tuple(sorted(verdicts, key=attrgetter("seconds"))))


def write_verdicts(path: Path, verdicts: Iterable[Verdict]) -> None:
    """Write a file that :func:`read_verdicts` reads; an existing one is replaced."""
    write_csv(path, _COLUMNS, ([one.address, one.verdict, one.date, one.name, one.label] for one in verdicts))


def _words(verdict: Verdict) -> str:
    return f"{verdict.verdict} ({verdict.label})" if verdict.label else verdict.verdict
