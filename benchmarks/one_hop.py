"""What an analyst computes of an account in plain SQL: 22 columns of its own, and 11 of its neighbours by direction.

The columns are as of a date: no later transaction reaches them. Nothing of the package's own tables is used.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

_OF_SIDE = {
    "tx": "count(*)",
    "eth": "sum(eth)",
    "mean": "avg(eth)",
    "most": "max(eth)",
    "least": "min(eth)",
    "deviation": "stddev_pop(eth)",
    "days": "(max(time) - min(time)) / 86400",
    "rate": "count(*) / ((max(time) - min(time)) / 86400 + 1)",
    "zero": "avg(CAST(eth = 0 AS INT))",
    "accounts": "count(DISTINCT other)",
}
"""Of the transactions on one side of an account; the eleventh is the share of the largest counterparty."""
_OF_NEIGHBOURS = ("in_tx", "in_eth", "out_tx", "out_eth", "in_accounts + out_accounts")
_SIDES = {"in": "FALSE", "out": "TRUE"}


def _own(side: str) -> str:
    columns = ", ".join(f"{formula} AS {side}_{name}" for name, formula in _OF_SIDE.items())
    return (
        f"SELECT account, {columns}, max(paid) / greatest(sum(eth), 1e-18) AS {side}_largest "
        f"FROM (SELECT *, sum(eth) OVER (PARTITION BY account, other) AS paid FROM ends WHERE is_out = {_SIDES[side]}) "
        "GROUP BY account"
    )


def _near(side: str) -> str:
    means = ", ".join(f"avg({name}) AS {side}_near_{number}" for number, name in enumerate(_OF_NEIGHBOURS))
    return (
        f"SELECT pairs.account, {means} FROM pairs JOIN own ON own.account = pairs.other "
        f"WHERE pairs.is_out = {_SIDES[side]} GROUP BY pairs.account"
    )


_COLUMNS = [f"{side}_{name}" for side in _SIDES for name in (*_OF_SIDE, "largest")]
_NEAR = [f"{side}_near_{number}" for side in _SIDES for number in range(len(_OF_NEIGHBOURS))]
COLUMNS = (*_COLUMNS, *_NEAR, "mutual")
_SQL = f"""
COPY (
  WITH moves AS (
    SELECT lower(from_address) AS src, lower(to_address) AS dst, block_timestamp AS time,
      CAST(CAST(value AS DECIMAL(38, 0)) AS DOUBLE) / 1e18 AS eth
    FROM read_parquet($transactions)
    WHERE block_timestamp <= $until AND length(to_address) = 42 AND lower(from_address) <> lower(to_address)
  ),
  ends AS (
    SELECT src AS account, dst AS other, TRUE AS is_out, eth, time FROM moves
    UNION ALL SELECT dst, src, FALSE, eth, time FROM moves
  ),
  pairs AS (SELECT DISTINCT account, other, is_out FROM ends),
  own AS (
    SELECT account, {", ".join(f"coalesce({name}, 0) AS {name}" for name in _COLUMNS)}
    FROM ({_own("in")}) FULL JOIN ({_own("out")}) USING (account)
  ),
  mutual AS (
    SELECT account, count(*) AS mutual
    FROM (SELECT account, other FROM pairs GROUP BY ALL HAVING count(*) = 2) GROUP BY account
  )
  SELECT account, {", ".join(f"CAST(coalesce({name}, 0) AS FLOAT) AS {name}" for name in COLUMNS)}
  FROM own LEFT JOIN ({_near("in")}) USING (account) LEFT JOIN ({_near("out")}) USING (account)
    LEFT JOIN mutual USING (account)
  ORDER BY account
) TO '$out' (FORMAT parquet)
"""
_NEVER = 1 << 62


def write(transactions: Path, date: str | None, out: Path) -> None:
    """Write the columns of all accounts as of the end of a date in UTC, or of all transactions."""
    until = _NEVER
    if date is not None:
        until = int((datetime.fromisoformat(date).replace(tzinfo=UTC) + timedelta(days=1)).timestamp()) - 1
    sql = _SQL.replace("$out", str(out).replace("'", "''"))
    with duckdb.connect() as connection:
        connection.execute(sql, {"transactions": str(transactions), "until": until})
