"""The data set, checked when it is created, and how it is made from the objects of other libraries."""

from mggcn.dataset.background import BACKGROUND, draw_background
from mggcn.dataset.columns import Column
from mggcn.dataset.dataset import Dataset
from mggcn.dataset.features import Features, as_features, csr_arrays, csr_parts
from mggcn.dataset.headline import headline
from mggcn.dataset.measures import Measure
from mggcn.dataset.objects import as_dataset
from mggcn.dataset.split import PARTS, UNLABELLED, Split

__all__ = [
    "BACKGROUND",
    "PARTS",
    "UNLABELLED",
    "Column",
    "Dataset",
    "Features",
    "Measure",
    "Split",
    "as_dataset",
    "as_features",
    "csr_arrays",
    "csr_parts",
    "draw_background",
    "headline",
]
