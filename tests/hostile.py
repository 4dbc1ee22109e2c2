"""Servers on this machine that answer every request as an attacker would."""

import gzip
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_BLOCK = bytes(1 << 16)
_HEAD = "HTTP/1.1 200 OK\r\n"
_RECORD = '{"blockNumber": %s, "hash": "0x1", "from": "0x2", "to": "0x3", "value": "4"%s}'


def _plain(body: bytes, headers: str = "") -> Iterator[bytes]:
    yield f"{_HEAD}{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _records(record: str) -> Iterator[bytes]:
    return _plain(f'{{"status": "1", "message": "OK", "result": [{record}]}}'.encode())


def _endless() -> Iterator[bytes]:
    yield _HEAD.encode() + b"\r\n"
    while True:
        yield _BLOCK


def _bomb(layers: int) -> Iterator[bytes]:
    return _plain(_packed(layers), f"Content-Encoding: {', '.join(['gzip'] * layers)}\r\n")


@cache
def _packed(layers: int) -> bytes:
    """Five gigabytes in five megabytes, or in some kilobytes."""
    packer = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    once = b"".join(packer.compress(bytes(1 << 20)) for _ in range(5 << 10)) + packer.flush()
    return once if layers == 1 else gzip.compress(once)


def _slowly(start: str, each: bytes) -> Iterator[bytes]:
    yield start.encode()
    while True:
        time.sleep(0.1)
        yield each


ANSWERS: dict[str, Callable[[], Iterator[bytes]]] = {
    "an endless answer": _endless,
    "a gzip bomb": lambda: _bomb(1),
    "a gzip bomb in gzip": lambda: _bomb(2),
    "gzip that is cut off": lambda: _plain(gzip.compress(b"{}" * 1000)[:20], "Content-Encoding: gzip\r\n"),
    "gzip that is not": lambda: _plain(b"{}", "Content-Encoding: gzip\r\n"),
    "another packing": lambda: _plain(b"{}", "Content-Encoding: zstd\r\n"),
    "a byte of the answer now and then": lambda: _slowly(f"{_HEAD}Content-Length: 99999999\r\n\r\n", b"["),
    "a byte of a header now and then": lambda: _slowly(f"{_HEAD}Some: ", b"x"),
    "nothing at all": lambda: _slowly("", b""),
    "deep lists": lambda: _plain(b"[" * 1_000_000),
    "deep lists in a record": lambda: _records(_RECORD % ('"1"', ', "input": ' + "[" * 900 + "]" * 900)),
    "a number of 5,000 digits": lambda: _plain(b'{"status": "1", "message": "OK", "result": ' + b"9" * 5_000 + b"}"),
    "a block number of 5,000 digits": lambda: _records(
        ", ".join([_RECORD % ('"1"', "")] * 999 + [_RECORD % (f'"{"9" * 5_000}"', "")])
    ),
    "a long message": lambda: _plain(b'{"status": "0", "message": "NOTOK", "result": "' + b"x" * 1_000_000 + b'"}'),
    "no HTTP": lambda: iter([b"\x00\x01\x02\r\n\r\n"]),
    "a connection that is closed": lambda: iter([]),
    "more than was announced": lambda: iter([f"{_HEAD}Content-Length: 2\r\n\r\n".encode() + b"{}" * 100]),
    "less than was announced": lambda: iter([f"{_HEAD}Content-Length: 200\r\n\r\n".encode() + b"{}"]),
    "long headers": lambda: _slowly(f"{_HEAD}{'Some: thing' * 10_000}\r\n" * 100, b"x"),
    "itself, again and again": lambda: iter([b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"]),
}
"""What is sent, block by block, by its name; every one of them has to end in one line."""


@contextmanager
def answering(name: str) -> Iterator[str]:
    """Run a server that gives one of the answers to every request; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.close_connection = True
            with suppress(OSError):
                for block in ANSWERS[name]():
                    self.wfile.write(block)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
