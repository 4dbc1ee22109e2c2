"""The data set, checked when it is created, and how it is made from the objects of other libraries."""

from mggcn.dataset.dataset import Dataset, headline
from mggcn.dataset.features import Features, as_features, csr_parts
from mggcn.dataset.objects import as_dataset
from mggcn.dataset.split import PARTS, UNLABELLED, Split

__all__ = ["PARTS", "UNLABELLED", "Dataset", "Features", "Split", "as_dataset", "as_features", "csr_parts", "headline"]
