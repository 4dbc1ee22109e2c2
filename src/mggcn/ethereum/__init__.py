"""Ethereum: collect or simulate transactions, and build a data set of accounts from them."""

from typing import TYPE_CHECKING

from mggcn._io.lazy import lazy_names

if TYPE_CHECKING:
    from mggcn.ethereum._alerts import AlertList, alerts, known_file
    from mggcn.ethereum._build import Built, TimeSplit, build
    from mggcn.ethereum._build_files import BuildInputs
    from mggcn.ethereum._case import Case, case
    from mggcn.ethereum._case_page import check_case, save_case
    from mggcn.ethereum._crawl import crawl
    from mggcn.ethereum._dates import parse_as_of
    from mggcn.ethereum._etherscan import ETHERSCAN_URL, Etherscan, key_from_environment
    from mggcn.ethereum._facts import ROLES, AccountFacts, AccountTables, Dealings
    from mggcn.ethereum._findings import findings
    from mggcn.ethereum._formats import parse_columns
    from mggcn.ethereum._label_lists import MergedLabels, addresses, merge_labels, parse_list, read_labels, write_labels
    from mggcn.ethereum._pipeline import sql_script
    from mggcn.ethereum._replay import MonthCounts, Replay, ReplaySettings, replay
    from mggcn.ethereum._replay_page import replay_by_month, replay_by_year, save_replay
    from mggcn.ethereum._simulate import simulate
    from mggcn.ethereum._verdicts import Verdict, read_verdicts, write_verdicts

__all__ = [
    "ETHERSCAN_URL",
    "ROLES",
    "AccountFacts",
    "AccountTables",
    "AlertList",
    "BuildInputs",
    "Built",
    "Case",
    "Dealings",
    "Etherscan",
    "MergedLabels",
    "MonthCounts",
    "Replay",
    "ReplaySettings",
    "TimeSplit",
    "Verdict",
    "addresses",
    "alerts",
    "build",
    "case",
    "check_case",
    "crawl",
    "findings",
    "key_from_environment",
    "known_file",
    "merge_labels",
    "parse_as_of",
    "parse_columns",
    "parse_list",
    "read_labels",
    "read_verdicts",
    "replay",
    "replay_by_month",
    "replay_by_year",
    "save_case",
    "save_replay",
    "simulate",
    "sql_script",
    "write_labels",
    "write_verdicts",
]

__getattr__ = lazy_names(
    __name__,
    {
        "_alerts": ["AlertList", "alerts", "known_file"],
        "_build": ["Built", "TimeSplit", "build"],
        "_case": ["Case", "case"],
        "_case_page": ["check_case", "save_case"],
        "_findings": ["findings"],
        "_dates": ["parse_as_of"],
        "_facts": ["ROLES", "AccountFacts", "AccountTables", "Dealings"],
        "_formats": ["parse_columns"],
        "_crawl": ["crawl"],
        "_etherscan": ["ETHERSCAN_URL", "Etherscan", "key_from_environment"],
        "_label_lists": ["MergedLabels", "addresses", "merge_labels", "parse_list", "read_labels", "write_labels"],
        "_pipeline": ["sql_script"],
        "_replay": ["MonthCounts", "Replay", "ReplaySettings", "replay"],
        "_replay_page": ["replay_by_month", "replay_by_year", "save_replay"],
        "_simulate": ["simulate"],
        "_verdicts": ["Verdict", "read_verdicts", "write_verdicts"],
        "_build_files": ["BuildInputs"],
    },
)
