"""The stages from rows of any format to features, each an Ibis expression of the stage before.

``rows``: the rules that convert rows into transactions that move ether between two accounts. Each rule is described
once, in :data:`DROPPED` or :data:`CHANGED`; the summary of a build repeats the description. A dropped row is counted
under the first rule that drops it, a changed row under every rule that changes it.

Then come ``transactions`` without copies → ``accounts`` with their numbers → directed ``edges`` → ``links``: each edge
from both ends, in the order of a graph's rows → ``features``: one row per account. All columns are integers, decimals
and text, so that every engine gives the same rows. The SQL script and the build store the same expressions.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TypeAlias

import ibis

from mggcn.errors import InputError
from mggcn.ethereum import _formats, _tokens
from mggcn.ethereum._build_files import BuildInputs
from mggcn.ethereum._formats import FLAG, INT, TEXT, WEI, Column, Table, success_roles, whole
from mggcn.ethereum._traces import GENESIS

DROPPED = {
    "no_time": "its time is missing, or neither seconds since 1970 nor a time in UTC",
    "later": "it is later than as_of",
    "implausible_time": "it is before Ethereum's first block (2015-07-30; with ids='text' Bitcoin's, 2009-01-03) or in "
    "the future",
    "no_sender": "the sender is missing",
    "malformed_sender": "the sender is not 0x and 40 hexadecimal digits",
    "malformed_receiver": "the receiver is present, but not 0x and 40 hexadecimal digits; or genesis has no receiver",
    "no_value": "its value is missing, negative, not a number, or has more than 28 digits of wei",
    "unknown_status": "its status or error is present, but none of 0, 1, true and false",
    "code_call": "a trace that only runs another contract's code: it moves nothing",
    "duplicate": "another row has the same hash; without hashes, an equal row is in another file",
    "reorganised": "a row of a higher block has the same hash",
    "token_id": "the values of its token can be ids of single items (ERC-721), which are not amounts",
}
_UNREAD = {
    "no_time": "spelled_time",
    "malformed_sender": "spelled_sender",
    "malformed_receiver": "spelled_receiver",
    "no_value": "spelled_value",
    "unknown_status": "spelled_status",
}
"""What a rule could not read, for messages."""
INTENDED = ("later", "code_call", "duplicate", "reorganised", "token_id")
"""The rules that drop rows which can be read; all others drop rows that cannot."""
CHANGED = {
    "mixed_case": "addresses are the same in any case and without 0x, and written in lower case with it",
    "creation": "a contract was created: the receiver is the new contract",
    "unknown_contract": "a contract was created, but the file does not say which: only the fee counts",
    "failed": "it moved no value: only the fee counts",
    "to_itself": "nothing moves between accounts: only the fee counts, and there is no edge",
    "genesis": "ether that existed from the start: it adds to the balance, without a transaction or an edge",
    "below_one_wei": "digits below one wei are cut off",
    "no_receipt": "the receipts do not contain it: the columns of its own file count",
}
FIRST_BLOCK = 1_438_269_973  # of Ethereum, in seconds since 1970

_FIRST_OF_ANY = 1_231_006_505  # Bitcoin's first block
ADDRESS = "^0x[0-9a-f]{40}$"

_ENDS = {"sender": "from", "receiver": "to", "contract": "contract"}
_AMOUNTS = ("value", "fee", "price", "list_price")
_NO, _YES = ("0", "0.0", "0x0", "false"), ("1", "1.0", "0x1", "true")
_COMPARED = (*_ENDS, "part", "block", "time", "wei", "fee", "count", "failed", "below_one_wei")

STAGES: dict[str, dict[str, str]] = {
    "rows": {"src": TEXT, "dst": TEXT, "hash": TEXT, "block": INT, "time": INT, "wei": WEI, "fee": WEI, "count": INT}
    | {"moves": FLAG, "dropped": TEXT, "unread": TEXT}
    | dict.fromkeys(CHANGED, FLAG),
    "transactions": {"src": TEXT, "dst": TEXT, "time": INT, "wei": WEI, "fee": WEI, "count": INT}
    | {"moves": FLAG, "copy": TEXT}
    | dict.fromkeys(CHANGED, FLAG),
    "accounts": {"address": TEXT, "id": INT},
    "edges": dict.fromkeys(("src", "dst", "count"), INT)
    | {"wei": WEI, "largest": WEI, "first": INT, "last": INT, "fee": WEI},
    "links": {"node": INT, "other": INT, "out_count": INT, "out_wei": WEI, "out_first": INT, "out_last": INT}
    | {"in_count": INT, "in_wei": WEI, "first": INT, "last": INT, "largest": WEI, "fee": WEI},
    "features": {"address": TEXT, "id": INT, "balance_wei": WEI}
    | dict.fromkeys(("in_degree", "out_degree", "n_counterparties", "in_tx", "out_tx"), INT)
    | dict.fromkeys(("in_wei", "out_wei", "fee_wei", "max_wei"), WEI)
    | {"first_time": INT, "last_time": INT},
    "transfers": {"src": INT, "dst": INT, "type": INT, "token": TEXT, "count": INT, "amount": WEI}
    | {"first": INT, "last": INT},
}
"""The columns of each stage with their types."""
_TYPED: dict[str, dict[str, str]] = {
    "rows": {"type": INT, "token": TEXT, "sure": FLAG},
    "transactions": {"type": INT, "token": TEXT},
    "edges": {"internal_count": INT, "internal_wei": WEI, "token_count": INT} | dict.fromkeys(_formats.TYPES, INT),
    "links": {"out_internal_count": INT, "out_internal_wei": WEI, "out_token_count": INT}
    | dict.fromkeys(_formats.TYPES, INT),
}
"""Further columns in builds whose edges have types; a column named as a type is 1 if there are such edges, else 0."""
ORDERS = {"links": ("node", "other"), "features": ("id",), "transfers": ("src", "dst", "type", "token")}
"""In which the build reads these stages: that of a graph's rows, and that of the accounts' numbers."""
Stage: TypeAlias = Callable[[str, Table], Table]  # stores a table as a stage, and returns what is stored

_SHARD = 4  # characters: 0x and two digits of an address, which makes 256 shards of similar size


def columns_of(stage: str, *, typed: bool) -> dict[str, str]:
    """The columns of a stage with their types; ``typed`` if edges have types."""
    return STAGES[stage] | (_TYPED.get(stage, {}) if typed else {})


def apply_rules(
    table: Table,
    roles: Mapping[str, str],
    inputs: BuildInputs,
    *,
    latest: int | None = None,
    internal: bool = False,
    alone: bool = True,
    kind: str = "",
    typed: bool = False,
) -> Table:
    """Return the rows of a table in the columns of the stage ``rows``, with the result of each rule.

    A row that moves nothing between two accounts has its sender as both ends and ``moves`` false; its ``wei`` are then
    added to the balance.

    Args:
        table: of any format.
        roles: the column of each role.
        inputs: of which ``as_of`` and ``any_ids`` are used.
        latest: seconds since 1970; later rows are in the future.
        internal: rows can be transfers within a transaction and share its hash. They are then duplicates only if
            sender, receiver and value are equal too. It must be the same for all tables of a build.
        alone: there is no other table; else rows without hashes get keys by which copies in other tables are found.
        kind: the name of the table's format, which says the type of its edges.
        typed: edges have types.
    """
    any_ids, type_of_edges = inputs.any_ids, _formats.TYPE_OF.get(kind, _formats.TRANSACTION)
    is_token = type_of_edges == _formats.TOKEN
    rows = _read(table, roles, inputs.decimals, _tokens.DIGITS if is_token else None, is_sure=kind in _formats.ERC20)
    if not any_ids:
        rows = rows.mutate(**{end: _formats.with_0x(rows[f"spelled_{end}"]) for end in _ENDS})
    rows = rows.mutate(genesis=ibis.literal(False) if any_ids else rows.sender == GENESIS)
    rows = rows.mutate(creation=~rows.genesis & (rows.receiver == ""))
    rows = rows.mutate(made=rows.creation & _is_account(rows.contract, any_ids))
    rows = rows.mutate(target=rows.made.ifelse(rows.contract, rows.receiver))
    rows = rows.mutate(itself=~rows.genesis & (rows.sender == rows.target))
    rows = rows.mutate(
        moves=~(rows.failed | rows.itself | rows.genesis | (rows.creation & ~rows.made)),
        dropped=_dropped(rows, inputs.as_of, latest, any_ids),
    )
    if type_of_edges == _formats.INTERNAL_TRANSFER:  # positions are written as 0,1 and 0_1
        rows = rows.mutate(part=rows.part.re_replace("[^0-9]+", ","))
    if typed:
        rows = rows.mutate(token=_formats.with_0x(rows.token), type=_type(rows, type_of_edges, kind))
    unread = [(rows.dropped == rule, rows[spelled]) for rule, spelled in _UNREAD.items()]
    rows = rows.mutate(unread=ibis.cases(*unread, else_=""))
    rows = _with_keys(rows, roles, internal, alone, is_token=is_token)
    changes = [rows[end] != rows[f"spelled_{end}"] for end in _ENDS]
    return rows.mutate(
        src=rows.genesis.ifelse(rows.receiver, rows.sender),
        dst=ibis.cases((rows.moves, rows.target), (rows.genesis, rows.receiver), else_=rows.sender),
        wei=(rows.moves | rows.genesis).ifelse(rows.wei, ibis.literal(0, type=WEI)),
        count=whole(rows.moves.ifelse(rows["count"], 0)),
        mixed_case=~rows.genesis & (changes[0] | changes[1] | (rows.made & changes[2])),
        creation=rows.made & ~rows.failed,
        unknown_contract=rows.creation & ~rows.made & ~rows.failed,
        to_itself=rows.itself & ~rows.failed,
    ).select(*columns_of("rows", typed=typed))


def _type(rows: Table, of_format: int, kind: str) -> Column:
    """The type of each edge: the first trace of a transaction is the transaction, and rewards are no transfers."""
    if kind not in _formats.TRACES:
        return ibis.literal(of_format).cast("int64")
    return (rows.part == "").ifelse(_formats.TRANSACTION, of_format).cast("int64")


def _read(table: Table, roles: Mapping[str, str], decimals: int, digits: int | None, *, is_sure: bool) -> Table:
    """Return the contents of the columns in the types of the first stage; ``digits`` are those of a token's amount."""
    table = table.select(*dict.fromkeys(roles.values()))
    for role in _AMOUNTS:
        if role in roles and table[roles[role]].type().is_string():
            table = _formats.point_moved(table, roles[role])
    if "eth" in roles:
        table = _formats.point_moved(table, roles["eth"], decimals)
    column = {role: table[name] for role, name in roles.items()}
    ends = {end: _text(column, role) for end, role in _ENDS.items()}
    spelled = {f"spelled_{end}": name for end, name in ends.items()}
    flags = {role: _text(column, role).lower() for role in roles if role.startswith(("status", "error"))}
    is_failed = [flag.isin(_YES if role.startswith("error") else _NO) for role, flag in flags.items()]
    unreadable = [~flag.isin(("", *_NO, *_YES)) for flag in flags.values()]
    value = column["eth" if "eth" in roles else "value"]
    amount = _formats.wei(value) if digits is None else _formats.wei(value, digits)
    says = _tokens.is_amount(_text(column, "standard")) if "standard" in column else ibis.null("boolean")
    is_long = _formats.text(value).re_search(f"^0*[1-9][0-9]{{{digits},}}$") if digits else ibis.literal(False)
    return table.select(
        hash=_text(column, "hash").lower(),
        part=_text(column, "part"),
        block=_integer(column, "block", 18).cast("int64"),
        time=_formats.seconds(column["time"]),
        wei=amount,
        fee=_fee(column),
        count=_integer(column, "count", 18, default=1).cast("int64"),
        # an empty status, as before the Byzantium fork, is a success
        failed=reduce(or_, is_failed, ibis.literal(False)),
        unknown_status=reduce(or_, unreadable, ibis.literal(False)),
        no_receipt=column["receipt"].isnull() if "receipt" in column else ibis.literal(False),
        token=_text(column, "token"),
        sure=says.fill_null(ibis.literal(is_sure)),
        is_id=(is_long & ~ibis.literal(is_sure)) | ~says.fill_null(ibis.literal(True)),
        is_code=column["code"] if "code" in column else ibis.literal(False),
        **ends,
        **spelled,
        spelled_time=_text(column, "time"),
        spelled_value=_text(column, "eth" if "eth" in roles else "value"),
        spelled_status=ibis.cases(*zip(unreadable, flags.values(), strict=True), else_="")
        if flags
        else ibis.literal(""),
        below_one_wei=table.point_cut if "eth" in roles else ibis.literal(False),
    )


