"""The explorer as a local page: JSON answers and the files that show them, served only to 127.0.0.1.

Answers are computed by a few threads, so that a long one does not delay others, and those over many draws for a limited
time; slow connections are closed. Web pages elsewhere can neither read answers nor start the work for them: requests
for other host names are refused (also for a name that resolves to this machine), so are requests that a browser says
come from another site, and no answer allows other origins.
"""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mggcn.errors import InputError
from mggcn.experiments import vega
from mggcn.explore._explorer import MAX_DRAWS, Explorer

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Endpoint = Callable[[Request], Awaitable[Response]]

HOST = "127.0.0.1"
_SECONDS = 10.0  # after which no further draw of an answer begins
_MOST_CONNECTIONS = 64
_HOSTS = [HOST, "localhost"]
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_FILES = {
    "/": ("text/html", ("explore/page.html",)),
    "/style.css": ("text/css", ("experiments/page.css", "explore/explore.css")),
    "/explore.js": ("text/javascript", ("experiments/shared.js", "explore/graph.js", "explore/explore.js")),
}
if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol

T = TypeVar("T")

_THREADS, MOST_WAITING = 2, 16
SLOW_SECONDS = 10.0
"""How long a connection may take to send a request, or to read what it was sent."""


def require_starlette() -> None:
    """Raise an error that says how to install the server if a library is missing."""
    try:
        for name in ("altair", "starlette", "uvicorn", "vl_convert"):
            import_module(name)
    except ImportError as error:
        raise InputError(f"explore needs {error.name}: pip install 'mggcn[explore]'") from None


def application(explorer: Explorer, most_waiting: int = MOST_WAITING) -> "Starlette":
    """The page, ``/api/about``, ``/api/search?q=`` and, each with ``?id=``, the answers about a node."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import Response
    from starlette.routing import Route

    workers = Workers(most_waiting)

    def endpoint(respond: "Callable[[Request], Response]") -> "Endpoint":
        async def respond_async(request: "Request") -> "Response":
            try:
                return await workers.answer(lambda: respond(request))
            except BusyError as error:
                return json({"error": str(error)}, 503)

        return respond_async

    def file(kind: str, parts: tuple[str, ...]) -> "Endpoint":
        text = "".join((resources.files("mggcn") / part).read_text() for part in parts)
        return endpoint(lambda _: Response(text, media_type=kind))

    def json(answer: object, status: int = 200) -> "Response":
        return Response(msgspec.json.encode(answer), status, media_type="application/json")

    def about_node(answer: Callable[..., Any], default_draws: int | None = None) -> "Endpoint":
        """Answer about the node ``?id=``, over at most ``?draws=`` draws if the answer depends on them."""

        def respond(request: "Request") -> "Response":
            try:
                text = request.query_params.get("draws", str(default_draws))
                draws = [_draws(text), _SECONDS] if default_draws else []
            except InputError as error:
                return json({"error": str(error)}, 400)
            try:
                node = explorer.ids.find(request.query_params.get("id", ""))
            except InputError as error:
                return json({"error": str(error)}, 404)
            return json(answer(node, *draws))

        return endpoint(respond)

    return Starlette(
        routes=[
            *(Route(path, file(*content)) for path, content in _FILES.items()),
            Route("/vega.js", endpoint(lambda _: Response(vega(), media_type="text/javascript"))),
            Route("/api/about", endpoint(lambda _: json(explorer.about()))),
            Route("/api/search", endpoint(lambda request: json(explorer.suggest(request.query_params.get("q", ""))))),
            Route("/api/node", about_node(explorer.node)),
            Route("/api/attributions", about_node(explorer.attributions)),
            Route("/api/features", about_node(explorer.features)),
            Route("/api/picks", about_node(explorer.picks, 200)),
            Route("/api/influence", about_node(explorer.influence, 1)),
            Route("/api/neighbours", about_node(explorer.neighbours)),
        ],
        middleware=[
            Middleware(_SecurityHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS, www_redirect=False),
            Middleware(_SameOrigin),
        ],
    )


def listen(port: int) -> socket.socket:
    """A socket that only this machine can reach; port 0 takes any free port."""
    if not 0 <= port < 1 << 16:
        raise InputError(f"port: {port} is not between 0 and 65535")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise InputError(f"port: {port} cannot be used ({error.strerror}); choose another port") from None
    listener.listen()
    return listener


def build(
    explorer: Explorer, *, most_waiting: int = MOST_WAITING, slow_seconds: float = SLOW_SECONDS
) -> "uvicorn.Server":
    """The server, to be run on a socket from :func:`listen`.

    Args:
        explorer: what it shows.
        most_waiting: requests; others are refused.
        slow_seconds: after which a connection is closed that sends a request, or reads an answer, for longer.
    """
    import uvicorn

    options = uvicorn.Config(
        application(explorer, most_waiting),
        http=impatient_protocol(slow_seconds),
        log_level="warning",
        lifespan="off",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(options)


def serve(explorer: Explorer, listener: socket.socket) -> None:
    """Answer requests until the process is interrupted."""
    with listener:
        build(explorer).run(sockets=[listener])


class _SecurityHeaders:
    """Adds ``_HEADERS`` to every answer."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                headers = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *headers]}
            await send(message)

        await self._app(scope, receive, send_with_headers)


class _SameOrigin:
    """Refuses requests that another site starts, by a header that browsers add and pages cannot change."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        from starlette.responses import PlainTextResponse

        site = dict(scope.get("headers", ())).get(b"sec-fetch-site", b"none")
        if site in (b"same-origin", b"none"):
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse("only for pages of this server", 403)(scope, receive, send)


def _draws(text: str) -> int:
    is_short = len(text) <= len(str(MAX_DRAWS))  # int() refuses thousands of digits
    if not (is_short and text.isascii() and text.isdigit()) or not 1 <= int(text) <= MAX_DRAWS:
        raise InputError(f"draws: {text!r} is not a number from 1 to {MAX_DRAWS:,}")
    return int(text)


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
