"""The stages as an SQL script for the database that holds the transactions, and the tables exported from there."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import ibis
import pyarrow
import sqlglot

from mggcn._io.locations import Location
from mggcn._io.stages import Engine, Table, Types, check_types, stage_files, unmerged_selects
from mggcn.errors import InputError, unknown
from mggcn.ethereum import _tables
from mggcn.ethereum._columns import INT, INTERNAL, TEXT, recognise, whole
from mggcn.ethereum._pipeline import OnStage, Tally
from mggcn.ethereum._table_files import TableFiles, expand, is_parquet, name_files, read_schema

DIALECTS = ("bigquery", "clickhouse", "databricks", "datafusion", "duckdb", "snowflake", "trino")
PREFIX = "mggcn_"

_BIGQUERY = (
    {"hash": TEXT, "block_number": INT, "block_timestamp": "timestamp('UTC')", "value": "decimal(38,9)"}
    | dict.fromkeys(("from_address", "to_address", "receipt_contract_address"), TEXT)
    | dict.fromkeys(("gas_price", "receipt_gas_used", "receipt_effective_gas_price", "receipt_status"), INT)
)
"""The columns used of ``bigquery-public-data.crypto_ethereum.transactions``."""
KIND = "exported tables"


def sql_script(
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
    _tables.check_roles(columns, kind)
    if as_of is not None and table[columns["time"]].type().is_timestamp():
        end = ibis.literal(datetime.fromtimestamp(as_of + 1, UTC), type="timestamp('UTC')")
        table = table.filter(table[columns["time"]] < end)
    first = _tables.apply_rules(table, columns, as_of=as_of, any_ids=any_ids, internal=kind in INTERNAL)
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
        rows = stage("rows", first, _tables.ROWS)
        transactions = stage("transactions", _tables.transactions(rows), _tables.TRANSACTIONS)
        _tables.store_stages(transactions, stage, is_sorted=False)
    return "\n\n".join(statements)


def _table(name: str, types: Types) -> Table:
    *prefix, last = name.split(".")
    if len(prefix) > 2 or not all([*prefix, last]):
        raise InputError(f"{name!r} is not the name of a table, as in project.dataset.table")
    catalog, database = [None, None, *prefix][-2:]
    return ibis.table(dict(types), name=last, catalog=catalog, database=database)


def read_tables(engine: Engine, paths: Sequence[str | Path], work: Location, on_stage: OnStage) -> Tally:
    """Write the sorted stages to ``work``; the tally only counts the transactions between two accounts.

    The Parquet files of a table have its name, or are in a folder of its name.
    """
    files = expand(paths)
    links = _read(engine, files, "links", _tables.LINKS)
    features = _read(engine, files, "features", _tables.FEATURES)
    _check_complete(engine, links, features)
    for name, table in (("links", _tables.sorted_links(links)), ("features", _tables.sorted_features(features))):
        on_stage(name)
        engine.write(name, table)
        check_types(name, stage_files(work, name), _tables.LINKS if name == "links" else _tables.FEATURES)
    pairs = links.filter(links.node != links.other)
    (total,) = engine.rows(pairs.agg(count=whole(pairs.out_count.sum().fill_null(0))))
    return Tally(total["count"], total["count"], {}, {}, (KIND,))


def _check_complete(engine: Engine, links: Table, features: Table) -> None:
    """Raise InputError unless the accounts are numbered without a gap and both tables hold the same ones."""
    accounts = features.agg(rows=features.count(), ids=features.id.nunique(), last=features.id.max().fill_null(-1))
    ends = links.agg(ids=links.node.nunique(), last=links.other.max().fill_null(-1))
    counts = [engine.rows(table.select(**{n: whole(table[n]) for n in table.columns}))[0] for table in (accounts, ends)]
    expected = counts[0]["rows"]
    if not expected or counts != [
        {"rows": expected, "ids": expected, "last": expected - 1},
        {"ids": expected, "last": expected - 1},
    ]:
        raise InputError(
            f"{PREFIX}features has {expected:,} accounts, {PREFIX}links has {counts[1]['ids']:,}; "
            "a part of the export is missing or there twice"
        )


def _read(engine: Engine, files: Sequence[Location], stage: str, types: Types) -> Table:
    """Return an exported table in the types of its stage; databases export other widths and decimals."""
    name = f"{PREFIX}{stage}"
    parts = tuple(file for file in files if file.name.startswith(name) or name in file.parent.name)
    if not parts:
        raise InputError(f"{name_files(files)}: no Parquet file of the table {name}")
    for part in parts:
        if not is_parquet(part):
            raise InputError(f"{part}: exported tables are read as Parquet only")
        schema = read_schema(part)
        for column in types:
            if column not in schema.names:
                raise InputError(f"{part}: column {column!r} is missing")
            if pyarrow.types.is_floating(schema.field(column).type):
                raise InputError(f"{part}: column {column!r} holds floats, which are not exact")
    table = engine.read(TableFiles(parts, "parquet", tuple(types)))
    return table.select(**{column: table[column].cast(kind) for column, kind in types.items()})
