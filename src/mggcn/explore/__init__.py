"""Explore: the nodes of a run, their picks, and the influence of each pick on the scores.

Names that are not in ``__all__`` are for the other packages.
"""

from mggcn.explore._explorer import Explorer
from mggcn.explore._picks import picks_part, write_page
from mggcn.explore._server import HOST, build, listen

__all__ = ["HOST", "Explorer"]
