"""The folder of a crawl, which survives a kill of the process at any moment.

It holds ``transactions.jsonl``, one record of the API per line, and ``journal.log``, one line per page: the account,
where its next page starts, and the length of the first file after that page. A page counts once its journal line is
complete. What a killed process wrote after the last complete line is removed when the folder is opened again. The
journal's first line is written before any transaction, so a file of transactions without a journal belongs to somebody
else and is not touched.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from mggcn.errors import InputError
from mggcn.ethereum.etherscan import Cursor, Record

TRANSACTIONS, JOURNAL = "transactions.jsonl", "journal.log"


class Store(AbstractContextManager["Store"]):
    """The folder of a crawl, opened by one process at a time.

    The seed and ``accounts``, a digest of the labelled accounts, cannot change when a crawl is continued.
    """

    def __init__(self, folder: Path, seed: int, accounts: str) -> None:
        self.folder, self.file, journal = folder, folder / TRANSACTIONS, folder / JOURNAL
        self.finished: set[str] = set()  # the accounts that are fetched completely or cut short
        self.cut: set[str] = set()  # the accounts that are cut short
        self.count = 0  # the number of records
        self._positions: dict[str, tuple[Cursor, int]] = {}
        self._length = 0
        if self.file.exists() and not (journal.exists() and b"\n" in journal.read_bytes()):
            raise InputError(f"{self.file}: not written by a crawl, {JOURNAL} does not list it; choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            self._journal: BinaryIO = stack.enter_context(journal.open("ab+"))
            try:
                fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{folder}: another crawl is writing here") from None
            self._read_journal({"seed": seed, "accounts": accounts})
            self._lines: BinaryIO = stack.enter_context(self.file.open("ab+"))
            self._remove_incomplete_page()
            self._files = stack.pop_all()

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def position(self, account: str) -> tuple[Cursor, int]:
        """Return where the next page of an unfinished account starts, and how many of its records are stored."""
        return self._positions.get(account, (Cursor(), 0))

    def add(self, account: str, page: list[Record], next_cursor: Cursor | None, *, cut: bool = False) -> None:
        """Store a page; ``next_cursor`` is None if the account is finished, and ``cut`` says that more was left."""
        text = b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in page)
        _append(self._lines, text)
        length = self._length + len(text)
        fields = None if next_cursor is None else asdict(next_cursor)
        self._log({"account": account, "records": len(page), "length": length, "next": fields, "cut": cut})
        self._count_page(account, len(page), length, next_cursor, cut)

    def records(self) -> Iterator[Record]:
        """Yield all records stored so far."""
        with self.file.open("rb") as file:
            yield from map(json.loads, file)

    def _count_page(self, account: str, records: int, length: int, next_cursor: Cursor | None, cut: bool) -> None:
        self.count += records
        self._length = length
        _, before = self._positions.pop(account, (None, 0))
        if next_cursor is not None:
            self._positions[account] = next_cursor, before + records
            return
        self.finished.add(account)
        if cut:
            self.cut.add(account)

    def _log(self, fields: dict[str, Any]) -> None:
        _append(self._journal, json.dumps(fields).encode() + b"\n")

    def _read_journal(self, settings: dict[str, Any]) -> None:
        self._journal.seek(0)
        complete, end, incomplete = self._journal.read().rpartition(b"\n")
        if not end:
            first = {"crawl": settings}
            if not json.dumps(first).encode().startswith(incomplete):
                raise self._bad_line(1)
            self._journal.truncate(0)
            self._log(first)
            return
        for number, line in enumerate(complete.split(b"\n"), 1):
            try:
                fields = json.loads(line)
                if number == 1:
                    self._check_settings(fields["crawl"], settings)
                    continue
                position = fields["next"]
                cursor = position and Cursor(position["block"], position["page"], tuple(position["seen"]))
                self._count_page(fields["account"], fields["records"], fields["length"], cursor, fields["cut"])
            except InputError:
                raise
            except (ValueError, TypeError, KeyError):
                raise self._bad_line(number) from None
        self._journal.truncate(len(complete) + len(end))

    def _bad_line(self, number: int) -> InputError:
        return InputError(f"{self.folder / JOURNAL}: line {number}: not a line of a crawl's journal")

    def _check_settings(self, begun: dict[str, Any], now: dict[str, Any]) -> None:
        if begun["seed"] != now["seed"]:
            raise InputError(f"{self.folder}: begun with seed {begun['seed']}, not {now['seed']}")
        if begun["accounts"] != now["accounts"]:
            raise InputError(
                f"{self.folder}: begun with other labelled accounts; use the same ones, or choose another folder"
            )

    def _remove_incomplete_page(self) -> None:
        size = self._lines.seek(0, os.SEEK_END)
        if size < self._length:
            raise InputError(
                f"{self.file}: {size:,} bytes, but the journal lists {self._length:,}; the file is damaged"
            )
        self._lines.truncate(self._length)


def _append(file: BinaryIO, content: bytes) -> None:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())
