"""Client for Etherscan's API, version 2: the transactions of an account, page by page, at a limited rate.

A call that fails temporarily (rate limit, server error, broken answer) is repeated after growing, randomised pauses. A
call that cannot succeed (a wrong key) is an error at once. The key is sent as part of the URL of a call and appears
nowhere else: redirects are not followed, plain http is allowed only on this machine, and messages and logs never show
the key.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote_plus

import msgspec

from mggcn._io.answers import joined, within
from mggcn.errors import InputError, first_line, prefix_errors, require

ETHERSCAN_URL = "https://api.etherscan.io/v2/api"
KEY_VARIABLE = "ETHERSCAN_API_KEY"
PAGE = 1_000  # the number of records that one call can return
WINDOW = 10_000
"""The number of records that paging can reach; the records after them are listed from a later start block."""

MAINNET = 1
Kinds = Literal["txlist", "txlistinternal"]  # transactions, or the internal transactions that contracts made

_FIXED_QUERY: dict[str, Any] = {"module": "account", "offset": PAGE, "sort": "asc"}
_SECONDS = 60.0  # for a whole answer
_TRIES, _FIRST_PAUSE, _LONGEST_PAUSE, _JITTER = 8, 0.5, 60.0, 0.25
_TEMPORARY = ("rate limit", "timeout", "timed out", "try again", "busy", "unexpected error")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SHOWN = 200  # characters of an answer, in messages

Record = dict[str, str]


class _Answer(msgspec.Struct):
    """An answer of the API."""

    status: str
    message: str | None
    result: list[Record] | str | None


class _Required(msgspec.Struct):
    """What every record has to have; block numbers have 64 bits."""

    block: Annotated[str, msgspec.Meta(pattern="^[0-9]{1,19}$")] = msgspec.field(name="blockNumber")
    hash: str
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    value: str


@dataclass(frozen=True)
class Cursor:
    """The position at which the next page of an account starts."""

    block: int = 0  # the start block of the query
    page: int = 1  # counted from that block
    seen: tuple[str, ...] = ()  # keys of the records that were returned from the last block; the page may repeat them


class _TemporaryError(Exception):
    """A failure that may be gone at the next try; ``pause`` is the wait in seconds that the server asked for."""

    def __init__(self, message: str, pause: float = 0.0) -> None:
        super().__init__(message)
        self.pause = pause


class RateLimit:
    """Keeps calls apart by at least ``1 / rate`` seconds."""

    def __init__(
        self, rate: float, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        if not 0 < rate < float("inf"):
            raise InputError(f"rate: {rate} is not a positive number of calls per second")
        self._interval, self._clock, self._sleep = 1 / rate, clock, sleep
        self._next = clock()

    def wait(self) -> None:
        """Wait until the next call is allowed."""
        self._sleep(max(0.0, self._next - self._clock()))
        self._next = max(self._clock(), self._next) + self._interval


class Etherscan:
    """The API client.

    Args:
        key: the user's API key.
        rate: calls per second.
        url: the address of the API.
        chain: the number of the chain, 1 for Ethereum's mainnet.
        on_pause: called before a failed call is repeated, with the failure and the pause.
        timeout: the seconds after which a server that sends nothing is asked again.

    Attributes:
        calls: the number of calls made.
        retries: how many of them repeated a failed call.
    """

    def __init__(
        self,
        key: str,
        rate: float = 3.0,
        url: str = ETHERSCAN_URL,
        *,
        chain: int = MAINNET,
        on_pause: Callable[[str], None] = lambda _: None,
        timeout: float = 30.0,
    ) -> None:
        for library in ("httpx", "stamina"):
            require(library, "crawl")
        import httpx

        try:
            address = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise InputError(f"{url}: not a URL ({first_line(error)})") from None
        if address.scheme != "https" and not (address.scheme == "http" and address.host in _LOOPBACK):
            raise InputError(f"{url}: not an https address; the key would be sent unencrypted")
        if chain < 1:
            raise InputError(f"chain: {chain} is not the number of a chain, such as {MAINNET} for Ethereum's mainnet")
        self.url, self.chain, self._key, self._on_pause = url, chain, key, on_pause
        self.calls, self.retries = 0, 0
        self._rate_limit = RateLimit(rate)
        self._client = httpx.Client(timeout=timeout, follow_redirects=False, headers={"Accept-Encoding": "gzip"})

    def close(self) -> None:
        """Close the connection to the server."""
        self._client.close()

    def pages(
        self, address: str, cursor: Cursor | None = None, kind: Kinds = "txlist"
    ) -> Iterator[tuple[list[Record], Cursor | None]]:
        """Yield each page of an account's transactions from ``cursor`` on, with the cursor of the next page or None."""
        current: Cursor | None = cursor or Cursor()
        while current is not None:
            records = self._page(address, current, kind)
            seen = set(current.seen)
            new = [record for record in records if _key(record) not in seen]
            current = _next_cursor(address, current, records)
            yield new, current

    def _page(self, address: str, cursor: Cursor, kind: Kinds) -> list[Record]:
        import stamina

        query = {"chainid": self.chain, "action": kind, "apikey": self._key}
        query |= {"address": address, "startblock": cursor.block, "page": cursor.page}
        pauses = {"wait_initial": _FIRST_PAUSE, "wait_max": _LONGEST_PAUSE, "wait_jitter": _JITTER}

        def backoff(error: Exception) -> bool | float:
            return isinstance(error, _TemporaryError) and (error.pause or True)

        with prefix_errors(f"{self.url}: {address}"):
            try:
                for attempt in stamina.retry_context(backoff, attempts=_TRIES, timeout=None, **pauses):
                    with attempt:
                        self._rate_limit.wait()
                        self.calls += 1
                        self.retries += attempt.num > 1
                        try:
                            return _records(self._get(query, attempt.next_wait))
                        except _TemporaryError as error:
                            if attempt.num < _TRIES:
                                pause = error.pause or attempt.next_wait
                                self._on_pause(f"{error}; try {attempt.num + 1} of {_TRIES} in {pause:.0f} s")
                            raise
            except _TemporaryError as error:
                raise InputError(f"gave up after {_TRIES} tries ({error}); run it again to go on from here") from None
        raise AssertionError("stamina raises the error of the last try")

    def _get(self, query: dict[str, Any], next_pause: float) -> str:
        """Return the body of the answer without the key; a pause asked for by the server is at least ``next_pause``."""
        import httpx

        def fetch() -> tuple[httpx.Response, bytes]:
            with self._client.stream("GET", self.url, params=_FIXED_QUERY | query) as answer:
                encoding = answer.headers.get("Content-Encoding") if answer.is_success else None
                return answer, joined(answer.iter_raw(), encoding)

        try:
            answer, body = within(_SECONDS, fetch)
        except (httpx.RequestError, TimeoutError) as error:
            raise _TemporaryError(self._without_key(first_line(error))) from None
        if answer.status_code == 429 or answer.status_code >= 500:
            asked = answer.headers.get("Retry-After", "")  # in seconds, or a date
            pause = max(min(float(asked), _LONGEST_PAUSE), next_pause) if asked.isdecimal() and int(asked) else 0.0
            raise _TemporaryError(f"HTTP {answer.status_code}", pause)
        if not answer.is_success:
            raise InputError(self._without_key(f"HTTP {answer.status_code} {answer.reason_phrase}"[:_SHOWN]))
        return self._without_key(body.decode(errors="replace"))

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "…").replace(quote_plus(self._key), "…")


