"""The error of a difference of accuracies, by drawing nodes and seeds again."""

import numpy as np
from numpy.typing import NDArray


def error_of_nodes(one: NDArray[np.bool_], other: NDArray[np.bool_], draws: int = 10_000) -> float:
    """The standard deviation of the mean difference over bootstrap samples of the nodes, with the same seeds."""
    generator, nodes = np.random.default_rng(1), one.shape[1]
    means = []
    for _ in range(draws):
        drawn = generator.integers(0, nodes, nodes)
        means.append(one[:, drawn].mean() - other[:, drawn].mean())
    return float(np.std(means))


def variances(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Variances of the mean difference: of nodes, of seeds, and what is in both; element by element."""
    seeds, nodes = one.shape
    d = [[float(one[r, n]) - float(other[r, n]) for n in range(nodes)] for r in range(seeds)]
    mean = sum(map(sum, d)) / (seeds * nodes)
    of_node = [sum(d[r][n] for r in range(seeds)) / seeds for n in range(nodes)]
    of_seed = [sum(d[r]) / nodes for r in range(seeds)]
    by_nodes = sum((value - mean) ** 2 for value in of_node) / nodes**2
    by_seeds = sum((value - mean) ** 2 for value in of_seed) / (seeds - 1) / seeds
    rest = sum((d[r][n] - of_node[n] - of_seed[r] + mean) ** 2 for r in range(seeds) for n in range(nodes))
    return by_nodes, by_seeds, rest / ((seeds - 1) * (nodes - 1)) / (seeds * nodes)