def _dropped(rows: Table, as_of: int | None, latest: int | None, any_ids: bool) -> Column:
    """Return the first rule that drops a row, empty if none does."""
    too_early = ~rows.genesis & (rows.time < (_FIRST_OF_ANY if any_ids else FIRST_BLOCK))
    tests = {
        "no_time": rows.time.isnull(),
        "later": rows.time > as_of if as_of is not None else ibis.literal(False),
        "implausible_time": too_early | (rows.time > latest) if latest is not None else too_early,
        "code_call": rows.is_code,
        "token_id": rows.is_id,
        "no_sender": rows.sender == "",
        "malformed_sender": ~rows.genesis & ~_is_account(rows.sender, any_ids),
        "malformed_receiver": ~rows.creation & ~_is_account(rows.receiver, any_ids),
        "no_value": rows.wei.isnull(),
        "unknown_status": rows.unknown_status,
    }
    return ibis.cases(*((test, rule) for rule, test in tests.items()), else_="")


def _text(column: Mapping[str, Column], role: str) -> Column:
    return _formats.text(column[role]) if role in column else ibis.literal("")


def _is_account(name: Column, any_ids: bool) -> Column:
    return name != "" if any_ids else name.re_search(ADDRESS)


def _with_keys(rows: Table, roles: Mapping[str, str], internal: bool, alone: bool, *, is_token: bool) -> Table:
    """Replace the hash by a key that only copies of a row share; empty if there is none."""

    def joined(names: Sequence[str]) -> Column:
        return ibis.literal("/").join([rows[name].cast("string").fill_null("") for name in names])

    if is_token and "hash" in roles:
        names = ["hash", "part"] if "part" in roles else ["hash", "token", "sender", "receiver", "wei"]
        return rows.mutate(hash=(rows.hash == "").ifelse("", ibis.literal("token/") + joined(names)))
    if "hash" in roles:
        if "part" in roles:  # what has no part is the transaction itself
            rows = rows.mutate(hash=(rows.part == "").ifelse(rows.hash, joined(["hash", "part"])))
        names = ["sender", "receiver", "wei"] * internal
        return rows.mutate(hash=(rows.hash == "").ifelse("", joined(["hash", *names]))) if names else rows
    if alone:
        return rows
    # keys that equal rows of two tables share, but not equal rows of one table
    rows = rows.mutate(hash=joined(_COMPARED))
    spelled = [rows[f"spelled_{end}"] for end in _ENDS]
    rows = rows.mutate(number=ibis.row_number().over(group_by=rows.hash, order_by=spelled))
    return rows.mutate(hash=joined(["hash", "number"]))


