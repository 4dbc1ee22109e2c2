"""Models and convolutions over blocks, as ordinary modules."""

from mggcn.nn.conv import GCNConv, Linear, MeanConv, activated, aggregate
from mggcn.nn.mg_gcn import CONVS, MGGCN
from mggcn.nn.stack import MLP, Stack

__all__ = ["CONVS", "MGGCN", "MLP", "GCNConv", "Linear", "MeanConv", "Stack", "activated", "aggregate"]
