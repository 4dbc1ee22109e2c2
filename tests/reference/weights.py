"""What each neighbour weighs in draws by the weights of edges, counted in the units of the running sums."""

from collections import defaultdict
from fractions import Fraction

import numpy as np

from mggcn.graph import Graph
from mggcn.kernels.pick import RunningSums


def weights_by_pair(graph: Graph) -> dict[tuple[int, int], int]:
    """The weight of each node and neighbour, over all types and both ways; at least one unit."""
    unit, total = Fraction(2) ** -RunningSums(graph, "weight").exponent, defaultdict(Fraction)
    for node in range(graph.num_nodes):
        entries = graph.relations_of(node)
        for neighbour, weight in zip(entries.indices.tolist(), entries.weights().tolist(), strict=True):
            total[node, neighbour] += Fraction(weight)
    return {pair: max(round(Fraction(float(np.float32(float(weight)))) / unit), 1) for pair, weight in total.items()}
