"""Models and convolutions over blocks, as ordinary modules."""

from mggcn.nn.conv import GATConv, GCNConv, Layer, Linear, MeanConv, PyGConv, aggregate
from mggcn.nn.graphsage import LSTMConv, PoolConv
from mggcn.nn.stack import CONVS, MGGCN, MLP, Stack

__all__ = [
    "CONVS",
    "MGGCN",
    "MLP",
    "GATConv",
    "GCNConv",
    "LSTMConv",
    "Layer",
    "Linear",
    "MeanConv",
    "PoolConv",
    "PyGConv",
    "Stack",
    "aggregate",
]
