"""Training a method on a data set, and predictions from the trained model.

Names that are not in ``__all__`` are for the other packages.
"""

from mggcn.runs._edge_words import between
from mggcn.runs._explaining import Explanation, explain
from mggcn.runs._fitting import fit_plan
from mggcn.runs._matching import PART_NAMES
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
from mggcn.runs._predictions import (
    Assessment,
    Embeddings,
    Predictions,
    check_format,
    to_frame,
    unlike,
    write_table,
)
from mggcn.runs._run import Ensemble, Run
from mggcn.runs._run_folder import RunFolder, continued, fit, is_finished, load_data, load_run, resume
from mggcn.runs._scorer import PickEffect, Scorer, mean_effects

__all__ = [
    "PART_NAMES",
    "WITHOUT_EFFECT",
    "Config",
    "DataIdentity",
    "Embeddings",
    "Ensemble",
    "Explanation",
    "PickEffect",
    "Plan",
    "Predictions",
    "Run",
    "fit",
    "load_run",
    "read_config",
    "resolve",
    "resume",
]
