"""Training a method on a data set, and predictions from the trained model."""

from mggcn.runs._alerts import Thresholds, check_precision
from mggcn.runs._assessment import Assessment
from mggcn.runs._ensemble import Ensemble
from mggcn.runs._explanation import Explanation, explain
from mggcn.runs._fitting import fit_plan
from mggcn.runs._folder import RunFolder, continued
from mggcn.runs._loading import is_finished, load_data, load_run
from mggcn.runs._nodes import PART_NAMES
from mggcn.runs._plan import (
    WITHOUT_EFFECT,
    Config,
    DataIdentity,
    Plan,
    Requirements,
    published_results,
    read_config,
    resolve,
)
from mggcn.runs._predictions import Embeddings, Predictions, check_embeddings_format
from mggcn.runs._resemblance import separability, unlike
from mggcn.runs._run import Run
from mggcn.runs._scoring import PickEffect, Scorer, without_padding
from mggcn.runs._starting import fit, resume
from mggcn.runs._table import check_format
from mggcn.runs._warm_start import WarmStart

__all__ = [
    "PART_NAMES",
    "WITHOUT_EFFECT",
    "Assessment",
    "Config",
    "DataIdentity",
    "Embeddings",
    "Ensemble",
    "Explanation",
    "PickEffect",
    "Plan",
    "Predictions",
    "Requirements",
    "Run",
    "RunFolder",
    "Scorer",
    "Thresholds",
    "WarmStart",
    "check_embeddings_format",
    "check_format",
    "check_precision",
    "continued",
    "explain",
    "fit",
    "fit_plan",
    "is_finished",
    "load_data",
    "load_run",
    "published_results",
    "read_config",
    "resolve",
    "resume",
    "separability",
    "unlike",
    "without_padding",
]
