"""The case file of an account as one self-contained page, as JSON, and its transactions as CSV; all state the same."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from mggcn._io.files import check_file, write_atomically
from mggcn.errors import InputError
from mggcn.ethereum._case import Case, Flow, Known, Labelled, Neighbour, Score, Subject
from mggcn.ethereum._chain import Activity, Side, Sum
from mggcn.ethereum._findings import findings
from mggcn.ethereum._flow_picture import NOTE, picture
from mggcn.ethereum._words import counted, ether, short, when
from mggcn.experiments import OKABE_ITO, Column, Table, as_spec, page, require_altair, sized

COLUMNS = (
    *("time", "direction", "from", "to", "wei", "ether", "fee_wei", "transactions", "kind", "hash"),
    *("from_label", "to_label"),
)
"""The columns of the transactions as CSV; ether is exact."""
_MOST_ROWS = 20_000
_WIDE, _NARROW = (1118, 124), (356, 98)
"""The width of the picture and of its boxes, in pixels."""
_PARTS = {
    "money": "Money",
    "flow": "Flow of funds",
    "time": "Over time",
    "counterparties": "Counterparties",
    "score": "Score",
    "neighbours": "Neighbours that matter",
    "transactions": "Transactions",
    "origin": "Where this is from",
}
_IN, _OUT = OKABE_ITO[2], OKABE_ITO[3]


def check_case(out: Path) -> tuple[Path, Path, Path]:
    """The page, the JSON and the CSV file of a case file; InputError if one cannot be written, before any work."""
    if out.suffix.lower() != ".html":
        raise InputError(f"{out}: the page has to be named *.html")
    files = (out, out.with_suffix(".json"), out.with_suffix(".csv"))
    for file in files:
        check_file(file)
    return files


def save_case(case: Case, out: Path) -> tuple[Path, Path, Path]:
    """Write a case file as ``out``, which is named ``*.html``, and with the suffixes json and csv beside it."""
    files = check_case(out)
    for file, text in zip(files, (render(case, files[2].name), to_json(case), to_csv(case)), strict=True):
        write_atomically(file, text.encode())
    return files


def to_json(case: Case) -> str:
    """The whole case file as JSON; amounts in wei are text, because they have more digits than numbers of JSON hold."""
    return json.dumps(_plain(asdict(case)) | {"findings": findings(case)}, indent=1, ensure_ascii=False) + "\n"


def to_csv(case: Case) -> str:
    """The transactions as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *_rows(case)])
    return text.getvalue()


def render(case: Case, file_name: str = "transactions.csv") -> str:
    """The page; ``file_name`` is that of the transactions that it saves."""
    spec = _timeline(case)
    data: dict[str, Any] = spec.pop("datasets") if spec else {}
    rows = [[*row, ether(int(row[4]))] for row in _rows(case)[-_MOST_ROWS:]]
    transactions = {"name": file_name, "columns": [*COLUMNS, "shown"], "rows": rows}
    content = {"data": data, "charts": {"amounts": spec} if spec else {}, "transactions": transactions}
    bodies = {
        "money": _money(case),
        "flow": _flow(case),
        "time": '<div class="chart" id="amounts"></div>' if spec else "<p>No ether moved.</p>",
        "counterparties": _counterparties(case),
        "score": _score(case.account.score, case.origin.run),
        "neighbours": "".join(map(_neighbour, case.neighbours)) or "<p>None.</p>",
        "transactions": _transactions(case),
        "origin": _origin(case),
    }
    sections = "".join(
        f'<section id="{name}"><h2>{_PARTS[name]}</h2>\n{body}</section>\n' for name, body in bodies.items()
    )
    contents = "".join(f'<a href="#{name}">{title}</a> ' for name, title in _PARTS.items())
    simulated = '<p class="simulated">SIMULATED: these are no real transactions.</p>\n' if case.origin.simulated else ""
    body = f"{simulated}{_facts(case.account)}\n{sections}"
    style, script = ((resources.files("mggcn.ethereum") / f"case.{kind}").read_text() for kind in ("css", "js"))
    return page(f"Account {case.account.address}", body, content, contents=contents, style=style, script=script)


