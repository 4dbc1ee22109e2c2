"""The stages of a build, one after the other, on an engine; what each rule did is counted on the way."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from mggcn.datasets.blame import blaming
from mggcn.errors import InputError
from mggcn.ethereum import formats, rules, sources, tables, values
from mggcn.ethereum.engines import Engine
from mggcn.ethereum.sources import Source
from mggcn.ethereum.values import Table

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
    judged = [_judged(engine, source, inputs, rewritten, notes) for source in _told_apart(found)]
    rows = engine.stage("rows", _united(judged), rules.ROWS)
    say("transactions")
    transactions = engine.stage("transactions", tables.transactions(rows), tables.TRANSACTIONS)
    tally = _count(engine, rows, transactions, tuple(dict.fromkeys(one.format for one in found)), tuple(notes))
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


def _told_apart(found: list[Source]) -> list[Source]:
    """The sources, those without hashes a file at a time, as copies are then told by the file they are in."""
    return [
        part
        for source in found
        for part in ([source] if "hash" in source.roles else [replace(source, files=(file,)) for file in source.files])
    ]


def _judged(engine: Engine, source: Source, inputs: Inputs, work: Path, notes: dict[str, None]) -> Table:
    """The judged rows of a source; ``notes`` gets what it does not say."""
    with blaming(source.label):
        table, roles = _completed(engine, source, inputs, work)
        rules.check_roles(roles, source.format)
        notes |= dict.fromkeys(rules.notes(roles, source.format))
        internal = source.format in formats.INTERNAL
        rows = rules.judged(table, roles, as_of=inputs.as_of, any_ids=inputs.any_ids, internal=internal)
    alone = "hash" in roles or len(inputs.files()) == 1
    return rows if alone else tables.unhashed(rows)


def _completed(engine: Engine, source: Source, inputs: Inputs, work: Path) -> tuple[Table, dict[str, str]]:
    """The table of a source with what receipts and blocks add to it."""
    table, roles = engine.read(source), dict(source.roles)
    if inputs.receipts is not None and "hash" in roles:
        extra = sources.beside(inputs.receipts, formats.RECEIPTS, ("hash",), work)
        receipts = engine.read(extra)
        right = tables.latest(receipts, extra.roles, values.text(receipts[extra.roles["hash"]]).lower())
        table = table.mutate(joined_key=values.text(table[roles["hash"]]).lower()).left_join(right, "joined_key")
        roles |= {role: f"joined_{role}" for role in extra.roles if role not in ("hash", "block")}
    if inputs.blocks is not None and "time" not in roles and "block" in roles:
        extra = sources.beside(inputs.blocks, formats.BLOCKS, ("block", "time"), work)
        blocks = engine.read(extra)
        right = tables.latest(blocks, extra.roles, values.integer(blocks[extra.roles["block"]], 18))
        table = table.drop("joined_key") if "joined_key" in table.columns else table
        table = table.mutate(joined_key=values.integer(table[roles["block"]], 18)).left_join(right, "joined_key")
        roles["time"] = "joined_time"
    return table, roles


def _balances(engine: Engine, inputs: Inputs, work: Path) -> Table | None:
    if inputs.balances is None:
        return None
    extra = sources.beside(inputs.balances, formats.BALANCES, ("account", "balance"), work)
    with blaming(extra.label):
        table = engine.read(extra)
        account = values.text(table[extra.roles["account"]])
        spelled = table.select(
            account=account if inputs.any_ids else account.lower(),
            balance=values.integer(table[extra.roles["balance"]]),
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
