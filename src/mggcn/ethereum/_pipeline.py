"""Runs the stages of a build on an engine and counts what each rule did, or writes them as an SQL script.

The script is for the database that holds the transactions; the tables that it creates are then exported and read here.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import ibis
import pyarrow
import sqlglot

from mggcn._io.locations import Location
from mggcn.errors import InputError, prefix_errors, unknown
from mggcn.ethereum import _formats, _stages, _traces
from mggcn.ethereum._build_files import (
    BuildInputs,
    TableFiles,
    expand,
    extra_table,
    is_parquet,
    name_files,
    read_schema,
    transaction_tables,
)
from mggcn.ethereum._engines import Engine, Types, check_types, unmerged_selects
from mggcn.ethereum._formats import INT, INTERNAL, TEXT, WEI, Column, Table, recognise, whole

DIALECTS = ("bigquery", "clickhouse", "databricks", "datafusion", "duckdb", "snowflake", "trino")
PREFIX = "mggcn_"
_REWRITTEN = "rewritten"  # the folder of files that the engines cannot read as they are

_BIGQUERY = (
    {"hash": TEXT, "block_number": INT, "block_timestamp": "timestamp('UTC')", "value": "decimal(38,9)"}
    | dict.fromkeys(("from_address", "to_address", "receipt_contract_address"), TEXT)
    | dict.fromkeys(("gas_price", "receipt_gas_used", "receipt_effective_gas_price", "receipt_status"), INT)
)
"""The columns used of ``bigquery-public-data.crypto_ethereum.transactions``."""
_DAY = 86_400
_MOST_BLOCKS = 10**9
_SHOWN = 60  # characters of a value in a message
_LITTLE, _FEWEST = 10**15, 100  # wei; values above 0
_ALL_ETHER = 2 * 10**26  # wei, more than exist
OnStage = Callable[[str], None]  # called with the name of each stage when it starts


@dataclass(frozen=True)
class RuleCounts:
    """The number of rows that each rule dropped or changed."""

    rows: int  # read from the files
    kept: int  # not dropped
    dropped: dict[str, int]  # by rule
    changed: dict[str, int]  # by rule, among the rows kept
    formats: tuple[str, ...]  # of the files
    notes: tuple[str, ...] = ()  # what the files do not contain, and what is assumed instead
    types: tuple[str, ...] = ()  # of edges; empty if all are transactions
    unread: dict[str, str] = field(default_factory=dict)  # by rule, a value that it could not read

    def lines(self) -> list[str]:
        """Return a printable table; rules that apply to no row are left out."""
        table = [("rows in", self.rows, "")]
        table += [(f"- {_words(rule)}", count, self.reason(rule)) for rule, count in self.dropped.items() if count]
        table += [("rows kept", self.kept, "")]
        table += [(f"~ {_words(rule)}", count, _stages.CHANGED[rule]) for rule, count in self.changed.items() if count]
        return [f"{name:<28} {count:>13,}  {description}".rstrip() for name, count, description in table]

    def reason(self, rule: str) -> str:
        """Why a rule drops rows, with a value that it could not read."""
        return f"{_stages.DROPPED[rule]}{self.example(rule)}"

    def example(self, rule: str) -> str:
        """A value that a rule could not read, at the end of a sentence; empty if nothing was there to read."""
        value = self.unread.get(rule, "")
        return f"; for example {value[:_SHOWN]!r}" if value else ""


def run(engine: Engine, inputs: BuildInputs, on_stage: OnStage) -> RuleCounts:
    """Compute all stages; ``links`` and ``features`` are then there, the others are removed when they are read."""

    def drop(name: str) -> None:
        (engine.work / name).remove()

    transactions, tally = read_transactions(engine, inputs, on_stage)
    typed = bool(tally.types)
    stage = partial(_stored, engine, on_stage, typed=typed)
    _stages.store_stages(transactions, stage, _balances(engine, inputs), drop, typed=typed)
    drop(_REWRITTEN)
    return tally


def read_transactions(
    engine: Engine, inputs: BuildInputs, on_stage: OnStage, also: Sequence[str] = ()
) -> tuple[Table, RuleCounts]:
    """Compute and store the stage ``transactions``, with further columns of the stage ``rows`` if ``also`` names some.

    InputError if no row is left, or more rows than allowed cannot be read.
    """
    (engine.work / _REWRITTEN).create()
    sources = transaction_tables(inputs.transactions, inputs.columns, engine.work / _REWRITTEN)
    notes: dict[str, None] = {}
    if inputs.balances is not None and inputs.as_of is not None:
        notes["balances are used as given, even if they are later than as_of"] = None
    typed = is_typed(sources)
    stage = partial(_stored, engine, on_stage, typed=typed)
    first, *others = _rows(engine, sources, inputs, notes, typed=typed)
    rows = stage("rows", first.union(*others) if others else first)
    transactions = stage("transactions", _stages.transactions(rows, also, typed=typed), also=also)
    kept = transactions.filter(transactions.copy == "")
    values = _implausible_values(engine, kept, sources, inputs)
    dropped, copies = _counts(engine, rows, "dropped"), _counts(engine, transactions, "copy")
    flags = {name: whole(kept[name].cast("int64").sum().fill_null(0)) for name in _stages.CHANGED}
    tally = RuleCounts(
        rows=sum(dropped.values()),
        kept=copies.get("", 0),
        dropped={rule: dropped.get(rule, 0) + copies.get(rule, 0) for rule in _stages.DROPPED},
        changed=engine.rows(kept.agg(**flags))[0],
        formats=tuple(dict.fromkeys(source.kind for source in sources)),
        notes=(*notes, *values),
        types=types_of(sources) if typed else (),
        unread=_unread(engine, rows) if dropped.keys() - {"", *_stages.INTENDED} else {},
    )
    times = _implausible_times(engine, rows, sources) if tally.dropped["implausible_time"] else ""
    (engine.work / "rows").remove()
    if tally.rows == 0:
        raise InputError(f"{name_files([file for source in sources for file in source.files])}: no rows")
    _check_dropped(tally, inputs.max_dropped, sources[0].label, times)
    return transactions, tally


def types_of(sources: Sequence[TableFiles]) -> tuple[str, ...]:
    """The types of edges that tables of these formats have, in the order of their numbers."""
    found = {_formats.TYPE_OF[source.kind] for source in sources}
    if any(source.kind in _formats.TRACES for source in sources):
        found.add(_formats.TRANSACTION)
    return tuple(_formats.TYPES[number] for number in sorted(found))


def is_typed(sources: Sequence[TableFiles]) -> bool:
    """Whether edges have types: not all are transactions."""
    return types_of(sources) != (_formats.TYPES[_formats.TRANSACTION],)


def _stored(
    engine: Engine, on_stage: OnStage, name: str, table: Table, also: Sequence[str] = (), *, typed: bool = False
) -> Table:
    """Store a stage in the order in which it is read."""
    on_stage(name)
    order = _stages.ORDERS.get(name)
    written = engine.write(name, table.order_by(*order) if order else table)
    more = {column: _stages.STAGES["rows"][column] for column in also}
    check_types(name, written, _stages.columns_of(name, typed=typed) | more)
    return written


def _counts(engine: Engine, table: Table, column: str) -> dict[str, int]:
    """The number of rows with each value of a column."""
    return {row[column]: row["n"] for row in engine.rows(table.group_by(column).agg(n=table.count()))}


def _check_dropped(tally: RuleCounts, max_dropped: float, label: str, times: str) -> None:
    """Raise InputError if no row is left, or more than allowed cannot be read: sums without them would be wrong."""
    if tally.kept == 0:
        rule = max(tally.dropped, key=tally.dropped.__getitem__)
        why = f"{_words(rule)!r}{tally.example(rule)}{times}"
        raise InputError(f"{label}: no row is left of {tally.rows:,}; most were dropped as {why}")
    unread = {rule: count for rule, count in tally.dropped.items() if count and rule not in _stages.INTENDED}
    num_unread = sum(unread.values())
    if num_unread > max_dropped * tally.rows:
        rule = max(unread, key=unread.__getitem__)
        raise InputError(
            f"{label}: {num_unread:,} of {tally.rows:,} rows cannot be read ({num_unread / tally.rows:.2%}), more than "
            f"max_dropped={max_dropped:g}; most are {_words(rule)!r}: {tally.reason(rule)}{times}"
        )


def _unread(engine: Engine, rows: Table) -> dict[str, str]:
    """For each rule the first value, in the order of text, that it could not read."""
    wrong = rows.filter(rows.unread != "")
    return {
        row["dropped"]: row["unread"] for row in engine.rows(wrong.group_by("dropped").agg(unread=wrong.unread.min()))
    }


def _implausible_times(engine: Engine, rows: Table, sources: list[TableFiles]) -> str:
    """The range of the times that cannot be those of transactions, and what it looks like."""
    names = dict.fromkeys(source.roles.get("time", "timestamp") for source in sources)
    wrong = rows.filter(rows.dropped == "implausible_time")
    (extremes,) = engine.rows(wrong.agg(low=wrong.time.min(), high=wrong.time.max()))
    low, high = (int(extremes[name]) for name in ("low", "high"))
    dates = [f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}" for seconds in (low, high)]
    looks = " and looks like block numbers" if 0 < high < _MOST_BLOCKS else ""
    return f"; {' or '.join(names)} holds {low:,} to {high:,}, which is {dates[0]} to {dates[1]}{looks}"


def _implausible_values(engine: Engine, kept: Table, sources: list[TableFiles], inputs: BuildInputs) -> list[str]:
    """Notes on values of ether that look as if they were in another unit than wei."""
    if (inputs.decimals, inputs.unit) != (BuildInputs.decimals, BuildInputs.unit):
        return []
    if is_typed(sources):
        kept, sources = (
            kept.filter(kept.type != _formats.TOKEN),
            [source for source in sources if _formats.TYPE_OF[source.kind] != _formats.TOKEN],
        )
    num_paid = whole((kept.wei > 0).cast("int64").sum())
    (values,) = engine.rows(kept.agg(largest=kept.wei.max(), paid=num_paid))
    largest, paid = int(values["largest"] or 0), int(values["paid"] or 0)
    names = " or ".join(dict.fromkeys(source.roles.get("eth") or source.roles["value"] for source in sources))
    if paid >= _FEWEST and largest < _LITTLE:
        return [
            f"none of {paid:,} values reaches 0.001 ether (the largest is {largest:,} wei): {names} looks like gwei or "
            "satoshi, but is read as wei; convert it, or give values in ether with columns=…,eth=COLUMN"
        ]
    if largest > _ALL_ETHER and not inputs.any_ids:
        return [f"the largest value is {largest // 10**18:,} ether, more than exist: {names} is in another unit"]
    return []


def _rows(
    engine: Engine, sources: list[TableFiles], inputs: BuildInputs, notes: dict[str, None], *, typed: bool
) -> list[Table]:
    """Return the first stage of each source; what a source does not contain is added to ``notes``."""
    is_transaction = [_formats.TYPE_OF[source.kind] == _formats.TRANSACTION for source in sources]
    hashed = [source for source in sources if "hash" in source.roles]
    if inputs.receipts is not None and not hashed:
        raise InputError(f"receipts: {sources[0].label} has no hashes by which a receipt is found")
    receipts = _latest(engine, inputs.receipts, _formats.RECEIPTS, "hash")
    blocks = _latest(engine, inputs.blocks, _formats.BLOCKS, "block")
    parts = []
    for source, is_plain in zip(sources, is_transaction, strict=True):
        with prefix_errors(source.label):
            table, roles = engine.read(source), source.roles
            if source.kind in _formats.TRACES:
                if any(is_transaction) and engine.rows(_traces.without_hash(table, roles).limit(1)):
                    raise InputError(
                        "traces without the hash of their transaction cannot be matched with the transactions, so that "
                        "ether would count twice; give one of the two"
                    )
                table, roles = _traces.as_transfers(table, roles)
            if receipts is not None and is_plain:
                table, roles = _with_receipts(table, roles, receipts)
            if blocks is not None and "time" not in roles and "block" in roles:
                table = table.drop("joined_key") if "joined_key" in table.columns else table
                table = table.mutate(joined_key=_key(table[roles["block"]], "block")).left_join(blocks, "joined_key")
                roles = roles | {"time": "joined_time"}
            notes |= dict.fromkeys(_stages.notes(roles, source.kind, source.columns))
            rows = _stages.apply_rules(
                table,
                roles,
                inputs,
                latest=int(time.time()) + _DAY,
                internal=any(source.kind in INTERNAL for source in hashed),
                alone=len(sources) == len(source.files) == 1,
                kind=source.kind,
                typed=typed,
            )
            parts.append(rows)
    return parts


def _latest(engine: Engine, path: str | Path | None, roles: Mapping[str, tuple[str, ...]], key: str) -> Table | None:
    """Return receipts or blocks, one row per hash or block number, that of the highest block; None without a file.

    The columns are named ``joined_`` and their role.
    """
    if path is None:
        return None
    files = extra_table(path, roles, ("hash",) if key == "hash" else ("block", "time"), engine.work / _REWRITTEN)
    table = engine.read(files)
    columns = {role: table[name] for role, name in files.roles.items()}
    block = _formats.integer(columns["block"], 18).fill_null(0) if "block" in columns else ibis.literal(0, type=WEI)
    others = {f"joined_{role}": column for role, column in columns.items()}
    named = table.select(joined_key=_key(columns[key], key), joined_height=block, **others)
    order = [named.joined_height.desc(), *(named[name].cast("string").fill_null("").desc() for name in others)]
    numbered = named.mutate(joined_position=ibis.row_number().over(group_by=named.joined_key, order_by=order))
    return numbered.filter(numbered.joined_position == 0).drop("joined_position", "joined_height")


def _key(column: Column, role: str) -> Column:
    return _formats.text(column).lower() if role == "hash" else _formats.integer(column, 18)


def _with_receipts(table: Table, roles: dict[str, str], receipts: Table) -> tuple[Table, dict[str, str]]:
    """Join receipts; the table's own columns fill the gaps in them."""
    receipt = {"receipt": "joined_hash"}
    if "hash" not in roles:
        return table.mutate(joined_hash=ibis.null("string")), roles | receipt
    joined = table.mutate(joined_key=_key(table[roles["hash"]], "hash")).left_join(receipts, "joined_key")
    columns = {role: f"joined_{role}" for role in _formats.RECEIPTS if role not in ("hash", "block")}
    added = {role: name for role, name in columns.items() if name in receipts.columns}
    filled = {}
    for role, name in added.items():
        if role in ("gas", "price") and role in roles:
            filled[name] = _formats.integer(joined[name]).fill_null(_formats.integer(joined[roles[role]]))
        elif role in roles:
            filled[name] = _formats.text(joined[name]).nullif("").fill_null(_formats.text(joined[roles[role]]))
    return joined.mutate(**filled), roles | added | receipt


