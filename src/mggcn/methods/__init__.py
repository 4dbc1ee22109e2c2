"""Methods: one class per paper, whose fields are its settings. This file is the list of them."""

from mggcn.methods.as_gcn import ASGCN as ASGCN
from mggcn.methods.cluster_gcn import ClusterGCN as ClusterGCN
from mggcn.methods.deepwalk import DeepWalk as DeepWalk
from mggcn.methods.fastgcn import FastGCN as FastGCN
from mggcn.methods.gcn import GCN as GCN
from mggcn.methods.graphsage import GraphSAGEGCN as GraphSAGEGCN
from mggcn.methods.graphsage import GraphSAGELSTM as GraphSAGELSTM
from mggcn.methods.graphsage import GraphSAGEMean as GraphSAGEMean
from mggcn.methods.graphsage import GraphSAGEPool as GraphSAGEPool
from mggcn.methods.graphsaint import GraphSAINT as GraphSAINT
from mggcn.methods.label_propagation import LabelPropagation as LabelPropagation
from mggcn.methods.ladies import LADIES as LADIES
from mggcn.methods.method import GraphView, Method
from mggcn.methods.mg_fastgcn import MixGrainedFastGCN as MixGrainedFastGCN
from mggcn.methods.mg_gcn import MixGrained as MixGrained
from mggcn.methods.mg_graphsage import MixGrainedGraphSAGE as MixGrainedGraphSAGE
from mggcn.methods.mlp import FeatureMLP as FeatureMLP
from mggcn.methods.node2vec import Node2Vec as Node2Vec
from mggcn.methods.plan import Plan, known_labels, method_class, published_results, resolve, view_of
from mggcn.methods.published import Preset, Traits
from mggcn.methods.random_forest import RandomForest as RandomForest
from mggcn.methods.sgc import SGC as SGC
from mggcn.methods.sign import SIGN as SIGN
from mggcn.methods.vr_gcn import VRGCN as VRGCN

METHODS: dict[str, type[Method]] = {
    "mg-gcn": MixGrained,
    "gcn": GCN,
    "sgc": SGC,
    "sign": SIGN,
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
}
"""The methods by their names on the command line, in TOML files and in records."""

__all__ = ["METHODS", "GraphView", "Method", "Plan", "Preset", "Traits"]
__all__ += ["known_labels", "method_class", "published_results", "resolve", "view_of"]
__all__ += [method.__name__ for method in METHODS.values()]
