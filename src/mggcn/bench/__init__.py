"""``mggcn bench``: times picks, preparation and epochs, and compares each with its lower bound and with peers."""

from mggcn.bench._sections import bench
from mggcn.bench.options import DEVICES, PEERS, SECTIONS, Options, interpreters

__all__ = ["DEVICES", "PEERS", "SECTIONS", "Options", "bench", "interpreters"]
