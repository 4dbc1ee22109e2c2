"""Explore: the nodes of a run, their picks, and the influence of each pick on the scores."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mggcn.explore._explorer import Explorer
    from mggcn.explore._picks import draw_picks
    from mggcn.explore._picks import picks_part as picks_part
    from mggcn.explore._picks import write_page as write_page
    from mggcn.explore._server import HOST
    from mggcn.explore._server import listen as listen
    from mggcn.explore._server import require_starlette as require_starlette
    from mggcn.explore._server import serve as serve

__all__ = [
    "HOST",
    "Explorer",
    "draw_picks",
]

_HOMES = {
    "HOST": "_server",
    "Explorer": "_explorer",
    "draw_picks": "_picks",
    "listen": "_server",
    "picks_part": "_picks",
    "require_starlette": "_server",
    "serve": "_server",
    "write_page": "_picks",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