def _integer(column: Mapping[str, Column], role: str, digits: int, default: int = 0) -> Column:
    missing = ibis.literal(default, type=WEI)
    return _formats.integer(column[role], digits).fill_null(missing) if role in column else missing


def _fee(column: Mapping[str, Column]) -> Column:
    """Return the fee, 0 if unknown; gas and price are limited so that their product fits into 38 digits."""
    if "fee" in column:
        return _integer(column, "fee", 28)
    price = _integer(column, "price", 19)
    listed = _integer(column, "list_price", 19)
    paid = (price == 0).ifelse(listed, price) if "list_price" in column else price
    return (_integer(column, "gas", 18).cast("decimal(18,0)") * paid.cast("decimal(19,0)")).cast(WEI)


def notes(roles: Mapping[str, str], kind: str, columns: Sequence[str]) -> list[str]:
    """Return what a table with these columns does not contain, and what is assumed instead; without a time it fails."""
    if "time" not in roles:
        raise InputError(f"no time ({kind}): give blocks=… with number and timestamp, or columns=… with time=…")
    if _formats.TYPE_OF[kind] != _formats.TRANSACTION:  # fees and failures are those of the transactions
        return []
    lines = []
    if not {"status", "error"} & set(roles):
        unused = ", ".join(f"{role}={column}" for role, column in success_roles(columns).items())
        hint = f" (columns does not name {unused})" if unused else ""
        lines.append(f"{kind}: no status, so that every transaction counts as a success{hint}")
    if "fee" not in roles and not ("gas" in roles and {"price", "list_price"} & set(roles)):
        lines.append(f"{kind}: no gas used and its price, so that fees count as 0")
    if "hash" not in roles:
        lines.append(f"{kind}: no hashes, so that equal rows of one file count as several transactions")
    return lines


