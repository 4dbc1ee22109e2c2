"""Training: its settings, what it needs from a method, the loop, and the record that a run leaves."""

from mggcn.training._bounds import NaturalNumber, NonNegative, Positive, Share, check_bounds
from mggcn.training._checkpoints import EVERY, BusyError, Checkpoints, lock
from mggcn.training._compute import Compute, Precision, choose_device
from mggcn.training._epochs import Epochs, epoch_seconds, nodes_per_batch
from mggcn.training._inputs import (
    DENSE_ABOVE,
    AveragedInputs,
    DenseInputs,
    Inputs,
    features_by_density,
    inputs_of,
    is_read_dense,
)
from mggcn.training._loop import train
from mggcn.training._metrics import ECE_BINS, Scores, Tally, Top, calibration_gaps
from mggcn.training._prepared import Fit, Penalised, Prepared, View, Views
from mggcn.training._progress import Progress, Silent
from mggcn.training._ranking import Ranked, ks_of
from mggcn.training._ranking_record import Alerts, Ranking, mean
from mggcn.training._ranks import ALONE, Ranks
from mggcn.training._record import MAY_DIVERGE, Epoch, Finite, RunRecord, near_best, seconds_until, spaced
from mggcn.training._record_file import (
    CHECKPOINT,
    CONFIG,
    RECORD,
    is_unfinished,
    parse_record,
    read_record,
    record_content,
    unfinished,
)
from mggcn.training._scaling import FITTED, Scaled, Scaler
from mggcn.training._scoring import CHUNK, EVAL_BATCH, evaluate, hidden, predict, predict_chunks, scores_of
from mggcn.training._state import Fitted
from mggcn.training._temperature import calibrated, choose_temperature, fit_temperature, log_odds
from mggcn.training._training import Training
from mggcn.training._waking import wake

__all__ = [
    "ALONE",
    "CHECKPOINT",
    "CHUNK",
    "CONFIG",
    "DENSE_ABOVE",
    "ECE_BINS",
    "EVAL_BATCH",
    "EVERY",
    "FITTED",
    "MAY_DIVERGE",
    "RECORD",
    "Alerts",
    "AveragedInputs",
    "BusyError",
    "Checkpoints",
    "Compute",
    "DenseInputs",
    "Epoch",
    "Epochs",
    "Finite",
    "Fit",
    "Fitted",
    "Inputs",
    "NaturalNumber",
    "NonNegative",
    "Penalised",
    "Positive",
    "Precision",
    "Prepared",
    "Progress",
    "Ranked",
    "Ranking",
    "Ranks",
    "RunRecord",
    "Scaled",
    "Scaler",
    "Scores",
    "Share",
    "Silent",
    "Tally",
    "Top",
    "Training",
    "View",
    "Views",
    "calibrated",
    "calibration_gaps",
    "check_bounds",
    "choose_device",
    "choose_temperature",
    "epoch_seconds",
    "evaluate",
    "features_by_density",
    "fit_temperature",
    "hidden",
    "inputs_of",
    "is_read_dense",
    "is_unfinished",
    "ks_of",
    "lock",
    "log_odds",
    "mean",
    "near_best",
    "nodes_per_batch",
    "parse_record",
    "predict",
    "predict_chunks",
    "read_record",
    "record_content",
    "scores_of",
    "seconds_until",
    "spaced",
    "train",
    "unfinished",
    "wake",
]
