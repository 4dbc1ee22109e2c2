"""The risk of positive-unlabelled learning: nodes of the class Background are unlabelled, not members of no class.

A share of them, the prior, belongs to the labelled classes. The expected loss of an unlabelled node that is in no class
is then that of all unlabelled nodes minus that of labelled ones, each class in its share. An estimate below 0, which
only overfitting can cause, counts as 0.

Reference: Kiryo, Niu, du Plessis and Sugiyama: Positive-unlabeled learning with non-negative risk estimator, NeurIPS
2017. Differs from it: several labelled classes, which divide the prior in proportion to their labelled nodes, as in Xu,
Xu, Xu and Tao: Multi-positive and unlabeled learning, IJCAI 2017; and a negative estimate has no gradient, instead of
one of the opposite sign.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from mggcn.dataset import BACKGROUND, Dataset
from mggcn.errors import InputError


@dataclass(frozen=True, eq=False)
class BackgroundRisk:
    """The non-negative risk of scores.

    Attributes:
        background: the number of the class Background.
        weight: [classes] the share of each class in the graph, as the prior says, over its share of the nodes.
    """

    background: int
    weight: Tensor

    @classmethod
    def of(cls, dataset: Dataset, nodes: NDArray[np.int64], prior: float, device: torch.device) -> "BackgroundRisk":
        """The risk over some labelled nodes of a data set with the class Background."""
        if BACKGROUND not in dataset.classes:
            raise InputError(f"background_prior: {dataset.name} has no class {BACKGROUND}")
        background = dataset.classes.index(BACKGROUND)
        num_background = int(np.count_nonzero(dataset.y[nodes] == background))
        weight = torch.full((dataset.num_classes,), prior * nodes.size / max(nodes.size - num_background, 1))
        weight[background] = nodes.size / max(num_background, 1)
        return cls(background, weight.to(device))

    def __call__(self, scores: Tensor, labels: Tensor) -> Tensor:
        """The risk of [n, classes] scores of nodes with [n] labels."""
        losses = -functional.log_softmax(scores, dim=1)
        weight, is_background = self.weight[labels].to(losses), labels == self.background
        own = losses.gather(1, labels[:, None])[:, 0]
        in_class = (weight * own * ~is_background).mean()
        in_none = (weight * losses[:, self.background] * torch.where(is_background, 1, -1)).mean()
        return in_class + in_none.clamp(min=0)