def transactions(rows: Table, also: Sequence[str] = (), *, typed: bool = False) -> Table:
    """Return the rows that no rule dropped; ``copy`` is the rule that drops a copy, empty for rows to keep.

    Of several rows with one hash the row in the highest block is kept: after a fork the longer chain won. If edges have
    types, a transaction whose trace failed did, too, and a token whose values can be ids is left out.
    """
    kept = rows.filter(rows.dropped == "")
    columns = [*(name for name in columns_of("transactions", typed=typed) if name != "copy"), *also]
    columns += ["sure"] * typed
    unnamed = kept.filter(kept.hash == "").select(*columns, copy=ibis.literal(""))
    named = kept.filter(kept.hash != "")
    order = [named[name].desc() for name in ("block", "time", "moves", "fee", "wei", "src", "dst", "count", *CHANGED)]
    position = ibis.row_number().over(group_by=named.hash, order_by=order)
    older = named.block < named.block.max().over(group_by=named.hash)
    copy = ibis.cases((position == 0, ""), (older, "reorganised"), else_="duplicate")
    if not typed:
        return unnamed.union(named.select(*columns, copy=copy)).select(*STAGES["transactions"], *also)
    failures = named.failed.cast("int64").max().over(group_by=named.hash)
    undone = named.select(*columns, copy=copy, undone=named.moves & (failures > 0))
    undone = undone.mutate(
        dst=undone.undone.ifelse(undone.src, undone.dst),
        wei=undone.undone.ifelse(ibis.literal(0, type=WEI), undone.wei),
        count=undone.undone.ifelse(0, undone["count"]).cast("int64"),
        moves=undone.moves & ~undone.undone,
        failed=undone.failed | undone.undone,
        creation=undone.creation & ~undone.undone,
    )
    everything = unnamed.union(undone.select(*columns, "copy"))
    amounts = _tokens.are_amounts(everything.filter(everything.copy == ""))
    joined = everything.left_join(amounts, everything.token == amounts.named)
    is_id = (joined.copy == "") & (joined.type == _formats.TOKEN) & joined.named.isnull()
    marked = joined.mutate(copy=is_id.ifelse("token_id", joined.copy))
    return marked.select(*columns_of("transactions", typed=True), *also)


