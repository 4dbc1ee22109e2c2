"""Layer samples whose probabilities a model sets as it learns.

From Huang, Zhang, Rong and Huang, Adaptive sampling towards fast graph representation learning (AS-GCN): a layer is
drawn among the neighbours of the layer above, in proportion to what the model expects each of them to contribute.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.block import Batch, Block, node_numbers
from mggcn.kernels.relabel import block_between
from mggcn.keys import Key
from mggcn.sampling.layerwise import Drawn, draw_among, layered_batches


@dataclass(frozen=True, eq=False)
class AdaptiveSampler:
    """Draws each layer with the probabilities that a model gives the neighbours of the layer above.

    Args:
        adjacency: [num_nodes, num_nodes] whose row v holds the factors of the senders that v hears.
        layers: the number of blocks.
        samples: nodes drawn per layer.
        importance: from [n] nodes and the block of whole neighbourhoods between them to what each row below is worth,
            [n], positive for every sender. It is asked for each batch when that is drawn, so it follows training.
    """

    adjacency: csr_array
    layers: int
    samples: int
    importance: Callable[[Tensor, Block], Tensor]

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; a batch is drawn when it is asked for."""
        return layered_batches(self.adjacency, self.layers, node_numbers(targets), key, batch_size, self._choose)

    def _choose(self, receivers: NDArray[np.int64], rows: csr_array, key: Key) -> Drawn:
        indptr = rows.indptr.astype(np.int64)
        block, nodes = block_between(receivers, indptr, rows.indices, rows.shape[1], rows.data)
        with torch.no_grad():
            importance = self.importance(torch.from_numpy(nodes), block).double().cpu().numpy()
        order = np.argsort(nodes)
        return draw_among(nodes[order], importance[order], self.samples, key)
