"""What a crawl has fetched, safe against being killed at any moment.

A folder holds ``transactions.jsonl``, one record of the API a line, and ``journal.log``, a line for every page: the
account, where its next page starts, and how long the first file then was. A page counts once its line in the journal
is whole; what a killed process left beyond the last such line is cut off when the folder is opened again. The journal's
first line comes before any transaction, so a file of transactions without it is not a crawl's and is left alone.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from mggcn.errors import InputError
from mggcn.ethereum.etherscan import Cursor, Record

TRANSACTIONS, JOURNAL = "transactions.jsonl", "journal.log"


@dataclass(frozen=True)
class Terms:
    """What a folder's crawl was begun with and must be continued with: the seed and the digest of its accounts."""

    seed: int
    accounts: str


class Store:
    """The folder of a crawl, opened by one process at a time.

    Args:
        folder: made where it does not exist.
        terms: of the crawl.

    Attributes:
        finished: the accounts that are wholly fetched.
        cut: those of them that were cut short.
        count: how many records are kept.
    """

    def __init__(self, folder: Path, terms: Terms) -> None:
        self.folder = folder
        self.finished: set[str] = set()
        self.cut: set[str] = set()
        self.count = 0
        self._begun: dict[str, tuple[Cursor, int]] = {}
        self._length = 0
        self._open = ExitStack()
        self._check_own()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._journal: BinaryIO = self._open.enter_context((folder / JOURNAL).open("ab+"))
            self._lock()
            self._read_journal(terms)
            self._lines: BinaryIO = self._open.enter_context((folder / TRANSACTIONS).open("ab+"))
            self._trim()
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def file(self) -> Path:
        """The file of transactions."""
        return self.folder / TRANSACTIONS

    def begun(self, account: str) -> tuple[Cursor, int]:
        """Where the next page of an unfinished account starts, and how many of its records are kept."""
        return self._begun.get(account, (Cursor(), 0))

    def add(self, account: str, page: list[Record], after: Cursor | None, *, cut: bool = False) -> None:
        """Keep a page; ``after`` is where the next starts, None when the account is finished, ``cut`` if early."""
        text = b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in page)
        self._lines.write(text)
        _flush(self._lines)
        length = self._length + len(text)
        after_fields = None if after is None else asdict(after)
        self._enter({"account": account, "records": len(page), "length": length, "next": after_fields, "cut": cut})
        self._note(account, len(page), length, after, cut)

    def records(self) -> Iterator[Record]:
        """All records kept so far."""
        with self.file.open("rb") as file:
            for line in file:
                yield json.loads(line)

    def _note(self, account: str, records: int, length: int, after: Cursor | None, cut: bool) -> None:
        self.count += records
        self._length = length
        _, before = self._begun.pop(account, (None, 0))
        if after is not None:
            self._begun[account] = after, before + records
            return
        self.finished.add(account)
        if cut:
            self.cut.add(account)

    def _enter(self, fields: dict[str, Any]) -> None:
        self._journal.write(json.dumps(fields).encode() + b"\n")
        _flush(self._journal)

    def _check_own(self) -> None:
        journal = self.folder / JOURNAL
        if self.file.exists() and not (journal.exists() and b"\n" in journal.read_bytes()):
            raise InputError(f"{self.file}: not of a crawl, {JOURNAL} does not know it; give another folder")

    def _lock(self) -> None:
        try:
            fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.folder}: another crawl is writing here") from None

    def _read_journal(self, terms: Terms) -> None:
        self._journal.seek(0)
        whole, end, torn = self._journal.read().rpartition(b"\n")
        if not end:
            opening = {"crawl": asdict(terms)}
            if not json.dumps(opening).encode().startswith(torn):
                raise self._foreign(1)
            self._journal.truncate(0)
            self._enter(opening)
            return
        for number, line in enumerate(whole.split(b"\n"), 1):
            try:
                fields = json.loads(line)
                if number == 1:
                    self._check(Terms(**fields["crawl"]), terms)
                    continue
                after = fields["next"]
                cursor = None if after is None else Cursor(after["block"], after["page"], tuple(after["seen"]))
                self._note(fields["account"], fields["records"], fields["length"], cursor, fields["cut"])
            except (ValueError, TypeError, KeyError) as error:
                if isinstance(error, InputError):
                    raise
                raise self._foreign(number) from None
        self._journal.truncate(len(whole) + len(end))

    def _foreign(self, line: int) -> InputError:
        return InputError(f"{self.folder / JOURNAL}: line {line}: not a line of a crawl's journal")

    def _check(self, begun: Terms, now: Terms) -> None:
        if begun.seed != now.seed:
            raise InputError(f"{self.folder}: begun with seed {begun.seed}, not {now.seed}")
        if begun.accounts != now.accounts:
            raise InputError(f"{self.folder}: begun with other labelled accounts; give those or another folder")

    def _trim(self) -> None:
        found = self._lines.seek(0, os.SEEK_END)
        if found < self._length:
            raise InputError(
                f"{self.file}: {found:,} bytes, the journal knows of {self._length:,}; the file is damaged"
            )
        self._lines.truncate(self._length)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
