"""Training: its settings, what it needs from a method, the loop, and the record that a run leaves.

Names that are not in ``__all__`` are for the other packages.
"""

from mggcn.training import _environment as environment  # noqa: F401
from mggcn.training._bounds import Count as Count
from mggcn.training._bounds import NaturalNumber, NonNegative, Positive, Share, check_bounds
from mggcn.training._checkpoints import EVERY, Checkpoints
from mggcn.training._checkpoints import BusyError as BusyError
from mggcn.training._checkpoints import lock as lock
from mggcn.training._compute import Compute, Precision, choose_device
from mggcn.training._epochs import Epochs, nodes_per_batch
from mggcn.training._epochs import epoch_seconds as epoch_seconds
from mggcn.training._inputs import DENSE_ABOVE, DenseInputs, Inputs, inputs_of
from mggcn.training._inputs import AveragedInputs as AveragedInputs
from mggcn.training._inputs import features_by_density as features_by_density
from mggcn.training._inputs import is_read_dense as is_read_dense
from mggcn.training._loop import train
from mggcn.training._metrics import ECE_BINS
from mggcn.training._metrics import Scores as Scores
from mggcn.training._metrics import Tally as Tally
from mggcn.training._metrics import Top as Top
from mggcn.training._metrics import calibration_gaps as calibration_gaps
from mggcn.training._prepared import Fit as Fit
from mggcn.training._prepared import Penalised, Prepared, View, Views
from mggcn.training._progress import Progress
from mggcn.training._progress import Silent as Silent
from mggcn.training._ranking import Ranked as Ranked
from mggcn.training._ranking import ks_of as ks_of
from mggcn.training._ranking_record import Alerts as Alerts
from mggcn.training._ranking_record import Ranking as Ranking
from mggcn.training._ranking_record import mean as mean
from mggcn.training._ranks import ALONE, Ranks
from mggcn.training._ranks import difference as difference
from mggcn.training._ranks import join as join
from mggcn.training._record import MAY_DIVERGE, Finite
from mggcn.training._record import Epoch as Epoch
from mggcn.training._record import RunRecord as RunRecord
from mggcn.training._record import near_best as near_best
from mggcn.training._record import seconds_until as seconds_until
from mggcn.training._record import spaced as spaced
from mggcn.training._record_file import CHECKPOINT, CONFIG, RECORD, unfinished
from mggcn.training._record_file import is_unfinished as is_unfinished
from mggcn.training._record_file import parse_record as parse_record
from mggcn.training._record_file import read_record as read_record
from mggcn.training._record_file import record_content as record_content
from mggcn.training._scaling import FITTED, Scaler
from mggcn.training._scaling import Scaled as Scaled
from mggcn.training._scoring import CHUNK, EVAL_BATCH, evaluate, hidden, predict
from mggcn.training._scoring import predict_chunks as predict_chunks
from mggcn.training._scoring import scores_of as scores_of
from mggcn.training._state import Fitted
from mggcn.training._temperature import calibrated, choose_temperature, fit_temperature, log_odds
from mggcn.training._training import Training
from mggcn.training._waking import wake as wake

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
    "Checkpoints",
    "Compute",
    "DenseInputs",
    "Epochs",
    "Finite",
    "Fitted",
    "Inputs",
    "NaturalNumber",
    "NonNegative",
    "Penalised",
    "Positive",
    "Precision",
    "Prepared",
    "Progress",
    "Ranks",
    "Scaler",
    "Share",
    "Training",
    "View",
    "Views",
    "calibrated",
    "check_bounds",
    "choose_device",
    "choose_temperature",
    "evaluate",
    "fit_temperature",
    "hidden",
    "inputs_of",
    "log_odds",
    "nodes_per_batch",
    "predict",
    "train",
    "unfinished",
]
