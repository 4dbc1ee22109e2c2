"""Answers of servers that are not trusted: how large one may be, unpacked, and how long it may take from start to end.

Every request of this package goes through these two functions, whatever library makes it: timeouts of HTTP libraries
hold for a single read, and their limits on size for what is on the wire.
"""

import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from mggcn.errors import InputError

T = TypeVar("T")

MOST_BYTES = 1 << 26
"""The largest answer; a page of a crawl has about a megabyte, Planetoid's largest file a few."""


def within(seconds: float, fetch: Callable[[], T]) -> T:
    """Return what a function fetches; raise TimeoutError after ``seconds``, whatever the server sends.

    The function runs on a thread of its own, which is abandoned then and does not keep the process from ending.
    """
    fetched: Future[T] = Future()

    def run() -> None:
        try:
            fetched.set_result(fetch())
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            fetched.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        return fetched.result(seconds)
    except TimeoutError as error:
        raise error if fetched.done() else TimeoutError(f"no whole answer within {seconds:g} s") from None


def joined(blocks: Iterable[bytes], encoding: str | None = None) -> bytes:
    """Join the blocks of an answer, each of which fits into memory, and unpack it if its ``encoding`` is gzip.

    Raise InputError if it is larger than ``MOST_BYTES``, or packed in another way.
    """
    if encoding not in (None, "", "identity", "gzip"):
        raise InputError(f"the answer is packed with {encoding[:40]!r}, which was not asked for")
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16) if encoding == "gzip" else None
    whole = bytearray()
    for block in blocks:
        room = MOST_BYTES + 1 - len(whole)
        try:
            whole += block[:room] if unpacker is None else unpacker.decompress(block, room)
        except zlib.error as error:
            raise InputError(f"the answer is not gzip ({error})") from None
        if len(whole) > MOST_BYTES:
            raise InputError(f"the answer is larger than {MOST_BYTES >> 20} MiB")
    if unpacker is not None and not unpacker.eof:
        raise InputError("the answer is incomplete")
    return bytes(whole)
