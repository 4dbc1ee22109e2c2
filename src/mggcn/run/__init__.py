"""Training a method on a data set, and predictions from the trained model."""

from mggcn.run.config import Config, config_of, read_config
from mggcn.run.continuing import continued
from mggcn.run.embeddings import Embeddings
from mggcn.run.ensembles import ensemble, ensemble_chunks
from mggcn.run.explanation import Explanation
from mggcn.run.fitting import fit_plan
from mggcn.run.folder import RunFolder
from mggcn.run.loading import load_run
from mggcn.run.predictions import Predictions, save_chunks
from mggcn.run.run import Run
from mggcn.run.scoring import PickEffect
from mggcn.run.starting import fit, resume
from mggcn.run.warm_start import WarmStart

__all__ = [
    "Config",
    "Embeddings",
    "Explanation",
    "PickEffect",
    "Predictions",
    "Run",
    "RunFolder",
    "WarmStart",
    "config_of",
    "continued",
    "ensemble",
    "ensemble_chunks",
    "fit",
    "fit_plan",
    "load_run",
    "read_config",
    "resume",
    "save_chunks",
]
