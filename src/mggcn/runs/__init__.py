"""Training a method on a data set, and predictions from the trained model."""

from mggcn.runs._alerts import Thresholds, thresholds
from mggcn.runs._details import Details, ranks_of
from mggcn.runs._embeddings import Embeddings, check_embeddings_format
from mggcn.runs._ensembles import check_alike, ensemble, ensemble_chunks
from mggcn.runs._explanation import Explanation, explain
from mggcn.runs._fitting import fit_plan
from mggcn.runs._folder import RunFolder, continued
from mggcn.runs._labels import labels_in
from mggcn.runs._loading import is_finished, load_data, load_run
from mggcn.runs._parts import most_used, parts_of
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
from mggcn.runs._predictions import Predictions, save_chunks
from mggcn.runs._reasons import has_reasons, reasons_of
from mggcn.runs._resemblance import UNLIKE, separability
from mggcn.runs._run import Run
from mggcn.runs._scored import Scored
from mggcn.runs._scoring import PickEffect, Scorer, without_padding
from mggcn.runs._starting import fit, resume
from mggcn.runs._table import check_format
from mggcn.runs._warm_start import WarmStart

__all__ = [
    "UNLIKE",
    "WITHOUT_EFFECT",
    "Config",
    "DataIdentity",
    "Details",
    "Embeddings",
    "Explanation",
    "PickEffect",
    "Plan",
    "Predictions",
    "Requirements",
    "Run",
    "RunFolder",
    "Scored",
    "Scorer",
    "Thresholds",
    "WarmStart",
    "check_alike",
    "check_embeddings_format",
    "check_format",
    "continued",
    "ensemble",
    "ensemble_chunks",
    "explain",
    "fit",
    "fit_plan",
    "has_reasons",
    "is_finished",
    "labels_in",
    "load_data",
    "load_run",
    "most_used",
    "parts_of",
    "published_results",
    "ranks_of",
    "read_config",
    "reasons_of",
    "resolve",
    "resume",
    "save_chunks",
    "separability",
    "thresholds",
    "without_padding",
]
