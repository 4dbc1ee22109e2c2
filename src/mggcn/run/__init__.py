"""Training a method on a data set, and predictions from the trained model."""

from mggcn.run.config import Config, config_of, read_config
from mggcn.run.embeddings import Embeddings
from mggcn.run.ensembles import ensemble
from mggcn.run.explanation import Explanation
from mggcn.run.fitting import fit, fit_plan
from mggcn.run.loading import load_run
from mggcn.run.predictions import Predictions
from mggcn.run.run import Run
from mggcn.run.scoring import PickEffect

__all__ = [
    "Config",
    "Embeddings",
    "Explanation",
    "PickEffect",
    "Predictions",
    "Run",
    "config_of",
    "ensemble",
    "fit",
    "fit_plan",
    "load_run",
    "read_config",
]
