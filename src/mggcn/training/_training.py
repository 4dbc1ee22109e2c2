"""The settings of training, the same for all methods, and types with bounds for settings."""

import sys
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

from msgspec import Meta

from mggcn.errors import InputError
from mggcn.training._background_risk import Risk
from mggcn.training._compute import Precision
from mggcn.training._scaling import Scaling

MOST = 10**9
"""The largest whole number that a setting can have."""

Count: TypeAlias = Annotated[int, Meta(ge=1, le=MOST, description="is less than 1")]
NaturalNumber: TypeAlias = Annotated[int, Meta(ge=0, le=MOST, description="is less than 0")]
NonNegative: TypeAlias = Annotated[float, Meta(ge=0, description="is less than 0")]
Positive: TypeAlias = Annotated[float, Meta(gt=0, lt=sys.float_info.max, description="is not a positive number")]
Share: TypeAlias = Annotated[float, Meta(ge=0, lt=1, description="is not in [0, 1)")]


@dataclass(frozen=True)
class Training:
    """The settings of training, the same for all methods.

    Attributes:
        epochs: the maximum number of epochs.
        batch_size: targets per step.
        lr: Adam's learning rate.
        weight_decay: Adam's L2 penalty.
        patience: stop after this many epochs without improvement (the paper's window).
        select: which epoch's weights are kept: the one with the lowest validation ``loss``, or with the best validation
            ``accuracy`` or ``macro_f1``.
        scaling: of the features, see :class:`mggcn.training._scaling.Scaler`; ``auto`` is ``row`` if more than half of
            their values are 0, else ``standard``. The authors' code uses ``row`` for citation graphs and
            ``standard`` for Reddit and Ethereum.
        training_graph: train on the ``whole`` graph or on the sub-graph of ``train`` nodes; ``auto`` follows the
            data set (the authors' code: ``train`` for Reddit, ``whole`` for citation graphs).
        input_dropout: the share of input values, averages over neighbours among them, that are set to zero in training;
            all rows of a node in a batch lose the same values, on a GPU only if the batch holds them once.
        label_smoothing: the share of a target's probability that the loss spreads evenly over all classes.
        consistency: train on two draws of every batch at once and add this times the squared distance of their
            probabilities to the loss; 0 trains on one draw.
        averaging: score and keep an exponential average of the weights over epochs, which keeps this share of its old
            value; 0 keeps the weights of one epoch.
        draws: of the picks when nodes are scored; probabilities are the mean over them.
        class_weights: ``balanced`` weights each class by the inverse of its share of the training nodes.
        background_prior: the share of the nodes of the class ``Background`` that belong to the other classes; above 0,
            they count as unlabelled nodes in training and validation loss, see
            :mod:`mggcn.training._background_risk`, and probabilities are those in the graph, without a temperature.
        background_risk: how they count: by the ``likelihood`` of the labels, or by the ``non-negative`` risk.
        shuffle: visit the training nodes in a new order every epoch; the authors' code does not.
        precision: of matrix products: ``tf32`` (the fastest on a GPU without loss of accuracy; on a CPU the same as
            ``fp32``), ``fp32``, or ``bf16`` for mixed precision, which also rounds the scaled features to 8
            significant bits: half the memory, and shorter epochs on a GPU.
        threads: of the sampler, 0 for all cores; the result does not depend on it.
        portfolio: ``auto`` trains each recipe of the method's portfolio, if it has one, and keeps the best or the mean
            of several by validation loss; ``none`` trains the first alone. Settings that are given are those of every
            recipe. A warm start, and a preset other than ``default``, train one recipe.
    """

    epochs: Count = 400
    batch_size: Count = 256
    lr: Positive = 0.01
    weight_decay: NonNegative = 0.0
    patience: Count = 30
    select: Literal["loss", "accuracy", "macro_f1"] = "loss"
    scaling: Scaling = "auto"
    training_graph: Literal["auto", "whole", "train"] = "auto"
    input_dropout: Share = 0.0
    label_smoothing: Share = 0.0
    consistency: NonNegative = 0.0
    averaging: Share = 0.0
    draws: Count = 1
    class_weights: Literal["none", "balanced"] = "none"
    background_prior: Share = 0.0
    background_risk: Risk = "likelihood"
    shuffle: bool = True
    precision: Precision = "tf32"
    threads: NaturalNumber = 0
    portfolio: Literal["auto", "none"] = "none"

    def __post_init__(self) -> None:
        check_bounds(self)
        for name, default in (("class_weights", "none"), ("label_smoothing", 0.0)):
            if self.background_prior and getattr(self, name) != default:
                raise InputError(f"background_prior: cannot be combined with {name}")


def check_bounds(settings: Any) -> None:
    """Raise InputError for a field of a dataclass that is outside the bounds of its type."""
    for name, hint in get_type_hints(type(settings), include_extras=True).items():
        for meta in getattr(hint, "__metadata__", ()):
            value = getattr(settings, name)
            if meta.le is not None and value > meta.le:
                raise InputError(f"{name}: {str(value)[:40]} is more than {meta.le:,}")
            is_above = value >= meta.ge if meta.gt is None else value > meta.gt
            if not (is_above and (meta.lt is None or value < meta.lt)):
                raise InputError(f"{name}: {value} {meta.description}")
