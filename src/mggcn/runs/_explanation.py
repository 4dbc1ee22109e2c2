"""Explanation: why a run gives a node a class, as numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mggcn.runs._attribution import attribute, check_attributable, probabilities, target_only
from mggcn.runs._scoring import PickEffect, Probabilities, Scorer
from mggcn.runs._table import to_frame

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Explanation:
    """What contributes to the probability of one class of one node; see :meth:`mggcn.runs.Run.explain`.

    Attributes:
        node: the node number.
        node_id: the user's id.
        classes: the name of each class.
        label: the class that is explained, as an index of ``classes``.
        probabilities: [classes] calibrated, mean over the draws.
        value: what is explained: the probability of the class or, where asked for, its log-odds, mean over the draws.
        baseline: the same if all scaled features are zero.
        features: the name of each feature.
        target: [num_features] the contributions of the node's own features.
        others: [num_features] the contributions of the features of all other nodes, summed over the nodes.
        picks: the leave-one-out effects of the picks; empty for methods without picks.
        pick_ids: the user's ids of the picks.
    """

    node: int
    node_id: object
    classes: tuple[str, ...]
    label: int
    probabilities: Probabilities
    value: float
    baseline: float
    features: tuple[str, ...]
    target: NDArray[np.float64]
    others: NDArray[np.float64]
    picks: tuple[PickEffect, ...]
    pick_ids: tuple[object, ...]

    @property
    def predicted(self) -> int:
        """The most probable class."""
        return int(self.probabilities.argmax())

    @property
    def probability(self) -> float:
        """The probability of the explained class."""
        return float(self.probabilities[self.label])

    @property
    def error(self) -> float:
        """What integration misses: the sum of all contributions minus ``value - baseline``."""
        return float(self.target.sum() + self.others.sum() - (self.value - self.baseline))

    def to_pandas(self) -> "pandas.DataFrame":
        """A row for each effect on the probability of the explained class; needs the extra ``pandas``.

        The column ``kind`` is ``target`` or ``others`` for a feature of the node or of other nodes, ``pick`` for a
        pick; ``name`` is the name of the feature or the id of the pick, and ``effect`` the contribution, the largest of
        each kind first. Features without a contribution are left out.
        """
        parts: list[tuple[str, list[object], NDArray[np.float64]]] = []
        for kind, effects in (("target", self.target), ("others", self.others)):
            used = np.flatnonzero(effects)
            parts.append((kind, [self.features[column] for column in used], effects[used]))
        parts.append(("pick", [*self.pick_ids], np.array([pick.changes[self.label] for pick in self.picks])))
        columns: dict[str, list[Any]] = {"kind": [], "name": [], "effect": []}
        for kind, names, effects in parts:
            for index in np.argsort(-np.abs(effects), kind="stable"):
                for column, value in zip(columns.values(), (kind, names[index], float(effects[index])), strict=True):
                    column.append(value)
        kinds = {"kind": np.str_, "name": np.object_, "effect": np.float64}
        return to_frame({name: np.array(values, kinds[name]) for name, values in columns.items()})


def explain(scorer: Scorer, node: int, label: int | None, draws: int, *, logits: bool = False) -> Explanation:
    """Explain the probability of a class of a node, or its log-odds; of the predicted class if ``label`` is None."""
    check_attributable(scorer)
    data, run = scorer.dataset, scorer.run
    scores = np.mean([probabilities(scorer, node, draw) for draw in range(draws)], axis=0)
    label = int(scores.argmax()) if label is None else label
    own = target_only(scorer, node)
    parts = [attribute(scorer, node, label, draw, own, logits=logits) for draw in range(draws)]
    picks = scorer.effects(node, range(draws))[1] if scorer.picker is not None else []
    ids = data.ids_of([node, *(pick.node for pick in picks)]).tolist()
    return Explanation(
        node,
        ids[0],
        run.classes,
        label,
        scores,
        float(np.mean([part.value for part in parts])),
        float(np.mean([part.baseline for part in parts])),
        _names(scorer),
        np.mean([part.target for part in parts], axis=0),
        np.mean([part.others for part in parts], axis=0),
        tuple(picks),
        tuple(ids[1:]),
    )


def _names(scorer: Scorer) -> tuple[str, ...]:
    """The names of the features as the run was trained on them; ``feature 3`` for one without a name."""
    trained = scorer.run.record.dataset
    count = trained["num_features"]
    names = trained.get("feature_names") or scorer.dataset.feature_names or [""] * count
    return tuple(name or f"feature {column}" for column, name in enumerate(names))
