"""Explore: the nodes of a run, their picks, and the influence of each pick on the scores.

Names that are not in ``__all__`` are for the other packages.
"""

from mggcn.explore._explorer import Explorer
from mggcn.explore._picks import picks_part as picks_part
from mggcn.explore._picks import write_page as write_page
from mggcn.explore._server import HOST
from mggcn.explore._server import build as build
from mggcn.explore._server import listen as listen
from mggcn.explore._server import require_starlette as require_starlette

__all__ = ["HOST", "Explorer"]
