"""The explorer as a local page: a few JSON addresses and the files that show them, for 127.0.0.1 alone.

Requests are answered in turn: there is one reader. A page elsewhere cannot ask, as answers to other host names are
refused (a name that was made to point here included) and no answer allows other origins.
"""

import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import resources
from typing import TYPE_CHECKING, Any

from mggcn.errors import InputError
from mggcn.explore.explorer import MOST_DRAWS, Explorer
from mggcn.report.page import vega

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
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
    "/style.css": ("text/css", ("report/page.css", "explore/explore.css")),
    "/explore.js": ("text/javascript", ("report/shared.js", "explore/explore.js")),
}

Answer = Callable[[int, int], Any]


def require_starlette() -> None:
    """An error that says how to get the server where it is missing."""
    try:
        import altair  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise InputError(f"explore needs {error.name}: pip install 'mggcn[explore]'") from None


def application(explorer: Explorer) -> "Starlette":
    """The page, ``/api/about``, ``/api/search?q=`` and, each with ``?id=``, the answers about a node."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    def file(kind: str, parts: Sequence[str]) -> Callable[["Request"], Awaitable["Response"]]:
        content = "".join(map(_resource, parts))

        async def send(request: "Request") -> "Response":  # noqa: ARG001
            return Response(content, media_type=kind)

        return send

    async def charting(request: "Request") -> "Response":  # noqa: ARG001
        return Response(vega(), media_type="text/javascript")

    async def about(request: "Request") -> "Response":  # noqa: ARG001
        return JSONResponse(asdict(explorer.about()))

    async def search(request: "Request") -> "Response":
        return JSONResponse(explorer.suggest(request.query_params.get("q", "")))

    def ask(answer: Answer, default_draws: int = 1) -> Callable[["Request"], Awaitable["Response"]]:
        async def send(request: "Request") -> "Response":
            try:
                draws = _draws(request.query_params.get("draws", str(default_draws)))
            except InputError as error:
                return JSONResponse({"error": str(error)}, 400)
            try:
                node = explorer.find(request.query_params.get("id", ""))
            except InputError as error:
                return JSONResponse({"error": str(error)}, 404)
            return JSONResponse(asdict(answer(node, draws)))

        return send

    return Starlette(
        routes=[
            *(Route(path, file(*content)) for path, content in _FILES.items()),
            Route("/vega.js", charting),
            Route("/api/about", about),
            Route("/api/search", search),
            Route("/api/node", ask(lambda node, _: explorer.node(node))),
            Route("/api/features", ask(lambda node, _: explorer.features(node))),
            Route("/api/picks", ask(explorer.picks, 200)),
            Route("/api/influence", ask(explorer.influence)),
            Route("/api/neighbours", ask(lambda node, _: explorer.neighbours(node))),
        ],
        middleware=[
            Middleware(_Guarded),
            Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS, www_redirect=False),
        ],
    )


def listen(port: int) -> socket.socket:
    """A socket that only this machine reaches; port 0 takes any free one."""
    if not 0 <= port < 1 << 16:
        raise InputError(f"--port: {port} is not between 0 and 65535")
    own = socket.socket()
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        own.bind((HOST, port))
    except OSError as error:
        own.close()
        raise InputError(f"--port: {port} cannot be used ({error.strerror}); name another one") from None
    own.listen()
    return own


def build(explorer: Explorer) -> "uvicorn.Server":
    """The server, which runs on a socket of :func:`listen`."""
    import uvicorn

    options = uvicorn.Config(application(explorer), log_level="warning", lifespan="off", timeout_graceful_shutdown=2)
    return uvicorn.Server(options)


def serve(explorer: Explorer, own: socket.socket) -> None:
    """Answer until the process is interrupted."""
    with own, suppress(KeyboardInterrupt):
        build(explorer).run(sockets=[own])


class _Guarded:
    """Adds to every answer what keeps it on this machine."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        async def guarded(message: "Message") -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        await self._app(scope, receive, guarded)


def _draws(text: str) -> int:
    is_short = len(text) <= len(str(MOST_DRAWS))  # int() refuses thousands of digits
    if not (is_short and text.isascii() and text.isdigit()) or not 1 <= int(text) <= MOST_DRAWS:
        raise InputError(f"draws: {text!r} is not a number from 1 to {MOST_DRAWS:,}")
    return int(text)


def _resource(path: str) -> str:
    return (resources.files("mggcn") / path).read_text()
