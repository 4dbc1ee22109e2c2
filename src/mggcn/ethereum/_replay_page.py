"""The result of a replay as a table of months, a chart and a page."""

from collections.abc import Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import NamedTuple

import msgspec

from mggcn._io.files import write_atomically
from mggcn.ethereum._replay import QUEUES, RETRAINED, MonthCounts, Replay, last_day
from mggcn.experiments import Column, Spec, Table, as_spec, colours, page, require_altair, second_marks, sized

_POSSIBLE = "possible"
_NOTE = (
    "Of the accounts that a queue lists at the end of a month, the share that the file of labels says is {label}; an "
    "account that it does not name counts as a false alarm, so the share is a lower bound. The queue retrained is "
    "ranked by a model that is trained each month with the labels it has revealed, the queue fixed by the model of the "
    "end of {start}, the queue random at random. Possible is the share if the queue retrained had listed as many "
    "{label} as there were to find; what is known and to find is that of the queue retrained, at the end of the time."
)


def replay_note(replay: Replay) -> str:
    """What the figures mean."""
    return _NOTE.format(label=replay.settings.label, start=replay.settings.start)


def title(replay: Replay) -> str:
    """The name of the page and of the chart."""
    settings = replay.settings
    return f"{settings.label}: precision at {settings.k} of each month's queue, {settings.method}"


class _Period(NamedTuple):
    name: str
    months: list[MonthCounts]


def replay_by_month(replay: Replay) -> Table[_Period]:
    """Accounts, and the precision of each queue in percent, by month."""
    return _table(replay, "month", [_Period(month.month, [month]) for month in replay.months])


def replay_by_year(replay: Replay) -> Table[_Period]:
    """Accounts, and the precision of each queue in percent, by year."""
    years = sorted({month.month[:4] for month in replay.months})
    periods = [_Period(year, [month for month in replay.months if month.month.startswith(year)]) for year in years]
    return _table(replay, "year", [*periods, _Period("all", replay.months)])


def _table(replay: Replay, heading: str, periods: Sequence[_Period]) -> Table[_Period]:
    label = replay.settings.label
    columns: list[Column[_Period]] = [
        Column(heading, lambda period: period.name),
        Column("accounts", lambda period: period.months[-1].accounts, "{:,}".format),
        Column(f"known {label}", lambda period: period.months[-1].known, "{:,}".format),
        Column(f"{label} to find", lambda period: period.months[-1].to_find, "{:,}".format),
        Column("alerts", lambda period: sum(month.listed[RETRAINED] for month in period.months), "{:,}".format),
    ]
    columns += [Column(f"{queue}, %", partial(_of_period, queue), "{:.1f}".format) for queue in (*QUEUES, _POSSIBLE)]
    return Table(columns, periods)


def replay_chart(replay: Replay) -> Spec:
    """The precision of each queue by month."""
    alt = require_altair()
    names = [*QUEUES, _POSSIBLE]
    values = [
        {"method": name, "month": last_day(month.month).isoformat(), "precision": round(share, 3)}
        for name in names
        for month in replay.months
        if (share := _share(name, [month])) is not None
    ]
    lines = alt.Chart(alt.InlineData(values=values)).mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=18))
    drawn = lines.encode(
        x=alt.X("month:T", title=None, scale=alt.Scale(type="utc"), axis=alt.Axis(format="%Y-%m")),
        y=alt.Y("precision:Q", title=f"precision at {replay.settings.k}, %", scale=alt.Scale(domain=[0, 100])),
        color=colours(alt, names),
        strokeDash=second_marks(alt, names),
        tooltip=[
            alt.Tooltip("method:N", title="queue"),
            alt.Tooltip("month:T", timeUnit="utcyearmonth"),
            alt.Tooltip("precision:Q", format=".1f"),
        ],
    )
    return as_spec(sized(drawn, title(replay)))


def save_replay(replay: Replay, out: Path) -> None:
    """Write ``replay.json``, ``table.md`` and the page ``replay.html`` into a folder."""
    by_month, by_year = replay_by_month(replay), replay_by_year(replay)
    text = f"# {title(replay)}\n\n{by_year.markdown()}\n\n{by_month.markdown()}\n\n{replay_note(replay)}\n"
    write_atomically(out / "replay.json", msgspec.json.format(msgspec.json.encode(replay), indent=1) + b"\n")
    write_atomically(out / "table.md", text.encode())
    spec = replay_chart(replay)
    data = spec.pop("datasets")
    body = (
        f'<div class="scroll"><div class="chart" id="replay"></div></div>\n'
        f'<p class="note">{escape(replay_note(replay))}</p>\n'
        f"<h2>By year</h2>\n{by_year.html()}\n<h2>By month</h2>\n{by_month.html()}"
    )
    write_atomically(
        out / "replay.html", page(title(replay), body, {"charts": {"replay": spec}, "data": data}).encode()
    )


def _of_period(name: str, period: _Period) -> float | None:
    return _share(name, period.months)


def _share(name: str, months: Sequence[MonthCounts]) -> float | None:
    """The precision of a queue over some months in percent, None if it listed nothing."""
    listed = sum(month.listed[RETRAINED if name == _POSSIBLE else name] for month in months)
    if not listed:
        return None
    if name == _POSSIBLE:
        return 100 * sum(min(month.to_find, month.listed[RETRAINED]) for month in months) / listed
    return 100 * sum(month.found[name] for month in months) / listed
