"""Methods: one class per paper, whose fields are its settings. This file is the list of them.

Names that are not in ``__all__`` are for the other packages.
"""

from dataclasses import is_dataclass

from torch import nn

from mggcn.errors import InputError, unknown
from mggcn.graph import EDGE_PARTS
from mggcn.methods import settings
from mggcn.methods._fine import memory_for_rows
from mggcn.methods.as_gcn import ASGCN
from mggcn.methods.cluster_gcn import ClusterGCN
from mggcn.methods.deepwalk import DeepWalk
from mggcn.methods.fastgcn import FastGCN
from mggcn.methods.gamlp import GAMLP
from mggcn.methods.gcn import GCN
from mggcn.methods.graphsage import GraphSAGEGCN, GraphSAGELSTM, GraphSAGEMean, GraphSAGEPool
from mggcn.methods.graphsaint import GraphSAINT
from mggcn.methods.label_propagation import LabelPropagation
from mggcn.methods.ladies import LADIES
from mggcn.methods.lightgbm import LightGBM
from mggcn.methods.method import GraphView, Method, Shared, known_labels, on_training_nodes, view_of
from mggcn.methods.mg_gcn import MixGrained
from mggcn.methods.mg_sampled import MixGrainedFastGCN, MixGrainedGraphSAGE
from mggcn.methods.mlp import FeatureMLP
from mggcn.methods.node2vec import Node2Vec
from mggcn.methods.published import Preset
from mggcn.methods.random_forest import RandomForest
from mggcn.methods.sagn import SAGN
from mggcn.methods.sgc import SGC
from mggcn.methods.sign import SIGN
from mggcn.methods.vr_gcn import VRGCN

METHODS: dict[str, type[Method]] = {
    "mg-gcn": MixGrained,
    "gcn": GCN,
    "sgc": SGC,
    "sign": SIGN,
    "sagn": SAGN,
    "gamlp": GAMLP,
    "cluster-gcn": ClusterGCN,
    "fastgcn": FastGCN,
    "ladies": LADIES,
    "mg-fastgcn": MixGrainedFastGCN,
    "graphsage-mean": GraphSAGEMean,
    "graphsage-gcn": GraphSAGEGCN,
    "graphsage-pool": GraphSAGEPool,
    "graphsage-lstm": GraphSAGELSTM,
    "mg-graphsage": MixGrainedGraphSAGE,
    "graphsaint": GraphSAINT,
    "vr-gcn": VRGCN,
    "as-gcn": ASGCN,
    "label-propagation": LabelPropagation,
    "deepwalk": DeepWalk,
    "node2vec": Node2Vec,
    "mlp": FeatureMLP,
    "random-forest": RandomForest,
    "lightgbm": LightGBM,
}
"""The methods by their names on the command line, in TOML files and in records."""


def method_class(method: str | type[Method]) -> type[Method]:
    """The class of a method's name or import path."""
    if isinstance(method, str):
        if method in METHODS:
            return METHODS[method]
        if not settings.is_import_path(method):
            raise unknown("method", method, METHODS)
        kind = settings.import_object(method)
    else:
        kind = method
    if isinstance(kind, nn.Module) or (isinstance(kind, type) and issubclass(kind, nn.Module)):
        module = kind.__name__ if isinstance(kind, type) else type(kind).__name__
        raise InputError(
            f"method: {module} is a module, not a Method; for a convolution of PyG use "
            f"mggcn.methods.MixGrained(conv=lambda i, o: mggcn.nn.PyGConv({module}(i, o))), "
            "for a whole model extend mggcn.methods.Method"
        )
    if not (isinstance(kind, type) and issubclass(kind, Method) and is_dataclass(kind)):
        raise InputError(
            f"method: {method if isinstance(method, str) else repr(method)} is not a name of a method, a Method or "
            "a dataclass that extends mggcn.methods.Method"
        )
    return kind


def method_name(kind: type[Method]) -> str:
    """The name of a method's class, or the import path of a user's own."""
    return next((name for name, known in METHODS.items() if known is kind), settings.import_path(kind))


__all__ = ["METHODS", "GraphView", "Method", "Preset"]
__all__ += ["known_labels", "method_class", "method_name", "view_of"]
__all__ += [method.__name__ for method in METHODS.values()]