def _balances(engine: Engine, inputs: BuildInputs) -> Table | None:
    """The balance of each account; raises InputError for one that cannot be read, and for an account with two."""
    if inputs.balances is None:
        return None
    files = extra_table(inputs.balances, _formats.BALANCES, ("account", "balance"), engine.work / _REWRITTEN)
    with prefix_errors(inputs.balances):
        table = engine.read(files)
        if table[files.roles["balance"]].type().is_string():
            table = _formats.point_moved(table, files.roles["balance"])
        account, spelled = _formats.text(table[files.roles["account"]]), table[files.roles["balance"]]
        balances = table.select(
            account=account if inputs.any_ids else _formats.with_0x(account),
            balance=_formats.wei(spelled),
            written=_formats.text(spelled),
        )
        for row in engine.rows(balances.filter(balances.balance.isnull()).limit(1)):
            problem = "is missing" if not row["written"] else f"is {row['written']!r}, not a number of wei"
            raise InputError(f"the balance of {row['account']} {problem}")
        each = balances.group_by("account").agg(least=balances.balance.min(), balance=balances.balance.max())
        for row in engine.rows(each.filter(each.least != each.balance).limit(1)):
            raise InputError(f"{row['account']} has two balances, {row['least']} and {row['balance']}")
    return each.drop("least")


