"""Training: the settings, what it needs of a method, and the only loop."""

from mggcn.train.count import nodes_per_batch
from mggcn.train.epochs import Epochs
from mggcn.train.loop import Fitted, Progress, evaluate, fit, predict
from mggcn.train.method import Method, Penalised, View, Views
from mggcn.train.temperature import calibrated, fit_temperature
from mggcn.train.training import Training

__all__ = [
    "Epochs",
    "Fitted",
    "Method",
    "Penalised",
    "Progress",
    "Training",
    "View",
    "Views",
    "calibrated",
    "evaluate",
    "fit",
    "fit_temperature",
    "nodes_per_batch",
    "predict",
]
