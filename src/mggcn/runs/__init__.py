"""Training a method on a data set, and predictions from the trained model.

Names that are not in ``__all__`` are for the other packages.
"""

from mggcn.runs._assessment import Assessment as Assessment
from mggcn.runs._assessment import Thresholds as Thresholds
from mggcn.runs._assessment import separability as separability
from mggcn.runs._assessment import unlike as unlike
from mggcn.runs._explaining import Explanation
from mggcn.runs._explaining import explain as explain
from mggcn.runs._fitting import fit_plan as fit_plan
from mggcn.runs._folder import RunFolder as RunFolder
from mggcn.runs._folder import continued as continued
from mggcn.runs._folder import fit, load_run, resume
from mggcn.runs._folder import is_finished as is_finished
from mggcn.runs._folder import load_data as load_data
from mggcn.runs._matching import PART_NAMES
from mggcn.runs._plan import (
    WITHOUT_EFFECT,
    Config,
    DataIdentity,
    Plan,
    published_results,
    read_config,
    resolve,
)
from mggcn.runs._plan import Requirements as Requirements
from mggcn.runs._predictions import Embeddings, Predictions
from mggcn.runs._predictions import check_format as check_format
from mggcn.runs._run import Ensemble, Run
from mggcn.runs._scoring import PickEffect
from mggcn.runs._scoring import Scorer as Scorer
from mggcn.runs._scoring import without_padding as without_padding

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
    "published_results",
    "read_config",
    "resolve",
    "resume",
]
