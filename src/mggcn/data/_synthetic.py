"""Synthetic graphs of the size of graphs that are not freely available: a block model with Gaussian features.

The block model is degree-corrected. Each node has a class and a weight from a heavy-tailed (Lomax) distribution. An
edge joins two nodes with probability proportional to their weights; with probability ``homophily`` the second node is
from the community of the first. A node's community is its class, except for a share of ``strays``, whose edges follow
another class, so that no model can classify them by their neighbours. Features are the mean of the class plus noise,
which hides the class in a single node and averages out over neighbours.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn.data._dataset import Dataset
from mggcn.data._folder import save
from mggcn.data._root import load_or_build
from mggcn.data._split import UNLABELLED, Split
from mggcn.errors import InputError
from mggcn.graph import Graph

Nodes = NDArray[np.int64]
Weights = NDArray[np.float64]

_ROWS = 1 << 14
_ROUNDS = 100
_MOST_DENSE = 0.2
_HUB = 0.1  # the largest expected degree, as a share of the nodes
_FEWEST = 5  # labelled nodes of a class


@dataclass(frozen=True)
class _Plan:
    num_nodes: int
    num_edges: int
    num_features: int
    classes: tuple[str, ...]
    class_shares: tuple[float, ...]
    num_labelled: int
    split_sizes: tuple[int, int, int]
    homophily: float
    strays: float
    signal: float
    tail: float
    inductive: bool


_SHARES = np.arange(1, 42) ** -0.5
_ETHEREUM = {"Exchange": 232, "Converter": 211, "ICO": 172, "Phish": 110, "Mining": 62, "Gambling": 29}
_PLANS = {
    "reddit-like": _Plan(
        num_nodes=232_965,
        num_edges=11_606_919,
        num_features=602,
        classes=tuple(f"class {label}" for label in range(41)),
        class_shares=tuple(_SHARES / _SHARES.sum()),
        num_labelled=232_965,
        split_sizes=(152_410, 23_699, 55_334),
        homophily=0.6,
        strays=0.05,
        signal=0.08,
        tail=2.0,
        inductive=True,
    ),
    "ethereum-like": _Plan(
        num_nodes=1_402_220,
        num_edges=2_815_028,
        num_features=13,
        classes=tuple(_ETHEREUM),
        class_shares=tuple(size / 816 for size in _ETHEREUM.values()),
        num_labelled=816,
        split_sizes=(572, 82, 162),
        homophily=0.7,
        strays=0.05,
        signal=0.5,
        tail=1.5,
        inductive=False,
    ),
}


def load(name: str, scale: str | None, root: Path | None, seed: int, mmap: bool | None) -> Dataset:
    """Load ``reddit-like`` or ``ethereum-like`` at a scale, generated and stored the first time."""
    try:
        factor = 1.0 if scale is None else float(scale)
    except ValueError:
        raise InputError(f"{name}:{scale}: the scale is not a number") from None
    folder = f"synthetic/{name}-{factor:.12g}-{seed}"
    return load_or_build(folder, lambda target: save(generate(name, factor, seed), target), root=root, mmap=mmap)


def generate(name: str, scale: float = 1.0, seed: int = 0) -> Dataset:
    """Generate a graph like Reddit or like the paper's Ethereum graph.

    Args:
        name: ``reddit-like`` or ``ethereum-like``.
        scale: multiplies nodes, edges and labels.
        seed: of all draws.
    """
    plan = _PLANS[name]
    if not math.isfinite(scale) or scale <= 0:
        raise InputError(f"{name}: scale {scale:g} is not a positive number")
    num_nodes, num_classes = round(plan.num_nodes * scale), len(plan.classes)
    if num_nodes < 10 * num_classes:
        raise InputError(f"{name}: scale {scale:g} leaves {num_nodes} nodes; {10 * num_classes} are the fewest")
    rng = np.random.default_rng(seed)
    num_edges = min(round(plan.num_edges * scale), int(_MOST_DENSE * num_nodes * (num_nodes - 1) / 2))
    label = rng.permutation(np.repeat(np.arange(num_classes), _counts(num_nodes, plan.class_shares)))
    weight = 0.05 + rng.pareto(plan.tail, num_nodes)
    np.minimum(weight, weight.sum() * _HUB * num_nodes / (2 * num_edges), out=weight)
    community = np.where(rng.random(num_nodes) < plan.strays, rng.permutation(label), label)
    graph = _graph(rng, community, weight, num_edges, plan.homophily)
    means = rng.standard_normal((num_classes, plan.num_features), np.float32) * np.float32(plan.signal)
    x = rng.standard_normal((num_nodes, plan.num_features), np.float32)
    for start in range(0, num_nodes, _ROWS):  # the means of all rows would take as much memory as x
        x[start : start + _ROWS] += means[label[start : start + _ROWS]]
    pool = _labelled(rng, label, weight, plan, scale)
    y = np.full(num_nodes, UNLABELLED, dtype=np.int64)
    y[pool] = label[pool]
    split = _split(rng, y, pool, np.array(plan.split_sizes) / plan.num_labelled)
    source = f"synthetic: degree-corrected block model, scale {scale:g}, seed {seed}"
    return Dataset(name, graph, x, y, plan.classes, split, inductive=plan.inductive, source=source)


def _counts(total: int, shares: tuple[float, ...]) -> Nodes:
    """Divide ``total`` in the given shares, at least a few each; the first also receives what rounding leaves."""
    counts: Nodes = np.maximum(np.floor(np.array(shares) * total).astype(np.int64), _FEWEST)
    counts[0] += total - counts.sum()
    return counts


def _graph(rng: np.random.Generator, community: Nodes, weight: Weights, num_edges: int, homophily: float) -> Graph:
    """Draw distinct edges until there are ``num_edges``; in the first round every node draws one."""
    order = np.argsort(community, kind="stable")
    ends = np.concatenate([[0.0], np.cumsum(weight[order])])
    bounds = ends[np.searchsorted(community[order], np.arange(community.max() + 2))]
    num_nodes = community.size
    keys = np.empty(0, np.int64)
    first = rng.permutation(num_nodes)[:num_edges]
    for _ in range(_ROUNDS):
        if first.size == 0:
            lacking = num_edges - keys.size
            first = _draw(ends, rng.random(lacking + lacking // 4 + 1024) * ends[-1])
        home = community[order[first]]
        low, high = bounds[home], bounds[home + 1]
        away = rng.random(first.size) >= homophily
        low[away], high[away] = 0.0, ends[-1]
        second = _draw(ends, low + rng.random(first.size) * (high - low))
        pair = np.minimum(first, second) * num_nodes + np.maximum(first, second)
        new = np.setdiff1d(pair[first != second], keys)
        if keys.size + new.size > num_edges:
            new = rng.permutation(new)[: num_edges - keys.size]
        keys = np.sort(np.concatenate([keys, new]))
        first = first[:0]
        if keys.size == num_edges:
            break
    source, target = np.divmod(keys, num_nodes)
    return Graph.from_edges(order[source], order[target], num_nodes)


def _draw(ends: Weights, point: Weights) -> Nodes:
    """Return the index of the interval of the cumulative weights ``ends`` that contains each point."""
    return np.minimum(np.searchsorted(ends, point, side="right") - 1, ends.size - 2)


def _labelled(rng: np.random.Generator, label: Nodes, weight: Weights, plan: _Plan, scale: float) -> Nodes:
    """Return the nodes whose label is known: all, or some of each class, drawn in proportion to their weights."""
    if plan.num_labelled == plan.num_nodes:
        return np.arange(label.size)
    total = max(round(plan.num_labelled * scale), _FEWEST * len(plan.classes))
    labelled = []
    for number, count in enumerate(_counts(total, plan.class_shares)):
        nodes = np.flatnonzero(label == number)
        shares = weight[nodes] / weight[nodes].sum()
        labelled.append(rng.choice(nodes, min(count, nodes.size), replace=False, p=shares))
    return np.concatenate(labelled)


def _split(rng: np.random.Generator, y: Nodes, pool: Nodes, shares: Weights) -> Split:
    """Divide the pool into parts of exactly the given shares, with each class spread evenly over them."""
    nodes = rng.permutation(pool)
    nodes = nodes[np.argsort(y[nodes], kind="stable")]
    size = np.bincount(y[nodes])
    position = np.arange(nodes.size) - np.repeat(np.cumsum(size) - size, size)
    nodes = nodes[np.argsort((position + rng.random(nodes.size)) / np.repeat(size, size))]
    cuts = np.cumsum(np.round(shares * nodes.size).astype(np.int64))
    train, val, test, _ = np.split(nodes, cuts)
    return Split(np.sort(train), np.sort(val), np.sort(test))
