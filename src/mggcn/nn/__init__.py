"""Models and convolutions over blocks, as ordinary modules."""

from mggcn.nn.conv import GCNConv, MeanConv, Project, activated, aggregate
from mggcn.nn.mg_gcn import CONVS, MGGCN
from mggcn.nn.stack import MLP, Stack

__all__ = ["CONVS", "MGGCN", "MLP", "GCNConv", "MeanConv", "Project", "Stack", "activated", "aggregate"]
