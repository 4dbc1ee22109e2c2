"""Two methods in pairs: the difference of their accuracies over the same test nodes and seeds, and its error.

The difference of a pair of runs at a node is 1, 0 or -1. Its mean would be another one with other test nodes and with
other seeds, so its variance has two parts:

- of the nodes: that of the means over seeds, to which a bootstrap over nodes converges. One node is added to the sum of
  squares, so that a few nodes are no proof (Agresti and Min 2005).
- of the runs: that of the means over nodes, as far as it exceeds what the nodes explain. Runs are pairs of seeds, or
  splits if there are several.

The quotient of mean and error is compared with Student's t, with the degrees of freedom of Satterthwaite (1946). This
is the analysis of readers and cases in diagnostic tests (Obuchowski and Rockette 1995; Hillis 2007), with runs as
readers and nodes as cases. Seeds are not resampled: in a bootstrap of three seeds, three differences of the same sign
are proof, which chance gives one time in four. Two are too few for any test. That random splits share training nodes,
too, is not counted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mggcn.training import RunRecord

FEWEST = 3
"""The pairs of runs that it takes to say anything."""

Right = NDArray[np.bool_]
"""[seeds, nodes] whether a node was predicted correctly."""


@dataclass(frozen=True)
class Difference:
    """The accuracy of one method minus that of another, over pairs of runs.

    Attributes:
        mean: over nodes, seeds and splits.
        error: its standard error.
        freedom: the degrees of freedom of the error; may be infinite.
        seeds: the least number of pairs of seeds on a split.
        splits: the number of splits.
        nodes: the number of test nodes of all splits.
        mcnemar: the p-value of McNemar's exact test, for which each node is right if most seeds are.
    """

    mean: float
    error: float
    freedom: float
    seeds: int
    splits: int
    nodes: int
    mcnemar: float

    @property
    def p(self) -> float:
        """The two-sided p-value of the mean."""
        from scipy import stats

        return float(2 * stats.t.sf(abs(self.mean) / self.error, self.freedom))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval of the mean."""
        from scipy import stats

        half = float(stats.t.ppf((1 + level) / 2, self.freedom)) * self.error
        return self.mean - half, self.mean + half


def difference(one: Sequence[RunRecord], other: Sequence[RunRecord]) -> Difference | None:
    """The difference of two methods, whose runs are paired in the order of their seeds.

    None if records do not say which nodes were right, have no test nodes in common, or are of fewer than
    :data:`FEWEST` pairs of seeds on one split and of as many splits.
    """
    mine, theirs = _by_split(one), _by_split(other)
    pairs = []
    for data, runs in mine.items():
        both = list(zip(runs, theirs.get(data, ()), strict=False))
        if not both:
            continue
        first, second = ([run.right for run in of_method] for of_method in zip(*both, strict=True))
        known = [right for right in (*first, *second) if right is not None and right.size]
        if len(known) < 2 * len(both) or len({right.size for right in known}) > 1:
            return None
        pairs.append((np.array(first), np.array(second)))
    count = len(pairs[0][0]) if len(pairs) == 1 else len(pairs)
    return paired(pairs, _shared(one)) if count >= FEWEST else None


def paired(splits: Sequence[tuple[Right, Right]], shared: float = 1.0) -> Difference:
    """The difference of two methods from the nodes that each had right.

    Args:
        splits: the two arrays of each split; with a single split of at least two seeds.
        shared: the share of the test nodes of a split that are expected among those of another.
    """
    parts = [_Part.of(np.subtract(one, other, dtype=np.int8)) for one, other in splits]
    means, count = np.array([part.mean for part in parts]), len(parts)
    of_nodes = float(np.mean([part.of_nodes for part in parts]))
    if count > 1:
        of_runs, freedom, explained = means.var(ddof=1) / count, count - 1, (1 - shared) * of_nodes / count
        of_nodes *= (1 + (count - 1) * shared) / count
    else:
        of_runs, freedom, explained = parts[0].of_seeds, parts[0].seeds - 1, parts[0].of_both
    variance = of_nodes + max(of_runs - explained, 0.0)
    return Difference(
        float(means.mean()),
        math.sqrt(variance),
        freedom * (variance / of_runs) ** 2 if of_runs else math.inf,
        min(part.seeds for part in parts),
        count,
        sum(part.nodes for part in parts),
        _mcnemar(splits),
    )


@dataclass(frozen=True)
class _Part:
    """The differences on one split: their mean, and variances of the mean."""

    mean: float
    seeds: int
    nodes: int
    of_nodes: float
    of_seeds: float
    of_both: float

    @classmethod
    def of(cls, differences: NDArray[np.int8]) -> "_Part":
        """Of [seeds, nodes] differences; ``of_both`` is the part that is in both of the other variances."""
        seeds, nodes = differences.shape
        by_node, by_seed = differences.mean(axis=0), differences.mean(axis=1)
        mean = float(by_seed.mean())
        squares_of_nodes = float(np.square(by_node - mean).sum())
        squares_of_seeds = float(np.square(by_seed - mean).sum())
        squares = np.count_nonzero(differences) - seeds * nodes * mean**2
        rest = max(squares - seeds * squares_of_nodes - nodes * squares_of_seeds, 0.0)
        free = max(seeds - 1, 1)
        return cls(
            mean,
            seeds,
            nodes,
            (squares_of_nodes + 1) / nodes**2,
            squares_of_seeds / free / seeds,
            rest / (free * max(nodes - 1, 1)) / (seeds * nodes),
        )


def _by_split(records: Sequence[RunRecord]) -> dict[tuple[str, int | None], list[RunRecord]]:
    """The records of each split in the order of their seeds; those of unknown data are left out."""
    found: dict[tuple[str, int | None], list[RunRecord]] = {}
    for record in sorted(records, key=lambda record: record.seed):
        if digest := record.dataset.get("digest"):
            found.setdefault((digest, record.split_seed), []).append(record)
    return found


def _shared(records: Sequence[RunRecord]) -> float:
    """The share of test nodes among those of random splits."""
    sizes = records[0].dataset.get("split") or [0, 0, 1]
    return float(sizes[-1] / sum(sizes))


def _mcnemar(splits: Sequence[tuple[Right, Right]]) -> float:
    from scipy import stats

    only = [0, 0]
    for pair in splits:
        one, other = (right.mean(axis=0) > 1 / 2 for right in pair)
        only = [only[0] + int((one & ~other).sum()), only[1] + int((other & ~one).sum())]
    return float(stats.binomtest(only[0], sum(only)).pvalue) if sum(only) else 1.0