def sql_script(inputs: BuildInputs, dialect: str, *, into: str | None = None) -> str:
    """Return one ``CREATE TABLE … AS SELECT`` per stage, from a table of transactions to features.

    A time column that is a timestamp is filtered by ``as_of`` as it is, so that a database reads only the partitions
    of earlier days. No table is sorted as a whole.

    Args:
        inputs: one table, as in ``project.dataset.table``, with BigQuery's columns or those of ``columns``, which are
            all treated as text; ``as_of`` and ``any_ids``.
        dialect: one of :data:`DIALECTS`.
        into: the schema of the tables that are created, as in ``project.dataset``; the database's default if None.
    """
    if dialect not in DIALECTS:
        raise unknown("dialect", dialect, DIALECTS)
    if len(inputs.transactions) != 1:
        raise InputError(f"one table is needed, not {len(inputs.transactions)}")
    columns = dict.fromkeys(inputs.columns.values(), TEXT) if inputs.columns else _BIGQUERY
    table = _table(str(inputs.transactions[0]), columns)
    kind, roles = recognise(table.columns, inputs.columns)
    _stages.notes(roles, kind, table.columns)
    if inputs.as_of is not None and table[roles["time"]].type().is_timestamp():
        end = ibis.literal(datetime.fromtimestamp(inputs.as_of + 1, UTC), type="timestamp('UTC')")
        table = table.filter(table[roles["time"]] < end)
    statements: list[str] = []

    def stage(name: str, table: Table) -> Table:
        created = _table(f"{into}.{PREFIX}{name}" if into else f"{PREFIX}{name}", _stages.STAGES[name])
        named = created.op()
        target = sqlglot.exp.table_(named.name, named.namespace.database, named.namespace.catalog, quoted=True)
        statements.append(f"CREATE TABLE {target.sql(dialect=dialect)} AS\n{ibis.to_sql(table, dialect=dialect)};")
        return created

    with unmerged_selects():
        rows = stage("rows", _stages.apply_rules(table, roles, inputs, internal=kind in INTERNAL))
        transactions = stage("transactions", _stages.transactions(rows))
        _stages.store_stages(transactions, stage)
    return "\n\n".join(statements)


