"""Training: its settings, what it needs from a method, the loop, and the record that a run leaves.

Names that are not in ``__all__`` are for the other packages.
"""

from mggcn.training import _environment as environment
from mggcn.training._background_risk import background_risk
from mggcn.training._checkpoints import EVERY, BusyError, Checkpoints, Fitted, check_tensors, lock
from mggcn.training._compute import Compute, Precision, choose_device, warm_up
from mggcn.training._epochs import Epochs, epoch_seconds, nodes_per_batch
from mggcn.training._inference import CHUNK, EVAL_BATCH, Embedder, Inference, evaluate
from mggcn.training._loop import NotedProgress, Progress, Silent, train
from mggcn.training._metrics import (
    Ranked,
    Scores,
    Tally,
    Top,
    ks_of,
    precision_at_rate,
    probabilities_at_rate,
    ranking_of,
)
from mggcn.training._prepared import (
    DENSE_ABOVE,
    AveragedInputs,
    DenseInputs,
    Fit,
    Inputs,
    Penalised,
    Prepared,
    View,
    Views,
    features_by_density,
    inputs_of,
    is_read_dense,
)
from mggcn.training._ranks import ALONE, Ranks, difference
from mggcn.training._record import (
    CHECKPOINT,
    CONFIG,
    MAY_DIVERGE,
    MEMBERS,
    RECORD,
    Epoch,
    Finite,
    Member,
    Ranking,
    RunRecord,
    Whole,
    best_recipe,
    is_unfinished,
    mean,
    near_best,
    packed_bits,
    parse_record,
    read_record,
    recipe_words,
    record_content,
    seconds_until,
    spaced,
    unfinished,
)
from mggcn.training._scaling import FITTED, Scaled, Scaler
from mggcn.training._temperature import calibrated, choose_temperature, fit_temperature, log_odds
from mggcn.training._training import Count, NaturalNumber, NonNegative, Positive, Share, Training, check_bounds

__all__ = [
    "Checkpoints",
    "Compute",
    "DenseInputs",
    "Epochs",
    "Fitted",
    "Inference",
    "Inputs",
    "Penalised",
    "Prepared",
    "Progress",
    "Ranks",
    "Scaler",
    "Training",
    "View",
    "Views",
    "calibrated",
    "choose_device",
    "choose_temperature",
    "evaluate",
    "fit_temperature",
    "inputs_of",
    "log_odds",
    "nodes_per_batch",
    "train",
]
