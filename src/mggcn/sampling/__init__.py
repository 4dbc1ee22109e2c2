"""Samplers, which draw batches of blocks for targets."""

from mggcn.sampling.layerwise import AdaptiveSampler, FastGCNSampler, LadiesSampler
from mggcn.sampling.mix_grained import DeviceMixGrainedSampler, MixGrainedSampler
from mggcn.sampling.neighbor import FullSampler, HistorySampler, NeighborSampler, RowSampler, WholeGraphSampler
from mggcn.sampling.subgraphs import ClusterSampler, SaintSampler

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
