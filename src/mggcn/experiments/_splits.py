"""Random splits of a data set that has no published one."""

from dataclasses import replace

from mggcn.data import Dataset, Split
from mggcn.errors import InputError


def random_split(dataset: Dataset, seed: int) -> Dataset:
    """The data set with a random split of this seed, in the shares of its own; 60/20/20 if it has no split."""
    before = dataset.split
    if before is not None and before.seed is None:
        raise InputError(f"splits: {dataset.name} has a split of its own, and random ones are for data without one")
    split = Split.stratified(dataset.y, seed, before.shares) if before else Split.stratified(dataset.y, seed)
    source = (
        dataset.source.replace(f"split of seed {before.seed}", f"split of seed {seed}") if before else dataset.source
    )
    return replace(dataset, split=split, source=source, checked=True)
