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

from mggcn.block import Block, Nodes
from mggcn.kernels.relabel import block_between
from mggcn.keys import Key
from mggcn.sampling.layerwise import LayerSample, LayerwiseSampler, draw_among


@dataclass(frozen=True, eq=False)
class AdaptiveSampler(LayerwiseSampler):
    """Draws each layer among the neighbours of the layer above, with probabilities from the model.

    Args:
        importance: a function of [n] nodes and the block of complete neighbourhoods between them that returns the
            importance of each row below, [n], positive for every sender. It is called when a batch is drawn, so it
            follows the training.
    """

    importance: Callable[[Tensor, Block], Tensor]

    def draw_layer(self, nodes: Nodes, rows: csr_array, key: Key) -> LayerSample:
        """Draw in proportion to the model's importance."""
        block, senders = block_between(nodes, rows.indptr, rows.indices, rows.shape[1], rows.data)
        with torch.no_grad():
            importance = self.importance(torch.from_numpy(senders), block).double().cpu().numpy()
        order = np.argsort(senders)
        return draw_among(senders[order], importance[order], self.samples, key)
