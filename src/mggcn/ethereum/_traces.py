"""Traces as transfers of ether: what contracts sent within transactions.

A trace is a call, a creation of a contract, a self-destruction or a reward. The first trace of a transaction is the
transaction; it has the transaction's hash as its key, so that it is a copy if the transactions are given, too. The
others are transfers within it, and their keys are the hash and their position. Calls that only run another contract's
code (``delegatecall``, ``callcode``, ``staticcall``) move nothing, whatever value they repeat. What a failed trace did
is undone, and all below it; not every format says so of those below.
"""

from collections.abc import Mapping

import ibis

from mggcn.ethereum import _formats
from mggcn.ethereum._formats import Column, Table

GENESIS = "genesis"  # the sender of ether that no account paid
PLAIN_CALLS = ("", "none", "call")
_NO = ("0", "0.0", "0x0", "false")


def as_transfers(table: Table, roles: Mapping[str, str]) -> tuple[Table, dict[str, str]]:
    """Return a table of traces with a column for each role of a transfer, and these roles."""
    column = {role: table[name] for role, name in roles.items()}

    def text(role: str) -> Column:
        return _formats.text(column[role]) if role in column else ibis.literal("")

    number = _formats.integer(column["block"], 18).fill_null(0).cast("string") if "block" in column else text("block")
    is_failed = text("message") != ""
    if "status" in column:
        is_failed = is_failed | text("status").lower().isin(_NO)
    # positions are written as 0,1 and 0_1 and [0, 1]
    separated = text("part").re_replace("[^0-9]+", ",")
    steps = table.mutate(
        trace_kind=text("kind").lower(),
        trace_call=text("call").lower().re_replace("_", ""),
        trace_part=separated.re_replace("^,|,$", ""),
        trace_given=text("hash").lower(),
        trace_place=number + ibis.literal("/") + text("index"),
        trace_own=is_failed,
        trace_source=text("from"),
        trace_target=text("to"),
        trace_made=text("contract"),
    )
    is_reward, is_first = steps.trace_kind == "reward", steps.trace_kind.isin(("reward", "genesis"))
    is_creation = steps.trace_kind.isin(("create", "create2"))
    named = (steps.trace_target == "").ifelse(steps.trace_made, steps.trace_target)
    earner = (is_reward & (steps.trace_target == "")).ifelse(steps.trace_source, steps.trace_target)
    steps = steps.mutate(
        trace_from=is_first.ifelse(GENESIS, steps.trace_source),
        trace_to=is_creation.ifelse("", earner),
        trace_contract=is_creation.ifelse(named, ""),
        trace_code=(steps.trace_kind == "call") & ~steps.trace_call.isin(PLAIN_CALLS),
        trace_hash=(is_first | (steps.trace_given != "")).ifelse(steps.trace_given, steps.trace_place),
    )
    new = {role: f"trace_{role}" for role in ("from", "to", "contract", "hash", "part", "code", "error")}
    kept = {role: roles[role] for role in ("value", "time", "block") if role in roles}
    if "message" not in column and "status" not in column:
        return steps.mutate(trace_error=ibis.literal("0")), kept | new
    return _with_failures(steps), kept | new


def _with_failures(traces: Table) -> Table:
    """Mark the traces that failed, and those below them in the same transaction."""
    failed = traces.filter(traces.trace_own).select(failed_hash="trace_hash", failed_part="trace_part")
    above = (
        (failed.failed_part == "")
        | (traces.trace_part == failed.failed_part)
        | traces.trace_part.startswith(failed.failed_part + ibis.literal(","))
    )
    under = [traces.trace_hash == failed.failed_hash, above]
    undone = traces.semi_join(failed, under).mutate(trace_error=ibis.literal("1"))
    return undone.union(traces.anti_join(failed, under).mutate(trace_error=ibis.literal("0")))


def without_hash(table: Table, roles: Mapping[str, str]) -> Table:
    """Return the traces of transactions that do not name the transaction."""
    kind, spelled = _formats.text(table[roles["kind"]]).lower(), roles.get("hash")
    of_transaction = table.filter(~kind.isin(("reward", "genesis")))
    return of_transaction if spelled is None else of_transaction.filter(_formats.text(of_transaction[spelled]) == "")
