"""Training a method on a data set, and predictions from the trained model."""

from mggcn.run.config import Config, config_of, read_config
from mggcn.run.fitting import fit, fit_plan
from mggcn.run.predictions import Predictions
from mggcn.run.run import Run, load_run

__all__ = ["Config", "Predictions", "Run", "config_of", "fit", "fit_plan", "load_run", "read_config"]
