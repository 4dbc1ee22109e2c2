"""Explore: the nodes of a run, their picks, and the influence of each pick on the scores."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mggcn.explore._explorer import Explorer
    from mggcn.explore._picks import draw_picks
    from mggcn.explore._run_page import picks_part, write_page

__all__ = [
    "Explorer",
    "draw_picks",
    "picks_part",
    "write_page",
]

_HOMES = {
    "Explorer": "_explorer",
    "draw_picks": "_picks",
    "picks_part": "_run_page",
    "write_page": "_run_page",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