def store_stages(
    transactions: Table,
    stage: Stage,
    balances: Table | None = None,
    drop: Callable[[str], None] = lambda _: None,
    *,
    typed: bool = False,
) -> None:
    """Compute and store the stages after ``transactions``; call ``drop`` with each stage that no later one reads."""
    numbered = stage("accounts", accounts(transactions))
    if typed:
        stage("transfers", transfers(transactions, numbered))
    stored = stage("edges", edges(transactions, numbered, typed=typed))
    drop("transactions")
    both_ends = stage("links", links(stored, typed=typed))
    drop("edges")
    stage("features", features(both_ends, numbered, balances, typed=typed))
    drop("accounts")


def accounts(transactions: Table) -> Table:
    """Return every account of the transactions with its number in the sorted order of names.

    Accounts are numbered in shards by their first characters, which engines do in parallel; then the size of the
    earlier shards is added. The numbers are those of one sorted list, for every engine and any number of files.
    """
    kept = transactions.filter(transactions.copy == "")
    names = kept.select(address=kept.src).union(kept.select(address=kept.dst), distinct=True)
    names = names.mutate(shard=names.address.substr(0, _SHARD))
    sizes = names.group_by("shard").agg(size=names.count())
    before = sizes.size.sum().over(order_by=sizes.shard, rows=(None, 0))
    starts = sizes.select("shard", start=whole(before) - sizes.size)
    numbered = names.mutate(position=ibis.row_number().over(group_by=names.shard, order_by=names.address))
    joined = numbered.join(starts, "shard")
    return joined.select("address", id=whole(joined.position) + joined.start)


def _numbered(transactions: Table, accounts: Table) -> Table:
    """The rows to keep with the numbers of their ends, ``s`` and ``d``."""
    kept = transactions.filter(transactions.copy == "")
    sources, targets = accounts.select(src="address", s="id"), accounts.select(dst="address", d="id")
    return kept.join(sources, "src").join(targets, "dst")


def transfers(transactions: Table, accounts: Table) -> Table:
    """Return one row per ordered pair of two accounts, type of edge and token, with their own amounts."""
    rows = _numbered(transactions, accounts)
    rows = rows.filter(rows.moves)
    groups = rows.group_by(src=rows.s, dst=rows.d, type=rows.type, token=rows.token).agg(
        count=whole(rows["count"].sum()), amount=rows.wei.sum(), first=rows.time.min(), last=rows.time.max()
    )
    return groups.select(*STAGES["transfers"])