def _table(name: str, types: Types) -> Table:
    *prefix, last = name.split(".")
    if len(prefix) > 2 or not all([*prefix, last]):
        raise InputError(f"{name!r} is not the name of a table, as in project.dataset.table")
    catalog, database = [None, None, *prefix][-2:]
    return ibis.table(dict(types), name=last, catalog=catalog, database=database)


def read_tables(engine: Engine, inputs: BuildInputs, on_stage: OnStage) -> RuleCounts:
    """Write the exported stages, sorted; the tally only counts the transactions between two accounts.

    The Parquet files of a table have its name, or are in a folder of its name.
    """
    files = expand(inputs.transactions)
    links, features = (_exported(engine, files, name) for name in ("links", "features"))
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
    for name, table in (("links", links), ("features", features)):
        _stored(engine, on_stage, name, table)
    pairs = links.filter(links.node != links.other)
    (total,) = engine.rows(pairs.agg(count=whole(pairs.out_count.sum().fill_null(0))))
    return RuleCounts(total["count"], total["count"], {}, {}, ("exported tables",))


def _exported(engine: Engine, files: Sequence[Location], stage: str) -> Table:
    """Return an exported table in the types of its stage; databases export other widths and decimals."""
    name, types = f"{PREFIX}{stage}", _stages.STAGES[stage]
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


def _words(rule: str) -> str:
    return rule.replace("_", " ")
