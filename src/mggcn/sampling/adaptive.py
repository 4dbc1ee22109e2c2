"""Layer samples whose probabilities are set by the model and change as it learns.

From Huang, Zhang, Rong and Huang, Adaptive sampling towards fast graph representation learning (AS-GCN): a layer is
drawn among the neighbours of the layer above, in proportion to the contribution that the model expects of each.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.block import Block
from mggcn.kernels.relabel import block_between
from mggcn.keys import Key
from mggcn.sampling.layerwise import DrawLayer, LayerSample, LayerwiseSampler, Nodes, draw_among


@dataclass(frozen=True, eq=False)
class AdaptiveSampler(LayerwiseSampler):
    """Draws each layer among the neighbours of the layer above, with probabilities from the model.

    Args:
        adjacency: see LayerwiseSampler.
        layers: the number of blocks.
        samples: nodes drawn per layer.
        importance: a function of [n] nodes and the block of complete neighbourhoods between them that returns the
            importance of each row below, [n], positive for every sender. It is called when a batch is drawn, so it
            follows the training.
    """

    importance: Callable[[Tensor, Block], Tensor]

    def draw_function(self, targets: Nodes) -> DrawLayer:  # noqa: ARG002
        """Draw in proportion to the model's importance."""
        return self._by_importance

    def _by_importance(self, receivers: Nodes, rows: csr_array, key: Key) -> LayerSample:
        indptr = rows.indptr.astype(np.int64)
        block, nodes = block_between(receivers, indptr, rows.indices, rows.shape[1], rows.data)
        with torch.no_grad():
            importance = self.importance(torch.from_numpy(nodes), block).double().cpu().numpy()
        order = np.argsort(nodes)
        return draw_among(nodes[order], importance[order], self.samples, key)