def _plain(value: Any, name: str = "") -> Any:
    """Values of JSON: tuples as lists, and amounts in wei as text."""
    if isinstance(value, Mapping):
        return {key: _plain(one, key) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if name.endswith("wei") else value


def _rows(case: Case) -> list[list[str]]:
    """The transactions in the columns of the CSV file."""
    account, labels = case.account.address, case.labels
    return [
        [
            one.time,
            ("out" if one.sender == account else "in") if one.moves else "none",
            one.sender,
            one.receiver,
            str(one.wei),
            _exact(one.wei),
            str(one.fee_wei),
            str(one.transactions),
            one.kind,
            one.hash,
            labels.get(one.sender, ""),
            labels.get(one.receiver, ""),
        ]
        for one in case.transactions
    ]


def _exact(wei: int) -> str:
    """An amount in ether with all its digits."""
    whole, part = divmod(wei, 10**18)
    return f"{whole}.{part:018d}".rstrip("0").rstrip(".")


def _facts(account: Subject) -> str:
    activity, score = account.activity, account.score
    given = [
        ("label", account.label or "none", f"role: {account.role}"),
        ("class", f"{score.label} {score.probability:.1%}" if score else "not scored", score.part if score else ""),
        ("received", f"{ether(activity.received.wei)} ether", _line(activity.received)),
        ("sent", f"{ether(activity.sent.wei)} ether", _line(activity.sent)),
        ("balance", *_balance(activity)),
    ]
    items = "".join(
        f'<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd><dd class="note">{escape(note)}</dd></div>'
        for name, value, note in given
    )
    return f'<dl class="facts">{items}</dl>'


def _balance(activity: Activity) -> tuple[str, str]:
    if activity.balance_wei < 0:
        return "unknown", "the files lack a part of what it received"
    return f"{ether(activity.balance_wei)} ether", "what is left, as far as the files say"


def _line(total: Sum) -> str:
    if not total.transactions:
        return ""
    numbers = f"{counted(total.transactions, 'transaction')}, {counted(total.accounts, 'account')}"
    return f"{numbers}, {when(total.first, total.last)}"


def _listed(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _money(case: Case) -> str:
    table = Table[Labelled](
        [
            Column("counterparties", lambda one: one.label or "", words=lambda one: one.label or "no label"),
            *_direction("received", "in", "payers"),
            *_direction("sent", "out", "payees"),
        ],
        case.by_label,
    )
    return _listed(findings(case)) + table.html()


def _direction(side: str, way: str, who: str = "") -> "list[Column[Any]]":
    """The columns of what was received or sent; the number of accounts only if ``who`` names them."""

    def total(one: Any) -> Sum:
        found: Sum = getattr(one, side)
        return found

    accounts = [Column[Any](who, lambda one: total(one).accounts or None, "{:,}".format)] if who else []
    return [
        *accounts,
        Column(
            f"ether {way}",
            lambda one: total(one).wei if total(one).transactions else None,
            ether,
            whole=lambda one: f"{total(one).wei:,} wei",
        ),
        Column(f"transactions {way}", lambda one: total(one).transactions or None, "{:,}".format),
        Column(f"when {way}", lambda one: total(one).last, words=lambda one: when(total(one).first, total(one).last)),
    ]


def _flow(case: Case) -> str:
    if not case.received.branches and not case.sent.branches:
        return "<p>No ether moved.</p>"
    used = dict.fromkeys(
        label
        for flow in (case.received, case.sent)
        for branch in flow.branches
        for label in (branch.label, *(leaf.label for leaf in branch.beyond))
        if label
    )
    if case.account.label:
        used.setdefault(case.account.label)
    colours = {label: OKABE_ITO[number % (len(OKABE_ITO) - 1)] for number, label in enumerate(sorted(used))}
    legend = "".join(
        f'<span><span class="swatch" style="background:{colour}"></span>{escape(label)}</span>'
        for label, colour in colours.items()
    )
    flows: dict[Side, Flow] = {"received": case.received, "sent": case.sent}
    wide = picture(case, colours, tuple(flows), *_WIDE)
    narrow = [picture(case, colours, (side,), *_NARROW) for side, flow in flows.items() if flow.branches]
    return (
        f'<div class="legend">{legend}<span>grey: no label</span></div>\n<div class="wide">{wide}</div>\n'
        f'<div class="narrow">{"".join(narrow)}</div>\n<p class="note">{NOTE}</p>'
    )


def _timeline(case: Case) -> dict[str, Any] | None:
    """The chart of amounts by day, week or month; None if no ether moved."""
    values = [
        {"start": f"{period.start}T00:00:00Z", "way": way, "ether": sign * total.wei / 10**18, "n": total.transactions}
        for period in case.timeline
        for way, sign, total in (("received", 1, period.received), ("sent", -1, period.sent))
        if total.wei
    ]
    if not values:
        return None
    alt = require_altair()
    scale = alt.Scale(domain=["received", "sent"], range=[_IN, _OUT])
    bars = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar()
        .encode(
            x=alt.X(
                "start:T", timeUnit=f"utcyear{_TIME_UNIT[case.unit]}", title=case.unit, axis=alt.Axis(labelOverlap=True)
            ),
            y=alt.Y("ether:Q", title="ether; what was sent is below 0", stack=None),
            color=alt.Color("way:N", title=None, scale=scale, legend=alt.Legend(orient="bottom")),
            tooltip=[
                alt.Tooltip("start:T", timeUnit="utcyearmonthdate", title=f"{case.unit} from"),
                alt.Tooltip("way:N", title="direction"),
                alt.Tooltip("ether:Q", format=",.6~g"),
                alt.Tooltip("n:Q", title="transactions"),
            ],
        )
    )
    return dict(as_spec(sized(bars, f"Ether received and sent in each {case.unit}")))


_TIME_UNIT = {"day": "monthdate", "week": "week", "month": "month"}


def _counterparties(case: Case) -> str:
    def score(one: Known) -> str:
        return f"{one.score.label} {one.score.probability:.1%}" if one.score else ""

    columns: list[Column[Known]] = [
        Column("account", lambda one: one.address, short, whole=lambda one: one.address),
        Column("label", lambda one: one.label, optional=True, words=lambda one: one.label or ""),
        Column("class", lambda one: one.score.label if one.score else None, optional=True, words=score),
        *_direction("received", "in"),
        *_direction("sent", "out"),
    ]
    listed = len(case.counterparties)
    first = (
        f"The {listed} with the largest amounts of {case.num_counterparties:,}"
        if listed < case.num_counterparties
        else f"All {listed}"
    )
    if not listed:
        return "<p>None: no transaction moved anything to or from another account.</p>"
    return (
        f'<p class="note">{first}; point at an account or an amount for all its digits.</p>'
        + Table(columns, case.counterparties).html()
    )


def _score(score: Score | None, run: str | None) -> str:
    if score is None:
        why = f"{run} was not given this account: its data set does not contain it." if run else "No run was named."
        return f"<p>{escape(why)}</p>"
    table = Table[tuple[str, float]](
        [Column("class", lambda pair: pair[0]), Column("probability, %", lambda pair: pair[1], "{:.1%}".format)],
        sorted(score.probabilities.items(), key=lambda pair: -pair[1]),
    )
    used = "" if score.part == "new" else f" The account was in the part {score.part} of the run's split."
    text = f"{run} classifies it as {score.label} with a probability of {score.probability:.1%}.{used}"
    reasons = _listed(list(score.reasons)) if score.reasons else "<p>The method gives no reasons.</p>"
    return f"<p>{escape(text)}</p>\n{reasons}\n{table.html()}"


def _neighbour(one: Neighbour) -> str:
    account, activity = one.account, one.account.activity
    lines = [f"received {_amount(activity.received)}", f"sent {_amount(activity.sent)}"]
    if (funding := activity.funding) is not None:
        lines.append(f"first funded by {short(funding.sender)} on {funding.time[:10]} with {ether(funding.wei)} ether")
    if activity.balance_wei < 0:
        lines.append(f"the files lack a part of what it received, at least {ether(-activity.balance_wei)} ether")
    if account.score is not None:
        lines.append(f"classified as {account.score.label} ({account.score.probability:.1%})")
        lines += [f"reason: {reason}" for reason in account.score.reasons]
    called = f"{account.address} · {account.label}" if account.label else account.address
    why = f'<p class="note">{escape("; ".join(one.why))}; role: {account.role}</p>'
    return f'<div class="neighbour"><h3>{escape(called)}</h3>{why}{_listed(lines)}</div>\n'


def _amount(total: Sum) -> str:
    return f"{ether(total.wei)} ether: {_line(total)}" if total.transactions else "nothing"


def _transactions(case: Case) -> str:
    rows = case.transactions
    names = (
        {"time": "time, UTC", "direction": "way", "account": "account"}
        | ({"label": "label"} if case.labels else {})
        | {"wei": "ether"}
    )
    names |= {"kind": "remark"} if any(one.kind for one in rows) else {}
    names |= {"hash": "hash"} if any(one.hash for one in rows) else {}
    head = "".join(
        f'<th data-by="{by}"{" class=number" if by == "wei" else ""} aria-sort="none">'
        f'<button type="button">{name}</button></th>'
        for by, name in names.items()
    )
    number = len(rows)
    fewer = f"; the last {_MOST_ROWS:,} are in this page, the file beside it has all" if number > _MOST_ROWS else ""
    note = f"{counted(number, 'row')}{fewer}. A row that failed, or that moved nothing, only cost its fee."
    return f"""<p class="note">{note}</p>
<div class="controls"><select data-part="way" aria-label="Direction"><option value="">all</option>
<option value="in">in</option><option value="out">out</option><option value="none">none</option></select>
<input data-part="text" type="search" placeholder="address, label or hash" aria-label="Search">
<button type="button" data-part="save">Save as CSV</button>
<button type="button" data-part="back">back</button><span class="note" data-part="range"></span>
<button type="button" data-part="on">more</button></div>
<div class="scroll"><table><thead data-part="head"><tr>{head}</tr></thead><tbody data-part="rows"></tbody></table></div>
"""


def _origin(case: Case) -> str:
    origin = case.origin
    lines = [
        f"{origin.kept:,} of {counted(origin.rows, 'row')} of {', '.join(origin.files)} ({', '.join(origin.formats)})"
    ]
    lines += [f"dropped as {rule.replace('_', ' ')}: {counted(count, 'row')}" for rule, count in origin.dropped.items()]
    lines += [f"note: {note}" for note in origin.notes]
    lines.append(f"labels of {origin.labels}" if origin.labels else "no labels")
    lines.append(f"scores of {origin.run}" if origin.run else "no scores")
    return _listed(lines)
