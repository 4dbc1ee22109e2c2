"""``mggcn bench``: times picks, preparation, epochs, whole trainings and baselines beside lower bounds and peers."""

from mggcn.bench._sections import bench
from mggcn.bench.options import BASELINES, DEVICES, PEERS, SECTIONS, Options, interpreters

__all__ = ["BASELINES", "DEVICES", "PEERS", "SECTIONS", "Options", "bench", "interpreters"]
