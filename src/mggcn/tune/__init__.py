"""Tuning: a search for the settings with which a method does best on the validation nodes of a data set.

A trial trains with every seed, and its value is the mean of a validation figure; no figure of the test nodes is read.
The first trial has the settings that the method has anyway, so that a search never ends below where it began. A folder
holds the finished trials (an Optuna journal), the records of their runs, and ``best.toml``, which trains with the best
settings again. What is tried next depends on the finished trials and on nothing else, so a search that was killed goes
on as if it had not been.
"""

from mggcn.tune.search import SPACE, Choice, Range, Search, Target
from mggcn.tune.tuning import BEST, Trial, Tuning, require_optuna

__all__ = ["BEST", "SPACE", "Choice", "Range", "Search", "Target", "Trial", "Tuning", "require_optuna"]
