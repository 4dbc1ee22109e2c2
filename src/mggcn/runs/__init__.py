"""Training a method on a data set, and predictions from the trained model."""

from mggcn.runs._alerts import Thresholds, thresholds
from mggcn.runs._config import Config, config_of, read_config
from mggcn.runs._continuing import continued
from mggcn.runs._details import Details, ranks_of
from mggcn.runs._embeddings import Embeddings, check_embeddings_format
from mggcn.runs._ensembles import check_alike, ensemble, ensemble_chunks
from mggcn.runs._explanation import Explanation, explain
from mggcn.runs._fitting import fit_plan
from mggcn.runs._folder import RunFolder
from mggcn.runs._labels import labels_in
from mggcn.runs._loading import is_finished, load_data, load_run
from mggcn.runs._parts import most_used, parts_of
from mggcn.runs._predictions import Predictions, save_chunks
from mggcn.runs._reasons import has_reasons, reasons_of
from mggcn.runs._resemblance import UNLIKE, separability
from mggcn.runs._run import Run
from mggcn.runs._scored import Scored
from mggcn.runs._scoring import PickEffect, Scorer, without_padding
from mggcn.runs._spec import TRAITS, RunSpec, identity
from mggcn.runs._starting import fit, resume
from mggcn.runs._table import check_format
from mggcn.runs._warm_start import WarmStart

__all__ = [
    "TRAITS",
    "UNLIKE",
    "Config",
    "Details",
    "Embeddings",
    "Explanation",
    "PickEffect",
    "Predictions",
    "Run",
    "RunFolder",
    "RunSpec",
    "Scored",
    "Scorer",
    "Thresholds",
    "WarmStart",
    "check_alike",
    "check_embeddings_format",
    "check_format",
    "config_of",
    "continued",
    "ensemble",
    "ensemble_chunks",
    "explain",
    "fit",
    "fit_plan",
    "has_reasons",
    "identity",
    "is_finished",
    "labels_in",
    "load_data",
    "load_run",
    "most_used",
    "parts_of",
    "ranks_of",
    "read_config",
    "reasons_of",
    "resume",
    "save_chunks",
    "separability",
    "thresholds",
    "without_padding",
]