def key_from_environment() -> str:
    """Return the user's key, which is read from the environment and from nowhere else."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise InputError(f"{KEY_VARIABLE}: the environment variable with the Etherscan key is not set")
    return key


# httpx logs the URL of every request, which contains the key
logging.getLogger("httpx").addFilter(lambda entry: "apikey=" not in entry.getMessage())
logging.getLogger("stamina").addHandler(logging.NullHandler())  # else retries are printed where logging is not set up


def _records(text: str) -> list[Record]:
    """Return the records of an answer; raise an error if it has none for another reason than an empty account."""
    try:
        answer = msgspec.json.decode(text, type=_Answer)
        records = answer.result if isinstance(answer.result, list) else []
        msgspec.convert(records, list[_Required])
    except (ValueError, RecursionError) as error:
        raise _TemporaryError(f"not the JSON that was asked for ({first_line(error)[:_SHOWN]})") from None
    message, result = str(answer.message)[:_SHOWN], answer.result
    explanation = result[:_SHOWN] if isinstance(result, str) else message
    lowered = f"{message}: {explanation}".lower()
    if "invalid api key" in lowered:
        raise InputError(f"Etherscan refused the key in {KEY_VARIABLE}: {explanation}")
    if "daily" in lowered:
        raise InputError(f"{explanation}; run it again when the limit is lifted to go on from here")
    if "no transactions found" in lowered:
        return []
    if answer.status != "1" or not isinstance(result, list):
        if any(sign in lowered for sign in _TEMPORARY):
            raise _TemporaryError(explanation or message)
        raise InputError(f"Etherscan answers {message!r}: {explanation!r}")
    return records


def _key(record: Record) -> str:
    """What only one record has: its hash, and the trace of an internal transaction, of which a hash has several."""
    return "/".join([record["hash"], *([record["traceId"]] if "traceId" in record else [])])


def _next_cursor(address: str, cursor: Cursor, records: list[Record]) -> Cursor | None:
    """Return where the page after ``records`` starts, or None after the last page."""
    if len(records) < PAGE:
        return None
    last = records[-1]["blockNumber"]
    seen = tuple(_key(record) for record in records if record["blockNumber"] == last)
    if records[0]["blockNumber"] == last:
        seen = cursor.seen + seen
    if cursor.page * PAGE < WINDOW:
        return Cursor(cursor.block, cursor.page + 1, seen)
    if int(last) == cursor.block:
        raise InputError(f"{address}: more than {WINDOW:,} transactions in block {last}, which the API cannot list")
    return Cursor(int(last), 1, seen)
