"""The explorer as a local page: JSON answers and the files that show them, served only to 127.0.0.1.

Starlette answers in threads, so that a long answer does not delay others. Web pages elsewhere can neither read answers
nor start the work for them: requests for other host names are refused (also for a name that resolves to this machine),
so are requests that a browser says come from another site, and no answer allows other origins.
"""

import socket
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec

from mggcn.errors import InputError
from mggcn.experiments import vega
from mggcn.explore._explorer import MAX_DRAWS, Explorer

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

HOST = "127.0.0.1"
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


def application(explorer: Explorer) -> "Starlette":
    """The page, ``/api/about``, ``/api/search?q=`` and, each with ``?id=``, the answers about a node."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    async def guard(request: "Request", call_next: RequestResponseEndpoint) -> "Response":
        """Refuse requests that another site starts, by a header that browsers add and pages cannot change."""
        if request.headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
            response = await call_next(request)
        else:
            response = PlainTextResponse("only for pages of this server", 403)
        response.headers.update(_HEADERS)
        return response

    def json(answer: object, status: int = 200) -> "Response":
        return Response(msgspec.json.encode(answer), status, media_type="application/json")

    def file(path: str, kind: str, parts: tuple[str, ...]) -> "Route":
        text = "".join((resources.files("mggcn") / part).read_text() for part in parts)
        return Route(path, lambda _: Response(text, media_type=kind))

    def about_node(answer: Callable[..., Any], default_draws: int | None = None) -> "Route":
        """Answer about the node ``?id=``, over at most ``?draws=`` draws if the answer depends on them."""

        def respond(request: "Request") -> "Response":
            text = request.query_params.get("draws", str(default_draws))
            draws = [_draws(text)] if default_draws else []
            return json(answer(explorer.ids.find(request.query_params.get("id", "")), *draws))

        return Route(f"/api/{answer.__name__}", respond)

    return Starlette(
        routes=[
            *(file(path, *content) for path, content in _FILES.items()),
            Route("/vega.js", lambda _: Response(vega(), media_type="text/javascript")),
            Route("/api/about", lambda _: json(explorer.about())),
            Route("/api/search", lambda request: json(explorer.suggest(request.query_params.get("q", "")))),
            about_node(explorer.node),
            about_node(explorer.attributions),
            about_node(explorer.features),
            about_node(explorer.picks, 200),
            about_node(explorer.influence, 1),
            about_node(explorer.neighbours),
        ],
        middleware=[
            Middleware(BaseHTTPMiddleware, dispatch=guard),
            Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"], www_redirect=False),
        ],
        exception_handlers={InputError: lambda _, error: json({"error": str(error)}, 400)},
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


def build(explorer: Explorer, *, most_connections: int = 64) -> "uvicorn.Server":
    """The server, to be run on a socket from :func:`listen`.

    Args:
        explorer: what it shows.
        most_connections: at the same time; requests of others are refused.
    """
    import uvicorn

    options = uvicorn.Config(
        application(explorer),
        log_level="warning",
        lifespan="off",
        limit_concurrency=most_connections,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(options)


def _draws(text: str) -> int:
    is_short = len(text) <= len(str(MAX_DRAWS))  # int() refuses thousands of digits
    if not (is_short and text.isascii() and text.isdigit()) or not 1 <= int(text) <= MAX_DRAWS:
        raise InputError(f"draws: {text!r} is not a number from 1 to {MAX_DRAWS:,}")
    return int(text)
