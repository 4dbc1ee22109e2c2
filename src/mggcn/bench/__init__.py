"""What ``mggcn bench`` measures: picks, preparation and epochs, each against what bounds it and against peers."""

from mggcn.bench.options import DEVICES, PEERS, SECTIONS, Options
from mggcn.bench.sections import bench

__all__ = ["DEVICES", "PEERS", "SECTIONS", "Options", "bench"]
