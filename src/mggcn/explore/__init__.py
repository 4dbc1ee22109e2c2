"""Explore: the nodes of a run, their picks, and the influence of each pick on the scores.

Only :mod:`mggcn.explore.server` needs the web server.
"""

from mggcn.explore._explorer import Explorer
from mggcn.explore._picks import draw_picks

__all__ = ["Explorer", "draw_picks"]
