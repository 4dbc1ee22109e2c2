"""``mggcn bench``: times picks, preparation, epochs and whole trainings beside lower bounds and peers."""

from mggcn.bench._sections import bench
from mggcn.bench.options import DEVICES, PEERS, SECTIONS, Options, interpreters

__all__ = ["DEVICES", "PEERS", "SECTIONS", "Options", "bench", "interpreters"]
