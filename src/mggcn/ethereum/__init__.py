"""Ethereum: collect or simulate transactions, and build a data set of accounts from them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mggcn.ethereum._build import Built, build
    from mggcn.ethereum._crawl import crawl
    from mggcn.ethereum._label_lists import addresses
    from mggcn.ethereum._merge_labels import MergedLabels
    from mggcn.ethereum._pipeline import BuildInputs
    from mggcn.ethereum._remote import local_files, table_files
    from mggcn.ethereum._simulate import simulate
    from mggcn.ethereum._time_split import TimeSplit, parse_as_of

__all__ = [
    "BuildInputs",
    "Built",
    "MergedLabels",
    "TimeSplit",
    "addresses",
    "build",
    "crawl",
    "local_files",
    "parse_as_of",
    "simulate",
    "table_files",
]

_HOMES = {
    "BuildInputs": "_pipeline",
    "Built": "_build",
    "MergedLabels": "_merge_labels",
    "TimeSplit": "_time_split",
    "addresses": "_label_lists",
    "build": "_build",
    "crawl": "_crawl",
    "local_files": "_remote",
    "parse_as_of": "_time_split",
    "simulate": "_simulate",
    "table_files": "_remote",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
