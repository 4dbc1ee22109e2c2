"""What the reader of a page already has: the checkout's folders, files of transactions, and Etherscan's API.

The files are small and made here; the API is the stand-in of the crawler's tests.
"""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mggcn.ethereum import _etherscan as etherscan
from tests.docs.snippets import ROOT
from tests.unit.ethereum.fake_etherscan import KEY, record, serving
from tests.unit.ethereum.transactions import ETH, address, transaction, write

ACCOUNTS = [address(0xA0 + number) for number in range(30)]
LABELS = {account: ("Phish", "Exchange")[number % 2] for number, account in enumerate(ACCOUNTS[:20])}
PAIRS = [tuple(Random(number).sample(ACCOUNTS, 2)) for number in range(200)]  # noqa: S311
ROWS = [transaction(number, *pair, ETH + number) for number, pair in enumerate(PAIRS)]


@contextmanager
def possessions(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put into the folder of a page what its reader has, and a home that may be written to."""
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "home" / "cache"))
    (folder / "home").mkdir()
    for name in ("experiments", "results"):
        (folder / name).symlink_to(ROOT / name)
    if page.name != "ethereum.md":
        yield
        return
    _ethereum_files(folder)
    calls: dict[str, list[dict[str, str]]] = {account: [] for account in ACCOUNTS}
    for number, (source, target) in enumerate(PAIRS):
        for account in (source, target):
            calls[account].append(record(number, number, source, target))
    with serving(calls) as api:
        monkeypatch.setattr(etherscan, "ETHERSCAN_URL", api.url)
        monkeypatch.setenv(etherscan.KEY_VARIABLE, KEY)
        yield


def _ethereum_files(folder: Path) -> None:
    plain = ("hash", "block_number", "from_address", "to_address", "value", "gas_price")
    receipts = {"hash": "transaction_hash", "block_number": "block_number", "receipt_status": "status"}
    receipts |= {"receipt_gas_used": "gas_used", "receipt_contract_address": "contract_address"}
    _table(folder / "transactions.csv", ROWS, {name: name for name in plain})
    _table(folder / "receipts.csv", ROWS, receipts)
    _table(folder / "blocks.csv", ROWS, {"block_number": "number", "block_timestamp": "timestamp"})
    (folder / "export").mkdir()
    write(folder / "export" / "part-0.parquet", ROWS)

    labels = [{"address": account, "label": label} for account, label in LABELS.items()]
    for name in ("labels.csv", "label.txt"):
        _table(folder / name, labels, {"address": "address", "label": "label"})
    sums = {"from_address": "from", "to_address": "to", "gas_price": "amount", "block_timestamp": "timestamp"}
    _table(folder / "edges.csv", [row | {"n": 1} for row in ROWS], sums | {"n": "n_transactions"})

    exchanges = {account: {"name": "", "labels": ["exchange"]} for account in ACCOUNTS[1:20:2]}
    (folder / "combined.json").write_text(json.dumps(exchanges))
    (folder / "phish-hack.csv").write_text(f"address,nameTag\n{ACCOUNTS[0]},Fake_Phishing1\n")
    (folder / "more.txt").write_text("".join(f"{account}\n" for account in ACCOUNTS[2:20:2]))


def _table(path: Path, rows: list[dict[str, Any]], names: dict[str, str]) -> None:
    """Write some columns of the rows as CSV, under new names."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(names.values())
        table.writerows([row[name] for name in names] for row in rows)
