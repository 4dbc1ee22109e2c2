"""Training: the settings, what it needs of a method, and the only loop."""

from mggcn.train.epochs import Epochs
from mggcn.train.loop import Fitted, Progress, evaluate, fit, predict
from mggcn.train.method import Method, View
from mggcn.train.training import Training

__all__ = ["Epochs", "Fitted", "Method", "Progress", "Training", "View", "evaluate", "fit", "predict"]