def edges(transactions: Table, accounts: Table, *, typed: bool = False) -> Table:
    """Return one row per ordered pair of accounts; rows that move nothing belong to the pair (sender, sender).

    Sums are of ether alone; tokens have their own columns.
    """
    numbered = _numbered(transactions, accounts)
    ether = numbered.type != _formats.TOKEN if typed else None
    more: dict[str, Column] = {}
    if typed:
        internal, token = (numbered.type == kind for kind in (_formats.INTERNAL_TRANSFER, _formats.TOKEN))
        zero, none = ibis.literal(0, type=WEI), ibis.literal(0, type="int64")
        more = {
            "internal_count": whole(internal.ifelse(numbered["count"], none).sum()),
            "internal_wei": internal.ifelse(numbered.wei, zero).sum(),
            "token_count": whole(token.ifelse(numbered["count"], none).sum()),
        }
        for number, name in enumerate(_formats.TYPES):
            more[name] = ((numbered.type == number) & numbered.moves).cast("int64").max()
    pairs = numbered.group_by(src=numbered.s, dst=numbered.d).agg(
        count=whole(numbered["count"].sum(where=ether).fill_null(0)),
        wei=numbered.wei.sum(where=ether).fill_null(ibis.literal(0, type=WEI)),
        largest=numbered.wei.max(where=ether),
        first=numbered.time.min(where=ether),
        last=numbered.time.max(where=ether),
        fee=numbered.fee.sum(),
        **more,
    )
    return pairs.select(*columns_of("edges", typed=typed))


def links(edges: Table, *, typed: bool = False) -> Table:
    """Return each edge from both ends, one row per pair and end; 0 if nothing went in a direction."""
    zero, never = ibis.literal(0, type=WEI), ibis.null("int64")
    none = ibis.literal(0, type="int64")
    nothing = {"out_count": none, "out_wei": zero, "out_first": never, "out_last": never, "fee": zero}
    nothing |= {"in_count": none, "in_wei": zero}
    outgoing = {"out_count": "count", "out_wei": "wei", "out_first": "first", "out_last": "last", "fee": "fee"}
    incoming = {"in_count": "count", "in_wei": "wei"}
    shared = {"first": "first", "last": "last", "largest": "largest"}
    if typed:
        nothing |= {"out_internal_count": none, "out_internal_wei": zero, "out_token_count": none}
        outgoing |= {f"out_{name}": name for name in ("internal_count", "internal_wei", "token_count")}
        shared |= {name: name for name in _formats.TYPES}
    sent = edges.select(node="src", other="dst", **(nothing | outgoing | shared))
    between = edges.filter(edges.src != edges.dst)
    received = between.select(node="dst", other="src", **(nothing | incoming | shared))
    both = sent.union(received)
    maxima = {name: both[name].max() for name in both.columns if name not in ("node", "other", "first")}
    merged = both.group_by("node", "other").agg(first=both.first.min(), **maxima)
    times = {name: merged[name].fill_null(0) for name in ("out_first", "out_last")}
    return merged.mutate(**times).select(*columns_of("links", typed=typed))


def features(links: Table, accounts: Table, balances: Table | None = None, *, typed: bool = False) -> Table:
    """Return one row per account, of its ether alone; ``balances`` (account, balance) replace computed balances."""
    pair = links.node != links.other
    if typed:
        pair &= (links.transaction + links.internal) > 0
    zero = ibis.literal(0, type=WEI)

    def total(amount: Column, where: Column) -> Column:
        return amount.sum(where=where).fill_null(zero)

    def count(test: Column) -> Column:
        return whole(test.ifelse(1, 0).cast("int64").sum())

    sums = links.group_by("node").agg(
        in_degree=count(pair & (links.in_count > 0)),
        out_degree=count(pair & (links.out_count > 0)),
        n_counterparties=count(pair),
        in_tx=whole(links.in_count.sum()),
        out_tx=whole(links.out_count.sum()),
        in_wei=total(links.in_wei, pair),
        out_wei=total(links.out_wei, pair),
        genesis_wei=total(links.out_wei, ~pair),
        fee_wei=links.fee.sum(),
        max_wei=links.largest.max(where=pair).fill_null(zero),
        first_time=links.first.min(where=pair).fill_null(0),
        last_time=links.last.max(where=pair).fill_null(0),
    )
    joined = accounts.join(sums, accounts.id == sums.node)
    joined = joined.mutate(balance_wei=(joined.in_wei - joined.out_wei + joined.genesis_wei - joined.fee_wei).cast(WEI))
    if balances is not None:
        joined = joined.left_join(balances, joined.address == balances.account)
        joined = joined.mutate(balance_wei=joined.balance.fill_null(joined.balance_wei))
    return joined.select(*STAGES["features"])
