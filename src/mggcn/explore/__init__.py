"""Explore: looking into a run, at its nodes, their picks and what moves their scores.

Nothing here needs the web server but :mod:`mggcn.explore.server`.
"""

from mggcn.explore.picks import draw_picks

__all__ = ["draw_picks"]
