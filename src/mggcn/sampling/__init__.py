"""Samplers, which draw batches of blocks for targets."""

from mggcn.sampling.cluster import ClusterSampler
from mggcn.sampling.full import FullSampler, RowSampler, WholeGraphSampler
from mggcn.sampling.history import HistorySampler
from mggcn.sampling.layerwise import AdaptiveSampler, FastGCNSampler, LadiesSampler
from mggcn.sampling.mix_grained import MixGrainedSampler
from mggcn.sampling.mix_grained_gpu import DeviceMixGrainedSampler
from mggcn.sampling.neighbor import NeighborSampler
from mggcn.sampling.saint import SaintSampler

__all__ = [
    "AdaptiveSampler",
    "ClusterSampler",
    "DeviceMixGrainedSampler",
    "FastGCNSampler",
    "FullSampler",
    "HistorySampler",
    "LadiesSampler",
    "MixGrainedSampler",
    "NeighborSampler",
    "RowSampler",
    "SaintSampler",
    "WholeGraphSampler",
]
