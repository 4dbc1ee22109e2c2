"""Samplers: each turns targets into batches of blocks."""

from mggcn.sampling.full import FullSampler, WholeGraphSampler
from mggcn.sampling.mix_grained import MixGrainedSampler
from mggcn.sampling.mix_grained_gpu import DeviceMixGrainedSampler
from mggcn.sampling.rows import RowSampler

__all__ = ["DeviceMixGrainedSampler", "FullSampler", "MixGrainedSampler", "RowSampler", "WholeGraphSampler"]
