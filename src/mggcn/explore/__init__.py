"""Explore: the nodes of a run, their picks, and the influence of each pick on the scores."""

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
