"""The stages of a build, one after the other, on an engine; what each rule did is counted on the way."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import ibis

from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum import formats, rules, sources, tables, values
from mggcn.ethereum.engines import Engine
from mggcn.ethereum.sources import Source
from mggcn.ethereum.values import Column, Table

Say = Callable[[str], None]


@dataclass(frozen=True)
class Inputs:
    """What a data set is built from.

    Args:
        transactions: files and folders.
        columns: the column of each role, where the format is none of the known.
        receipts: for files without status, gas and contract.
        blocks: for files without time.
        balances: of accounts, in wei, instead of what the transactions add up to.
        as_of: seconds since 1970; what is later is not there.
        any_ids: accounts are any text; else they must be addresses.
    """

    transactions: tuple[Path, ...]
    columns: dict[str, str] | None = None
    receipts: Path | None = None
    blocks: Path | None = None
    balances: Path | None = None
    as_of: int | None = None
    any_ids: bool = False

    def files(self) -> list[Path]:
        """The files of transactions."""
        return sources.expand(self.transactions)


@dataclass(frozen=True)
class Tally:
    """What became of the rows.

    Attributes:
        rows: how many there were.
        kept: how many stayed.
        dropped: by rule.
        changed: by rule, among those that stayed.
        formats: of the files, in words.
        notes: what the files do not say, and what is taken in its place.
    """

    rows: int
    kept: int
    dropped: dict[str, int]
    changed: dict[str, int]
    formats: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())

    def lines(self) -> list[str]:
        """A table for a person; rules that no row met are left out."""
        told = [("rows in", self.rows, "")]
        told += [(f"- {_words(rule)}", count, rules.DROPPED[rule]) for rule, count in self.dropped.items() if count]
        told += [("rows kept", self.kept, "")]
        told += [(f"~ {_words(rule)}", count, rules.CHANGED[rule]) for rule, count in self.changed.items() if count]
        return [f"{what:<28} {count:>13,}  {why}".rstrip() for what, count, why in told]


def run(engine: Engine, inputs: Inputs, work: Path, say: Say) -> Tally:
    """Carry out all stages; the engine then has ``accounts``, ``edges``, ``links`` and ``features``."""
    rewritten = work / "rewritten"
    rewritten.mkdir()
    found = sources.transactions(inputs.transactions, inputs.columns, rewritten)
    late = inputs.balances is not None and inputs.as_of is not None
    notes: dict[str, None] = {"balances are taken as they are given, be they later than --as-of": None} if late else {}
    say("rows")
    rows = engine.stage("rows", _united(_judged(engine, found, inputs, rewritten, notes)), rules.ROWS)
    say("transactions")
    transactions = engine.stage("transactions", tables.transactions(rows), tables.TRANSACTIONS)
    tally = _count(engine, rows, transactions, tuple(dict.fromkeys(one.format for one in found)), tuple(notes))
    if tally.rows == 0:
        raise InputError(f"{sources.listed([file for one in found for file in one.given])}: no rows")
    if tally.kept == 0:
        why = max(tally.dropped, key=lambda rule: tally.dropped[rule])
        raise InputError(f"{found[0].label}: no row is left of {tally.rows:,}; most were dropped as {_words(why)!r}")
    say("accounts")
    accounts = engine.stage("accounts", tables.accounts(transactions), tables.ACCOUNTS)
    say("edges")
    edges = engine.stage("edges", tables.edges(transactions, accounts), tables.EDGES)
    say("links")
    links = engine.stage("links", tables.links(edges), tables.LINKS)
    say("features")
    balances = _balances(engine, inputs, rewritten)
    engine.stage("features", tables.features(links, accounts, balances), tables.FEATURES)
    return tally


def _judged(engine: Engine, found: list[Source], inputs: Inputs, work: Path, notes: dict[str, None]) -> list[Table]:
    """The judged rows of each source, those without hashes a file at a time, as copies are then told by their file.

    ``notes`` gets what a source does not say.
    """
    hashed = [source for source in found if "hash" in source.roles]
    parts = [part for source in found for part in ([source] if "hash" in source.roles else source.apart())]
    if inputs.receipts is not None and not hashed:
        raise InputError(f"--receipts: {found[0].label} has no hashes by which a receipt is found")
    receipts = None if inputs.receipts is None else _receipts(engine, inputs.receipts, work)
    blocks = None if inputs.blocks is None else _blocks(engine, inputs.blocks, work)
    internal = any(source.format in formats.INTERNAL for source in hashed)
    alone = sum(len(source.files) for source in found) == 1
    judged = []
    for source in parts:
        with prefix_errors(source.label):
            table, roles = engine.read(source), dict(source.roles)
            if receipts is not None:
                table, roles = _with_receipts(table, roles, receipts)
            if blocks is not None and "time" not in roles and "block" in roles:
                table, roles = _with_times(table, roles, blocks)
            rules.check_roles(roles, source.format)
            notes |= dict.fromkeys(rules.notes(roles, source.format))
            rows = rules.judged(
                table, roles, as_of=inputs.as_of, any_ids=inputs.any_ids, internal=internal, alone=alone
            )
        judged.append(rows)
    return judged


def _receipts(engine: Engine, path: Path, work: Path) -> Table:
    extra = sources.beside(path, formats.RECEIPTS, ("hash",), work)
    table = engine.read(extra)
    return tables.latest(table, extra.roles, values.text(table[extra.roles["hash"]]).lower())


def _blocks(engine: Engine, path: Path, work: Path) -> Table:
    extra = sources.beside(path, formats.BLOCKS, ("block", "time"), work)
    table = engine.read(extra)
    return tables.latest(table, extra.roles, values.integer(table[extra.roles["block"]], 18))


def _with_receipts(table: Table, roles: dict[str, str], receipts: Table) -> tuple[Table, dict[str, str]]:
    """What receipts say, and what the table itself says where they are silent."""
    receipt = {"receipt": "joined_hash"}
    if "hash" not in roles:
        return table.mutate(joined_hash=ibis.null("string")), roles | receipt
    joined = table.mutate(joined_key=values.text(table[roles["hash"]]).lower()).left_join(receipts, "joined_key")
    known = {role: f"joined_{role}" for role in formats.RECEIPTS if role not in ("hash", "block")}
    added = {role: name for role, name in known.items() if name in receipts.columns}
    both = {name: _first(role, joined[name], joined[roles[role]]) for role, name in added.items() if role in roles}
    return joined.mutate(**both), roles | added | receipt


def _with_times(table: Table, roles: dict[str, str], blocks: Table) -> tuple[Table, dict[str, str]]:
    table = table.drop("joined_key") if "joined_key" in table.columns else table
    table = table.mutate(joined_key=values.integer(table[roles["block"]], 18)).left_join(blocks, "joined_key")
    return table, roles | {"time": "joined_time"}


def _first(role: str, one: Column, other: Column) -> Column:
    """What one column says, or the other where it says nothing."""
    if role in ("gas", "price"):
        return values.integer(one).fill_null(values.integer(other))
    return values.text(one).nullif("").fill_null(values.text(other))


def _balances(engine: Engine, inputs: Inputs, work: Path) -> Table | None:
    if inputs.balances is None:
        return None
    extra = sources.beside(inputs.balances, formats.BALANCES, ("account", "balance"), work)
    with prefix_errors(extra.label):
        table = engine.read(extra)
        account = values.text(table[extra.roles["account"]])
        spelled = table.select(
            account=account if inputs.any_ids else account.lower(),
            balance=values.wei(table[extra.roles["balance"]]),
        )
    return spelled.group_by("account").agg(balance=spelled.balance.max())


def _words(rule: str) -> str:
    return rule.replace("_", " ")


def _united(parts: list[Table]) -> Table:
    first, *others = parts
    return first.union(*others) if others else first


def _count(engine: Engine, rows: Table, transactions: Table, names: tuple[str, ...], notes: tuple[str, ...]) -> Tally:
    def numbers(table: Table, column: str) -> dict[str, int]:
        return {row[column]: row["n"] for row in engine.rows(table.group_by(column).agg(n=table.count()))}

    dropped, copies = numbers(rows, "dropped"), numbers(transactions, "copy")
    kept = transactions.filter(transactions.copy == "")
    flags = {name: values.whole(kept[name].cast("int64").sum().fill_null(0)) for name in rules.CHANGED}
    (changed,) = engine.rows(kept.agg(**flags))
    return Tally(
        rows=sum(dropped.values()),
        kept=copies.get("", 0),
        dropped={rule: (dropped | copies).get(rule, 0) for rule in rules.DROPPED},
        changed=changed,
        formats=names,
        notes=notes,
    )
