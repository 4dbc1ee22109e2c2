"""The list of methods: the name of each on the command line, in TOML files and in records."""

from mggcn.methods.as_gcn import ASGCN
from mggcn.methods.cluster_gcn import ClusterGCN
from mggcn.methods.deepwalk import DeepWalk
from mggcn.methods.fastgcn import FastGCN
from mggcn.methods.gcn import GCN
from mggcn.methods.graphsage import GraphSAGEGCN, GraphSAGELSTM, GraphSAGEMean, GraphSAGEPool
from mggcn.methods.graphsaint import GraphSAINT
from mggcn.methods.label_propagation import LabelPropagation
from mggcn.methods.ladies import LADIES
from mggcn.methods.method import Method
from mggcn.methods.mg_fastgcn import MixGrainedFastGCN
from mggcn.methods.mg_gcn import MixGrained
from mggcn.methods.mg_graphsage import MixGrainedGraphSAGE
from mggcn.methods.mlp import FeatureMLP
from mggcn.methods.node2vec import Node2Vec
from mggcn.methods.random_forest import RandomForest
from mggcn.methods.sgc import SGC
from mggcn.methods.sign import SIGN
from mggcn.methods.vr_gcn import VRGCN

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
