"""Samplers: each turns targets into batches of blocks."""

from mggcn.samplers.device import DeviceMixGrainedSampler
from mggcn.samplers.full import FullSampler, WholeGraphSampler
from mggcn.samplers.mix_grained import MixGrainedSampler
from mggcn.samplers.rows import RowSampler

__all__ = ["DeviceMixGrainedSampler", "FullSampler", "MixGrainedSampler", "RowSampler", "WholeGraphSampler"]
