"""Models and convolutions over blocks, as ordinary modules."""

from mggcn.nn.conv import MeanConv, Project, aggregate
from mggcn.nn.mg_gcn import MGGCN

__all__ = ["MGGCN", "MeanConv", "Project", "aggregate"]
