"""Whether the nodes that a run was fitted to resemble the graph that it scores, by a two-sample test on the features.

A classifier learns to tell these nodes, those of the class Background among them, from the others. Its area under the
ROC curve is near 0.5 if they are alike, and near 1 if they are a special kind; probabilities that were calibrated on
them then say nothing about the others.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse

from mggcn.data import BACKGROUND, Dataset
from mggcn.errors import InputError, InputWarning
from mggcn.runs._features import match_features
from mggcn.runs._nodes import NEW, parts_of

if TYPE_CHECKING:
    from mggcn.runs._run import Run

_UNLIKE = 0.8
"""The area from which on labelled nodes do not resemble the graph."""

_FEWEST, _MOST = 50, 2_000  # nodes of each kind
_TREES, _LEAF = 100, 5


def separability(run: "Run", data: Dataset, root: Path | None = None) -> float | None:
    """The area under the ROC curve of a random forest that tells the run's labelled nodes from the nodes of a graph.

    Computed out of bag. None if it cannot be: without features, with too few nodes of a kind, or if the training data
    is not available.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    if not data.num_features:
        return None
    try:
        trained = data if run.is_trained_on(data) else run.training_data(root)
    except (InputError, OSError):
        return None
    rng = np.random.default_rng(run.record.seed)
    labelled = np.flatnonzero(parts_of([run], trained, np.arange(trained.num_nodes)) != NEW)
    others = rng.choice(data.num_nodes, min(4 * _MOST, data.num_nodes), replace=False)
    others = others[parts_of([run], data, others) == NEW]
    size = min(labelled.size, others.size, _MOST)
    if size < _FEWEST:
        return None
    with warnings.catch_warnings(action="ignore", category=InputWarning):  # the prediction has given them
        rows = [
            match_features(dataset, run.record.dataset).x[np.sort(nodes)]
            for dataset, nodes in ((trained, rng.permutation(labelled)[:size]), (data, others[:size]))
        ]
    x = np.concatenate(rows) if isinstance(rows[0], np.ndarray) else scipy.sparse.vstack(rows).tocsr()
    is_labelled = np.repeat([1, 0], size)
    forest = RandomForestClassifier(_TREES, min_samples_leaf=_LEAF, oob_score=True, random_state=0).fit(x, is_labelled)
    return float(roc_auc_score(is_labelled, forest.oob_decision_function_[:, 1]))


def unlike(runs: "Sequence[Run]", data: Dataset, root: Path | None = None) -> str | None:
    """What to say of a graph that the nodes that runs were fitted to do not resemble; None if they do."""
    separable = max((separability(run, data, root) or 0.0 for run in runs), default=0.0)
    if separable < _UNLIKE:
        return None
    fitted, advice = "labelled nodes", "see background in mggcn.ethereum.build" if data.id_name == "address" else ""
    if BACKGROUND in runs[0].classes:
        fitted, advice = f"labelled nodes and those of {BACKGROUND}", "precision is that of test nodes only"
    return (
        f"{data.name}: the {fitted} do not resemble the others (a classifier tells them apart with ROC-AUC "
        f"{separable:.2f}), so classes and probabilities of other nodes are not reliable"
    ) + (f"; {advice}" if advice else "")
