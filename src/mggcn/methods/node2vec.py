"""node2vec: scalable feature learning for networks (Grover and Leskovec).

Inputs are an embedding of the nodes as in DeepWalk, by walks whose steps depend on the previous node: p and q control
how often they return and how far they move away, beside the weights of edges if there are any. The model is a logistic
regression; no blocks. As with :mod:`mggcn.methods.deepwalk`, a run can score only the graph it was trained on.

Differs from the paper: walks of 40 nodes by default instead of 80, and p and q are not searched for each data set.

Reference: Grover and Leskovec: node2vec: Scalable Feature Learning for Networks, KDD 2016.
"""

from dataclasses import dataclass

from mggcn.methods.deepwalk import DeepWalk
from mggcn.methods.method import GraphView
from mggcn.training import Positive, Views


@dataclass(frozen=True)
class Node2Vec(DeepWalk):
    """node2vec: a logistic regression on embeddings by random walks with return and in-out parameters.

    Attributes:
        p: the return parameter: the smaller it is, the more often a walk returns to the previous node.
        q: the in-out parameter: the smaller it is, the further a walk moves away.
    """

    p: Positive = 1.0
    q: Positive = 0.5

    def prepare(self, view: GraphView) -> Views:
        """The embedding of the graph."""
        return self._embedded(view, p=self.p, q=self.q)
