"""The stages as SQL, for those who run them where the data lies."""

from collections.abc import Mapping, Sequence

import ibis

from mggcn.errors import InputError, unknown
from mggcn.ethereum import rules, tables
from mggcn.ethereum.engines import unmerged
from mggcn.ethereum.formats import INTERNAL, recognise
from mggcn.ethereum.values import Table

DIALECTS = ("bigquery", "clickhouse", "databricks", "datafusion", "duckdb", "snowflake", "trino")
PREFIX = "mggcn_"

_BIGQUERY = {
    "hash": "string",
    "block_number": "int64",
    "block_timestamp": "timestamp('UTC')",
    "from_address": "string",
    "to_address": "string",
    "value": "decimal(38,9)",
    "gas_price": "int64",
    "receipt_gas_used": "int64",
    "receipt_effective_gas_price": "int64",
    "receipt_contract_address": "string",
    "receipt_status": "int64",
}
"""The columns of ``bigquery-public-data.crypto_ethereum.transactions`` that are used."""


def script(
    names: Sequence[str],
    dialect: str,
    roles: Mapping[str, str] | None = None,
    *,
    as_of: int | None = None,
    any_ids: bool = False,
) -> str:
    """One ``CREATE TABLE … AS SELECT`` for each stage, from a table of transactions to features.

    Args:
        names: one table, as in ``project.dataset.table``, with BigQuery's columns or with those of ``roles``.
        dialect: one of :data:`DIALECTS`.
        roles: the column of each role; they are taken to be text.
        as_of: see :class:`mggcn.ethereum.pipeline.Inputs`, as for the next.
        any_ids: whether accounts are any text.
    """
    if dialect not in DIALECTS:
        raise unknown("dialect", dialect, DIALECTS)
    if len(names) != 1:
        raise InputError(f"--engine sql: one table is needed, not {len(names)}")
    table = _table(names[0], dict.fromkeys(roles.values(), "string") if roles else _BIGQUERY)
    form, columns = recognise(table.columns, roles)
    rules.check_roles(columns, form)
    judged = rules.judged(table, columns, as_of=as_of, any_ids=any_ids, internal=form in INTERNAL)
    rows, transactions = _stage("rows", rules.ROWS), _stage("transactions", tables.TRANSACTIONS)
    accounts, edges = _stage("accounts", tables.ACCOUNTS), _stage("edges", tables.EDGES)
    stages = {
        "rows": judged,
        "transactions": tables.transactions(rows),
        "accounts": tables.accounts(transactions),
        "edges": tables.edges(transactions, accounts),
        "links": tables.links(edges),
        "features": tables.features(_stage("links", tables.LINKS), accounts),
    }
    with unmerged():
        return "\n\n".join(
            f"CREATE TABLE {PREFIX}{name} AS\n{ibis.to_sql(stage, dialect=dialect)};" for name, stage in stages.items()
        )


def _stage(name: str, types: Mapping[str, str]) -> Table:
    return ibis.table(dict(types), name=f"{PREFIX}{name}")


def _table(name: str, types: Mapping[str, str]) -> Table:
    *places, last = name.split(".")
    if len(places) > 2 or not all([*places, last]):
        raise InputError(f"--engine sql: {name!r} is not the name of a table, as in project.dataset.table")
    catalog, database = [None, None, *places][-2:]
    return ibis.table(dict(types), name=last, catalog=catalog, database=database)
