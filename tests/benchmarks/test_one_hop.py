"""The SQL of the one-hop baseline gives what pandas counts, transaction by transaction, as of a date."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import one_hop

DAY = 86_400
START = 1_514_764_800  # 2018-01-01


def address(number: int) -> str:
    return f"0x{number:040x}"


@pytest.fixture
def transactions(tmp_path: Path) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 9, 300), rng.integers(0, 9, 300)
    table = pd.DataFrame(
        {
            "from_address": [address(number).upper().replace("X", "x") for number in src],
            "to_address": [address(number) for number in dst],
            "value": [str(int(wei)) for wei in rng.integers(0, 3, 300) * 10**18],
            "block_timestamp": START + rng.integers(0, 60 * DAY, 300),
        }
    )
    table.to_parquet(tmp_path / "transactions.parquet")
    return table


def counted(table: pd.DataFrame, account: str) -> dict[str, float]:
    """The account's own columns."""
    columns: dict[str, float] = {}
    for side, own, other in (("in", "dst", "src"), ("out", "src", "dst")):
        rows = table[table[own] == account]
        days = (rows.time.max() - rows.time.min()) / DAY
        columns |= {
            f"{side}_tx": len(rows),
            f"{side}_eth": rows.eth.sum(),
            f"{side}_mean": rows.eth.mean(),
            f"{side}_most": rows.eth.max(),
            f"{side}_least": rows.eth.min(),
            f"{side}_deviation": rows.eth.std(ddof=0),
            f"{side}_days": days,
            f"{side}_rate": len(rows) / (days + 1),
            f"{side}_zero": (rows.eth == 0).mean(),
            f"{side}_accounts": rows[other].nunique(),
            f"{side}_largest": rows.groupby(other).eth.sum().max() / rows.eth.sum(),
        }
    return columns


@pytest.mark.parametrize("date", [None, "2018-01-31"])
def test_columns_are_those_of_the_transactions_until_the_date(
    transactions: pd.DataFrame, tmp_path: Path, date: str | None
) -> None:
    one_hop.write(tmp_path / "transactions.parquet", date, tmp_path / "columns.parquet")
    found = pd.read_parquet(tmp_path / "columns.parquet").set_index("account")
    table = pd.DataFrame(
        {
            "src": transactions.from_address.str.lower(),
            "dst": transactions.to_address,
            "eth": transactions.value.astype(float) / 1e18,
            "time": transactions.block_timestamp,
        }
    )
    table = table[table.src != table.dst]
    if date:
        table = table[table.time < START + 31 * DAY]
    accounts = sorted({*table.src, *table.dst})
    assert [*found.index] == accounts
    assert tuple(found.columns) == one_hop.COLUMNS
    assert len(one_hop.COLUMNS) == 33
    own = {account: counted(table, account) for account in accounts}
    near = ("in_tx", "in_eth", "out_tx", "out_eth")
    for account in accounts:
        senders = {*table[table.dst == account].src}
        receivers = {*table[table.src == account].dst}
        expected = dict(own[account])
        for side, others in (("in", senders), ("out", receivers)):
            for number, name in enumerate(near):
                expected[f"{side}_near_{number}"] = np.mean([own[other][name] for other in others])
            both = [own[other]["in_accounts"] + own[other]["out_accounts"] for other in others]
            expected[f"{side}_near_4"] = np.mean(both)
        expected["mutual"] = len(senders & receivers)
        for name in one_hop.COLUMNS:
            assert found.loc[account, name] == pytest.approx(expected[name], rel=1e-6), (account, name)
