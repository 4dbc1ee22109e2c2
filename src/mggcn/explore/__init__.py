"""Explore: the nodes of a run, their picks, and the influence of each pick on the scores."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mggcn.explore._explorer import Explorer
    from mggcn.explore._picks import draw_picks, picks_part, write_page
    from mggcn.explore._server import HOST, listen, require_starlette, serve

__all__ = [
    "HOST",
    "Explorer",
    "draw_picks",
    "listen",
    "picks_part",
    "require_starlette",
    "serve",
    "write_page",
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
