"""The case file of an account: every fact is computed again by other means."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mggcn.cli import main
from mggcn.ethereum._build_files import BuildInputs
from mggcn.ethereum._case import case_of
from mggcn.ethereum._case_page import to_json
from mggcn.ethereum._chain import open_chain
from mggcn.ethereum._label_lists import read_labels
from tests.skips import real_data
from tests.unit.ethereum.ledger_of_accounts import Ledger

NUM_ACCOUNTS = 200


def differences(stated: Any, expected: Any, where: str = "") -> list[str]:
    """Where two values of JSON differ."""
    if isinstance(stated, dict) and isinstance(expected, dict):
        names = [*expected, *(name for name in stated if name not in expected)]
        return [line for name in names for line in differences(stated.get(name), expected.get(name), f"{where}.{name}")]
    if isinstance(stated, list) and isinstance(expected, list) and len(stated) == len(expected):
        pairs = enumerate(zip(stated, expected, strict=True))
        return [line for number, pair in pairs for line in differences(*pair, f"{where}[{number}]")]
    return [] if stated == expected else [f"{where}: {stated!r}, not {expected!r}"]


def check(transactions: Path, label_file: Path, folder: Path) -> None:
    labels, _ = read_labels(label_file)
    ledger = Ledger(transactions, labels)
    draws = Random(5)  # noqa: S311
    names = draws.sample(sorted(ledger.of), NUM_ACCOUNTS - 20) + draws.sample(sorted({*labels} & {*ledger.of}), 20)
    wrong = []
    with open_chain(BuildInputs((transactions,)), folder / "case") as chain:
        assert chain.addresses() == sorted(ledger.of)
        for name in names:
            made = case_of(chain, name, lambda wanted: {one: labels[one] for one in wanted if one in labels})
            stated = json.loads(to_json(made))
            del stated["findings"], stated["origin"]
            wrong += [f"{name}{line}" for line in differences(stated, ledger.facts(name))]
    assert wrong == []


def test_every_fact_of_two_hundred_simulated_accounts(tmp_path: Path) -> None:
    chain = tmp_path / "chain.parquet"
    assert main(["ethereum", "simulate", "--scale", "0.005", "--out", str(chain)]) == 0
    check(chain, tmp_path / "chain.labels.csv", tmp_path)


@pytest.mark.slow
def test_every_fact_of_two_hundred_real_accounts(tmp_path: Path) -> None:
    folder = real_data("ethereum_real")
    check(folder / "transactions.parquet", folder / "labels_etherscan.csv", tmp_path)
