"""Ethereum: collect or simulate transactions, and build a data set of accounts from them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mggcn.ethereum._build import Built, build
    from mggcn.ethereum._columns import parse_columns
    from mggcn.ethereum._crawl import crawl
    from mggcn.ethereum._etherscan import ETHERSCAN_URL, Etherscan, key_from_environment
    from mggcn.ethereum._labels import MergedLabels, addresses, merge_labels, parse_list, read_labels, write_labels
    from mggcn.ethereum._pipeline import BuildInputs
    from mggcn.ethereum._simulate import simulate
    from mggcn.ethereum._sql import sql_script
    from mggcn.ethereum._time_split import TimeSplit, parse_as_of

__all__ = [
    "ETHERSCAN_URL",
    "BuildInputs",
    "Built",
    "Etherscan",
    "MergedLabels",
    "TimeSplit",
    "addresses",
    "build",
    "crawl",
    "key_from_environment",
    "merge_labels",
    "parse_as_of",
    "parse_columns",
    "parse_list",
    "read_labels",
    "simulate",
    "sql_script",
    "write_labels",
]

_HOMES = {
    "BuildInputs": "_pipeline",
    "Built": "_build",
    "ETHERSCAN_URL": "_etherscan",
    "Etherscan": "_etherscan",
    "MergedLabels": "_labels",
    "TimeSplit": "_time_split",
    "addresses": "_labels",
    "build": "_build",
    "crawl": "_crawl",
    "key_from_environment": "_etherscan",
    "merge_labels": "_labels",
    "parse_as_of": "_time_split",
    "parse_columns": "_columns",
    "parse_list": "_labels",
    "read_labels": "_labels",
    "simulate": "_simulate",
    "sql_script": "_sql",
    "write_labels": "_labels",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
