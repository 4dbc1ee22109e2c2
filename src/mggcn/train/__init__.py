"""Training: its settings, what it needs from a method, and the training loop."""

from mggcn.train.checkpoints import Checkpoints
from mggcn.train.compute import Compute, Precision, choose_device
from mggcn.train.epochs import Epochs, nodes_per_batch
from mggcn.train.inputs import DenseInputs, Inputs, inputs_of
from mggcn.train.loop import fit
from mggcn.train.prepared import Penalised, Prepared, View, Views
from mggcn.train.progress import Progress
from mggcn.train.ranks import ALONE, Ranks
from mggcn.train.scaling import Scaler
from mggcn.train.scoring import evaluate, hidden, predict, predict_chunks
from mggcn.train.state import Fitted
from mggcn.train.temperature import calibrated, choose_temperature, fit_temperature, log_odds
from mggcn.train.training import Training

__all__ = [
    "ALONE",
    "Checkpoints",
    "Compute",
    "DenseInputs",
    "Epochs",
    "Fitted",
    "Inputs",
    "Penalised",
    "Precision",
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
    "fit",
    "fit_temperature",
    "hidden",
    "inputs_of",
    "log_odds",
    "nodes_per_batch",
    "predict",
    "predict_chunks",
]
