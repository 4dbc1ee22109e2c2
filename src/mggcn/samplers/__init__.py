"""Samplers: each turns targets into batches of blocks."""

from mggcn.samplers.device import DeviceMixGrainedSampler
from mggcn.samplers.mix_grained import MixGrainedSampler

__all__ = ["DeviceMixGrainedSampler", "MixGrainedSampler"]
