"""The stages as an SQL script, to be run in the database that holds the transactions."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import ibis
import sqlglot

from mggcn._io.stages import Table, Types, unmerged_selects
from mggcn.errors import InputError, unknown
from mggcn.ethereum import _rules as rules
from mggcn.ethereum import _tables
from mggcn.ethereum._formats import INTERNAL, recognise
from mggcn.ethereum._values import INT, TEXT

DIALECTS = ("bigquery", "clickhouse", "databricks", "datafusion", "duckdb", "snowflake", "trino")
PREFIX = "mggcn_"

_BIGQUERY = (
    {"hash": TEXT, "block_number": INT, "block_timestamp": "timestamp('UTC')", "value": "decimal(38,9)"}
    | dict.fromkeys(("from_address", "to_address", "receipt_contract_address"), TEXT)
    | dict.fromkeys(("gas_price", "receipt_gas_used", "receipt_effective_gas_price", "receipt_status"), INT)
)
"""The columns used of ``bigquery-public-data.crypto_ethereum.transactions``."""


def script(
    names: Sequence[str],
    dialect: str,
    roles: Mapping[str, str] | None = None,
    *,
    as_of: int | None = None,
    any_ids: bool = False,
    into: str | None = None,
) -> str:
    """Return one ``CREATE TABLE … AS SELECT`` per stage, from a table of transactions to features.

    A time column that is a timestamp is filtered by ``as_of`` as it is, so that a database reads only the partitions
    of earlier days. No table is sorted as a whole.

    Args:
        names: one table, as in ``project.dataset.table``, with BigQuery's columns or those of ``roles``.
        dialect: one of :data:`DIALECTS`.
        roles: the column of each role; all are treated as text.
        as_of: see :class:`mggcn.ethereum._pipeline.BuildInputs`.
        any_ids: see there.
        into: the schema of the tables that are created, as in ``project.dataset``; the database's default if None.
    """
    if dialect not in DIALECTS:
        raise unknown("dialect", dialect, DIALECTS)
    if len(names) != 1:
        raise InputError(f"one table is needed, not {len(names)}")
    table = _table(names[0], dict.fromkeys(roles.values(), TEXT) if roles else _BIGQUERY)
    kind, columns = recognise(table.columns, roles)
    rules.check_roles(columns, kind)
    if as_of is not None and table[columns["time"]].type().is_timestamp():
        end = ibis.literal(datetime.fromtimestamp(as_of + 1, UTC), type="timestamp('UTC')")
        table = table.filter(table[columns["time"]] < end)
    first = rules.apply_rules(table, columns, as_of=as_of, any_ids=any_ids, internal=kind in INTERNAL)
    statements: list[str] = []

    def stage(name: str, table: Table, types: Types) -> Table:
        created = _table(f"{into}.{PREFIX}{name}" if into else f"{PREFIX}{name}", types)
        target = next(
            sqlglot.parse_one(ibis.to_sql(created, dialect=dialect), dialect=dialect).find_all(sqlglot.exp.Table)
        )
        target.set("alias", None)
        statements.append(f"CREATE TABLE {target.sql(dialect=dialect)} AS\n{ibis.to_sql(table, dialect=dialect)};")
        return created

    with unmerged_selects():
        rows = stage("rows", first, rules.ROWS)
        transactions = stage("transactions", _tables.transactions(rows), _tables.TRANSACTIONS)
        _tables.store_stages(transactions, stage, is_sorted=False)
    return "\n\n".join(statements)


def _table(name: str, types: Types) -> Table:
    *prefix, last = name.split(".")
    if len(prefix) > 2 or not all([*prefix, last]):
        raise InputError(f"{name!r} is not the name of a table, as in project.dataset.table")
    catalog, database = [None, None, *prefix][-2:]
    return ibis.table(dict(types), name=last, catalog=catalog, database=database)
