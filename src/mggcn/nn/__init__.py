"""Models and convolutions over blocks, as ordinary modules."""

from mggcn.nn.attention import GATConv
from mggcn.nn.conv import GCNConv, Layer, Linear, MeanConv, aggregate
from mggcn.nn.lstm import LSTMConv
from mggcn.nn.mg_gcn import CONVS, MGGCN
from mggcn.nn.pool import PoolConv
from mggcn.nn.pyg_conv import PyGConv
from mggcn.nn.stack import MLP, Stack

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
