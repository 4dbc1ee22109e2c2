"""Models and convolutions over blocks, as ordinary modules."""

from mggcn.nn.conv import GATConv, GCNConv, Layer, Linear, LSTMConv, MeanConv, PoolConv, PyGConv, aggregate
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
