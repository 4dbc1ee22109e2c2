"""Tuning: a search for the settings of a method with the best validation metric on a data set.

A trial trains with every seed; its value is the mean of a validation metric, and test nodes are never used. The first
trial has the method's settings without a search, so that the best trial is never worse. A folder holds the finished
trials (an Optuna journal), the records of their runs, and ``best.toml``, which trains with the best settings again. The
next trial depends only on the finished ones, so a search that was killed continues as if it had not been interrupted.
"""

from mggcn.tune.search import SPACE, Choice, Range, Search
from mggcn.tune.tuning import BEST, Trial, Tuning, require_optuna

__all__ = ["BEST", "SPACE", "Choice", "Range", "Search", "Trial", "Tuning", "require_optuna"]
