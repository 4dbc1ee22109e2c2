"""What a case file says in sentences: the facts that an analyst looks for first."""

from typing import TYPE_CHECKING

from mggcn.ethereum._words import counted, ether, percent, short, when

if TYPE_CHECKING:
    from mggcn.ethereum._case import Case
    from mggcn.ethereum._chain import Sum


def findings(case: "Case") -> list[str]:
    """The facts of a case file in sentences, the most decisive first."""
    activity = case.account.activity
    lines = [_total("Received", "from", activity.received), _total("Sent", "to", activity.sent)]
    if (funding := activity.funding) is not None:
        whose = _called(funding.sender, case.labels)
        lines.append(f"First funded by {whose} on {funding.time[:10]} with {ether(funding.wei)} ether.")
    for side, verb, flow in (("received", "Received from", case.received), ("sent", "Sent to", case.sent)):
        whole: Sum = getattr(activity, side)
        for one in case.by_label:
            part: Sum = getattr(one, side)
            if one.label and part.transactions:
                share = f", {percent(part.wei, whole.wei)} of the ether" if whole.wei else ""
                lines.append(
                    f"{verb} {counted(whole.accounts, 'account')}, {part.accounts:,} of them {one.label}{share}."
                )
        if flow.branches and whole.accounts > 1:
            first = flow.branches[0]
            share = percent(first.amount.wei, whole.wei)
            way = "came from" if side == "received" else "went to"
            lines.append(f"{share} of the ether {side} {way} one account, {_called(first.address, case.labels)}.")
    if activity.failed:
        lines.append(f"{counted(activity.failed, 'transaction')} of its own failed.")
    if activity.balance_wei < 0:
        lines.append(
            f"The files lack a part of what it received: it spent {ether(-activity.balance_wei)} ether more than they "
            "say it got. Transfers made by contracts are not among transactions, and a crawl may be partial."
        )
    return lines


def _total(verb: str, preposition: str, total: "Sum") -> str:
    if not total.transactions:
        return f"{verb} nothing."
    amount = f"{ether(total.wei)} ether in {counted(total.transactions, 'transaction')}"
    return f"{verb} {amount} {preposition} {counted(total.accounts, 'account')}, {when(total.first, total.last)}."


def _called(address: str, labels: "dict[str, str] | object") -> str:
    label = labels.get(address) if isinstance(labels, dict) else None
    return f"{short(address)} ({label})" if label else short(address)
