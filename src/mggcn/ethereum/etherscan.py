"""Etherscan's API, version 2: the transactions of an account, page by page, at a polite rate.

A call that fails for now (too fast, server trouble, a broken answer) is tried again with growing, jittered pauses; one
that cannot work (a wrong key) is an error at once. The key goes into the address of a call and nowhere else: calls do
not follow redirects, use http only on this machine, and messages are cleared of the key.
"""

import json
import os
import random
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from mggcn.errors import InputError, first_line

URL = "https://api.etherscan.io/v2/api"
KEY_VARIABLE = "ETHERSCAN_API_KEY"
PAGE = 1_000
"""Records a call may give."""
WINDOW = 10_000
"""Records that pages may reach; what lies beyond is reached by starting at a later block."""
_MAINNET = 1
_TIMEOUT, _TRIES, _FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 8, 0.5, 60.0
_FOR_NOW = ("rate limit", "timeout", "timed out", "try again", "busy", "unexpected error")
_FOR_TODAY = "daily"
_BAD_KEY = "invalid api key"
_NEEDED = ("blockNumber", "hash", "from", "to", "value")
_NONE = "no transactions found"
_LOCAL = ("127.0.0.1", "localhost", "::1")

Record = dict[str, str]


@dataclass(frozen=True)
class Cursor:
    """Where the next page of an account starts.

    Args:
        block: the first block asked for.
        page: the page among the records from that block on.
        seen: the hashes of the records of the last block so far, which the next page may repeat.
    """

    block: int = 0
    page: int = 1
    seen: tuple[str, ...] = ()


class _TransientError(Exception):
    """A failure that may be gone at the next try."""

    def __init__(self, told: str, pause: float = 0.0) -> None:
        super().__init__(told)
        self.pause = pause


class Bucket:
    """Tokens that come back at a steady rate; one is taken for each call, and no more than one is saved up.

    Args:
        rate: tokens a second.
        clock: the time in seconds.
        sleep: waits that many seconds.
    """

    def __init__(
        self, rate: float, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        if not 0 < rate < float("inf"):
            raise InputError(f"rate: {rate} is not a positive number of calls a second")
        self._rate, self._clock, self._sleep = rate, clock, sleep
        self._tokens, self._then = 1.0, clock()

    def take(self) -> None:
        """Take a token, waiting for it if need be."""
        now = self._clock()
        self._tokens = min(1.0, self._tokens + (now - self._then) * self._rate)
        self._then = now
        if self._tokens < 1:
            wait = (1 - self._tokens) / self._rate
            self._sleep(wait)
            self._tokens, self._then = 1.0, self._then + wait
        self._tokens -= 1


class Etherscan:
    """The API.

    Args:
        key: the user's key.
        rate: calls a second.
        url: where the API is.
        sleep: waits that many seconds.
    """

    def __init__(
        self, key: str, rate: float = 3.0, url: str = URL, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
            raise InputError(f"{url}: not an https address, and the key would be sent in the clear")
        self.url, self._key, self._sleep = url, key, sleep
        self.calls, self.retries = 0, 0
        self._bucket = Bucket(rate, sleep=sleep)
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._jitter = random.Random()  # noqa: S311 - spreads out pauses, decides nothing

    def pages(self, address: str, cursor: Cursor | None = None) -> Iterator[tuple[list[Record], Cursor | None]]:
        """The transactions of an account from ``cursor`` on: a page, and where the next one starts or None."""
        here: Cursor | None = cursor or Cursor()
        while here is not None:
            records = self._page(address, here)
            seen = set(here.seen)
            fresh = [record for record in records if record["hash"] not in seen]
            here = _after(address, here, records)
            yield fresh, here

    def _page(self, address: str, cursor: Cursor) -> list[Record]:
        query = {
            "chainid": _MAINNET,
            "module": "account",
            "action": "txlist",
            "address": address,
            "startblock": cursor.block,
            "page": cursor.page,
            "offset": PAGE,
            "sort": "asc",
            "apikey": self._key,
        }
        number = 0
        while True:
            number += 1
            self._bucket.take()
            self.calls += 1
            try:
                return _records(self._get(query))
            except _TransientError as error:
                told = self._clear(str(error))
                if number == _TRIES:
                    raise InputError(
                        f"{self.url}: {address}: gave up after {number} tries ({told}); run it again to go on from here"
                    ) from None
                self.retries += 1
                pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (number - 1)) * self._jitter.uniform(0.5, 1.5)
                self._sleep(max(pause, error.pause))
            except InputError as error:
                raise InputError(f"{self.url}: {address}: {self._clear(str(error))}") from None

    def _get(self, query: dict[str, Any]) -> bytes:
        try:
            with self._opener.open(f"{self.url}?{urllib.parse.urlencode(query)}", timeout=_TIMEOUT) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 429 or error.code >= 500:
                    raise _TransientError(f"HTTP {error.code}", _seconds(error.headers.get("Retry-After"))) from None
                raise InputError(f"HTTP {error.code} {error.reason}") from None
        except (urllib.error.URLError, HTTPException, OSError) as error:
            raise _TransientError(first_line(error)) from None

    def _clear(self, text: str) -> str:
        return text.replace(self._key, "…").replace(urllib.parse.quote_plus(self._key), "…")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as the error it is here: following it would hand the key to another address."""

    def redirect_request(self, *_: Any) -> None:
        """Follow nothing."""


def key_from_environment() -> str:
    """The user's key, which is read from the environment and from nowhere else."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise InputError(f"{KEY_VARIABLE}: the environment variable with the Etherscan key is not set")
    return key


def _records(content: bytes) -> list[Record]:
    """The records of an answer, or why there are none."""
    try:
        answer = json.loads(content)
        status, message, result = (answer[name] for name in ("status", "message", "result"))
    except (ValueError, TypeError, KeyError):
        raise _TransientError("the answer is not the JSON that was asked for") from None
    told = f"{message}: {result}".lower() if isinstance(result, str) else str(message).lower()
    if _BAD_KEY in told:
        raise InputError(
            f"Etherscan refused the key in {KEY_VARIABLE}: {result if isinstance(result, str) else message}"
        )
    if _FOR_TODAY in told:
        raise InputError(f"{result}; run it again when the limit is lifted to go on from here")
    if _NONE in told:
        return []
    if status != "1" or not isinstance(result, list):
        if any(sign in told for sign in _FOR_NOW):
            raise _TransientError(str(result or message))
        raise InputError(f"Etherscan answers {message!r}: {result!r}")
    for record in result:
        if not isinstance(record, dict) or not all(isinstance(record.get(name), str) for name in _NEEDED):
            raise _TransientError(f"a record without {', '.join(_NEEDED)}")
        if not record["blockNumber"].isdecimal():
            raise _TransientError(f"a record with blockNumber {record['blockNumber']!r}")
    return result


def _after(address: str, here: Cursor, records: list[Record]) -> Cursor | None:
    """Where the page after this one starts."""
    if len(records) < PAGE:
        return None
    last = records[-1]["blockNumber"]
    seen = tuple(record["hash"] for record in records if record["blockNumber"] == last)
    if records[0]["blockNumber"] == last:
        seen = here.seen + seen
    if here.page * PAGE < WINDOW:
        return Cursor(here.block, here.page + 1, seen)
    if int(last) == here.block:
        raise InputError(f"{address}: more than {WINDOW:,} transactions in block {last}, which the API cannot list")
    return Cursor(int(last), 1, seen)


def _seconds(text: str | None) -> float:
    """The pause that a server asks for, where it says one in seconds."""
    return min(float(text), _LONGEST_PAUSE) if text and text.isdecimal() else 0.0
