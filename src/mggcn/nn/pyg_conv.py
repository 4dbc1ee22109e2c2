"""PyTorch Geometric's convolutions over blocks."""

from torch import Tensor, nn

from mggcn.block import Block


class PyGConv(nn.Module):
    """Calls a bipartite convolution of PyTorch Geometric, such as SAGEConv, GATConv or TransformerConv, on a block.

    The convolution receives ``((x, x[root]), edge_index)``: the rows of the layer below, those of the receivers, and
    the block's edges. Of a block's weights only zeros are used: such an edge is left out.

    Args:
        conv: a convolution that accepts a pair of feature matrices. Convolutions that add self-loops to bipartite
            graphs (GATConv by default) connect row i with receiver i, which is the receiver's own row in MG-GCN's
            blocks.
    """

    def __init__(self, conv: nn.Module) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, x: Tensor, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        edge_index = block.edge_index
        if block.weight is not None:
            edge_index = edge_index[:, block.weight.detach() != 0]
        out: Tensor = self.conv((x, x.index_select(0, block.root)), edge_index)
        return out
