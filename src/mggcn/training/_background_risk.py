"""The risks of positive-unlabelled learning: nodes of the class Background are unlabelled, not members of no class.

A share of them, the prior, belongs to the labelled classes, which divide it in proportion to their labelled nodes. Both
risks give the probabilities of a class among unlabelled nodes.

``likelihood`` is that of the labels: a member of a class has a label or none by chance, whatever its features. With *r*
labelled members for each unlabelled one, and *q* the probabilities among unlabelled nodes, a node has label *k* with
probability r · q_k / (1 + r · (1 - q_Background)), and no label with 1 / (1 + r · (1 - q_Background)).

``non-negative`` is the expected loss if all unlabelled nodes counted: that of those in no class is the loss of all
unlabelled nodes minus that of labelled ones, each class in its share. An estimate below 0, which only overfitting can
cause, counts as 0.

References: Elkan and Noto: Learning classifiers from only positive and unlabeled data, KDD 2008. Kiryo, Niu, du Plessis
and Sugiyama: Positive-unlabeled learning with non-negative risk estimator, NeurIPS 2017; differs from it: several
labelled classes, as in Xu, Xu, Xu and Tao: Multi-positive and unlabeled learning, IJCAI 2017; and a negative estimate
has no gradient, instead of one of the opposite sign.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from mggcn.data import BACKGROUND, Dataset
from mggcn.errors import InputError

Risk = Literal["likelihood", "non-negative"]
RiskOf = Callable[[Tensor, Tensor], Tensor]


def background_risk(dataset: Dataset, nodes: NDArray[np.int64], prior: float, kind: Risk) -> RiskOf:
    """The risk over some labelled nodes of a data set with the class Background; ``prior`` is as above.

    It is a function of [n, classes] scores of nodes and their [n] labels.
    """
    if BACKGROUND not in dataset.classes:
        raise InputError(f"background_prior: {dataset.name} has no class {BACKGROUND}")
    background = dataset.classes.index(BACKGROUND)
    share = float(np.mean(dataset.y[nodes] == background).clip(0.5 / nodes.size, 1 - 0.5 / nodes.size))

    def risk(scores: Tensor, labels: Tensor) -> Tensor:
        losses, is_background = -functional.log_softmax(scores, dim=1), labels == background
        own = losses.gather(1, labels[:, None])[:, 0] * ~is_background
        none = losses[:, background]
        if kind == "likelihood":
            ratio = (1 - share) / (prior * share)
            return (own + torch.log1p(-ratio * torch.expm1(-none))).mean()
        in_class = prior / (1 - share)
        in_none = torch.where(is_background, 1 / share, -in_class)
        return (in_class * own).mean() + (in_none * none).mean().clamp(min=0)

    return risk
