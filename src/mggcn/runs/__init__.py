"""Training a method on a data set, and predictions from the trained model."""

from mggcn.runs._alerts import Thresholds, check_precision
from mggcn.runs._assessment import Assessment
from mggcn.runs._config import Config, config_of, read_config
from mggcn.runs._continuing import continued
from mggcn.runs._ensemble import Ensemble
from mggcn.runs._explanation import Explanation, explain
from mggcn.runs._fitting import fit_plan
from mggcn.runs._folder import RunFolder
from mggcn.runs._loading import is_finished, load_data, load_run
from mggcn.runs._nodes import PART_NAMES
from mggcn.runs._predictions import Embeddings, Predictions, check_embeddings_format
from mggcn.runs._resemblance import separability, unlike
from mggcn.runs._run import Run
from mggcn.runs._scoring import PickEffect, Scorer, without_padding
from mggcn.runs._spec import TRAITS, RunSpec, identity
from mggcn.runs._starting import fit, resume
from mggcn.runs._table import check_format
from mggcn.runs._warm_start import WarmStart

__all__ = [
    "PART_NAMES",
    "TRAITS",
    "Assessment",
    "Config",
    "Embeddings",
    "Ensemble",
    "Explanation",
    "PickEffect",
    "Predictions",
    "Run",
    "RunFolder",
    "RunSpec",
    "Scorer",
    "Thresholds",
    "WarmStart",
    "check_embeddings_format",
    "check_format",
    "check_precision",
    "config_of",
    "continued",
    "explain",
    "fit",
    "fit_plan",
    "identity",
    "is_finished",
    "load_data",
    "load_run",
    "read_config",
    "resume",
    "separability",
    "unlike",
    "without_padding",
]
