"""Threads that answer requests, so that a long answer does not delay others; and connections that must not be slow."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol

T = TypeVar("T")

_THREADS, MOST_WAITING = 2, 16
SLOW_SECONDS = 10.0
"""How long a connection may take to send a request, or to read what it was sent."""


class BusyError(RuntimeError):
    """So many requests are waiting that another one is refused."""


class Workers:
    """A few threads for answers. They do not keep the process from ending."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self._free = asyncio.Semaphore(_THREADS)
        self._waiting = 0

    async def answer(self, compute: Callable[[], T]) -> T:
        """Run a function in a thread; raises BusyError instead of waiting behind too many others."""
        if self._waiting >= self._most_waiting:
            raise BusyError("too many requests are waiting; try again")
        self._waiting += 1
        try:
            async with self._free:
                return await _in_thread(compute)
        finally:
            self._waiting -= 1


async def _in_thread(compute: Callable[[], T]) -> T:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result, problem = None, None
        try:
            result = compute()
        except Exception as error:  # noqa: BLE001 - raised again where the answer is awaited
            problem = error
        with suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=work, daemon=True).start()
    return await future


def impatient_protocol(seconds: float = SLOW_SECONDS) -> "type[H11Protocol]":
    """Uvicorn's HTTP, except that connections are closed that take longer to send a request or to read an answer."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._start()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop()
            elif self._timer is None:
                self._start()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._start()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _start(self) -> None:
            self._stop()
            self._timer = self.loop.call_later(seconds, self.transport.abort)

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Impatient
