"""Training a method on a data set, and predictions from the trained model.

Names that are not in ``__all__`` are for the other packages.
"""

from mggcn.runs._explaining import Explanation
from mggcn.runs._explaining import explain as explain
from mggcn.runs._fitting import fit_plan as fit_plan
from mggcn.runs._folder import RunFolder as RunFolder
from mggcn.runs._folder import continued as continued
from mggcn.runs._folder import fit, load_run, resume
from mggcn.runs._folder import is_finished as is_finished
from mggcn.runs._folder import load_data as load_data
from mggcn.runs._matching import PART_NAMES
from mggcn.runs._plan import WITHOUT_EFFECT, Config, DataIdentity, Plan, read_config, resolve
from mggcn.runs._plan import Requirements as Requirements
from mggcn.runs._plan import published_results as published_results
from mggcn.runs._predictions import Assessment as Assessment
from mggcn.runs._predictions import Embeddings, Predictions
from mggcn.runs._predictions import check_format as check_format
from mggcn.runs._predictions import unlike as unlike
from mggcn.runs._run import Ensemble, Run
from mggcn.runs._scoring import PickEffect
from mggcn.runs._scoring import Scorer as Scorer

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
