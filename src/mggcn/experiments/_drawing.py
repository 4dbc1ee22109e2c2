"""Drawings of picks like the paper's figure: the target in the middle, a ring for each step, the order as numbers.

A drawing is a small SVG without addresses, scripts and identifiers, so that one page can hold many. Text and lines take
the colour of the surrounding text.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from mggcn.errors import InputError
from mggcn.experiments._charts import OKABE_ITO

_DASHES = ("", "5 2", "2 2", "6 2 2 2")  # of outlines: a second mark for classes when the colours repeat
_RING, _WIDEST = 58, 0.9 * math.pi  # between rings; the angle that the picks behind one pick may take
_AROUND, _LINE, _NARROWEST, _SHORT = 20, 15, 210, 9
_PLAIN, _NO_CLASS, _PAPER = (3, 0), "no label", "#ffffff"


@dataclass(frozen=True)
class Picks:
    """One target's S(v), the target first, then its picks in their order.

    Attributes:
        names: the user's ids.
        parents: [picks] the index in ``names`` of the member from which each pick was reached.
        degrees: the degree of each in the whole graph.
        labels: the class of each, None for unlabelled nodes; empty if classes are not shown.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    degrees: tuple[int, ...]
    labels: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.names)
        if len(self.parents) != count - 1 or len(self.degrees) != count or len(self.labels) not in (0, count):
            raise InputError(
                f"picks: {count} names do not go with {len(self.parents)} parents, {len(self.degrees)} degrees and "
                f"{len(self.labels)} labels"
            )
        for index, parent in enumerate(self.parents, 1):
            if not 0 <= parent < index:
                raise InputError(f"picks: parent {parent} of pick {index} is not an earlier member")

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges that were followed, as indices into ``names``."""
        return [(parent, index) for index, parent in enumerate(self.parents, 1)]

    @cached_property
    def hops(self) -> tuple[int, ...]:
        """The number of steps from the target to each."""
        hops = [0]
        for parent in self.parents:
            hops.append(hops[parent] + 1)
        return tuple(hops)


def svg(picks: Picks, *, title: str = "", classes: Sequence[str] = (), legend: bool = True) -> str:
    """Draw picks.

    Args:
        picks: a target and its picks.
        title: above the drawing; the target's name if empty.
        classes: the names of the classes, for the legend.
        legend: whether to explain numbers, rings, sizes and colours below the drawing.
    """
    title = title or f"Picks of {picks.names[0]}"
    members = _members(picks)
    lines = _legend([picks], classes) if legend else []
    beside = 8 + 6 * max(len(_shortened(name, _SHORT)) for name in picks.names)
    left = min(member.x - member.radius for member in members) - beside
    width = max(member.x + member.radius for member in members) + beside - left
    left, width = left - max(0.0, _NARROWEST - width) / 2, max(width, _NARROWEST)
    top = min(member.y - member.radius for member in members) - _AROUND
    height = max(member.y + member.radius for member in members) + _AROUND - top
    picture = [
        *(
            f'<circle r="{_n(_RING * step)}" fill="none" stroke="currentColor" stroke-opacity=".3" '
            'stroke-dasharray="3 4"/>'
            for step in range(1, max(picks.hops) + 1)
        ),
        *(_arrow(members[a], members[b]) for a, b in picks.edges),
        *(_node(picks, member, classes) for member in members),
    ]
    return _image(
        title,
        width,
        height + _LINE * (len(lines) + 1.5),
        f'<text x="4" y="13" font-size="12" font-weight="600">{escape(_shortened(title, int(width / 7.5)))}</text>',
        f'<svg y="{_LINE}" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="{_n(left)} {_n(top)} {_n(width)} {_n(height)}">',
        *picture,
        "</svg>",
        *_stacked(lines, height + 2 * _LINE),
    )


def legend(several: Sequence[Picks], classes: Sequence[str] = ()) -> str:
    """One legend for several drawings that have none."""
    lines = _legend(several, classes)
    return _image("Legend", _NARROWEST, _LINE * (len(lines) + 0.5), *_stacked(lines, _LINE))


def colour(label: int | None) -> str:
    """The colour of a class; white for unlabelled nodes."""
    return _PAPER if label is None else OKABE_ITO[label % len(OKABE_ITO)]


def _dashed(label: int | None) -> str:
    dashes = "" if label is None else _DASHES[label // len(OKABE_ITO) % len(_DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


@dataclass(frozen=True)
class _Member:
    """The layout of a member: its index, centre and radius, and the direction in which its name is written."""

    index: int
    x: float
    y: float
    radius: float
    side: float


def _members(picks: Picks) -> list[_Member]:
    """Lay out the members; each subtree has a sector proportional to its number of leaves, limited in width."""
    count = len(picks.names)
    children: list[list[int]] = [[] for _ in range(count)]
    for parent, index in picks.edges:
        children[parent].append(index)
    leaves = [0] * count
    for index in reversed(range(count)):
        leaves[index] = max(1, sum(leaves[child] for child in children[index]))
    middle, wide = [0.0] * count, [2 * math.pi] * count
    for index in range(count):
        reached = middle[index] - wide[index] / 2
        for child in children[index]:
            share = wide[index] * leaves[child] / leaves[index]
            middle[child], wide[child] = reached + share / 2, min(share, _WIDEST)
            reached += share
    at = [
        (_RING * hop * math.cos(angle), _RING * hop * math.sin(angle))
        for hop, angle in zip(picks.hops, middle, strict=True)
    ]
    arrows: list[list[float]] = [[] for _ in range(count)]
    for one, other in picks.edges:
        along = math.atan2(at[other][1] - at[one][1], at[other][0] - at[one][0])
        arrows[one].append(along)
        arrows[other].append(along + math.pi)
    return [
        _Member(index, *at[index], _radius(picks.degrees[index]), _free_side(arrows[index])) for index in range(count)
    ]


def _free_side(arrows: Sequence[float]) -> float:
    """The one of eight directions that is farthest from all arrows."""
    sides = (turn * math.pi / 4 for turn in range(8))
    return min(sides, key=lambda side: max((math.cos(side - arrow) for arrow in arrows), default=0.0))


def _node(picks: Picks, member: _Member, classes: Sequence[str]) -> str:
    index, name = member.index, picks.names[member.index]
    degree, hop = picks.degrees[index], picks.hops[index]
    label = picks.labels[index] if picks.labels else _PLAIN[index > 0]
    role = f"pick {index}, {hop} step{'s' * (hop > 1)} from the target" if index else "the target"
    tooltip = f"{name}: {role}, degree {degree:,}"
    if picks.labels:
        tooltip += f", {_class_name(label, classes)}"
    at = f'cx="{_n(member.x)}" cy="{_n(member.y)}"'
    ring = f'<circle {at} r="{_n(member.radius + 3)}" fill="none" stroke="currentColor"/>'
    return (
        f"<g><title>{escape(tooltip)}</title>{'' if index else ring}"
        f'<circle {at} r="{_n(member.radius)}" fill="{colour(label)}" stroke="currentColor"{_dashed(label)}/>'
        f'<text x="{_n(member.x)}" y="{_n(member.y + 4)}" text-anchor="middle" font-size="11" font-weight="700" '
        f'fill="{_on(colour(label))}">{index or "v"}</text>{_name(member, name) if index else ""}</g>'
    )


def _name(member: _Member, name: str) -> str:
    across, down = math.cos(member.side), math.sin(member.side)
    anchor = "middle" if abs(across) < 0.4 else "start" if across > 0 else "end"
    x, y = member.x + across * (member.radius + 4), member.y + down * (member.radius + 9) + 3
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-size="9">{escape(_shortened(name, _SHORT))}</text>'
    )


def _arrow(start: _Member, end: _Member) -> str:
    length = math.dist((start.x, start.y), (end.x, end.y))
    x, y = (end.x - start.x) / length, (end.y - start.y) / length
    tail = (start.x + x * (start.radius + 3), start.y + y * (start.radius + 3))
    tip = (end.x - x * (end.radius + 2), end.y - y * (end.radius + 2))
    back = (tip[0] - 6 * x, tip[1] - 6 * y)
    corners = (tip, (back[0] - 3 * y, back[1] + 3 * x), (back[0] + 3 * y, back[1] - 3 * x))
    points = " ".join(f"{_n(a)},{_n(b)}" for a, b in corners)
    return (
        f'<path d="M{_n(tail[0])} {_n(tail[1])}L{_n(back[0])} {_n(back[1])}" stroke="currentColor" '
        f'stroke-width="1.4"/><polygon points="{points}"/>'
    )


def _legend(several: Sequence[Picks], classes: Sequence[str]) -> list[str]:
    degrees = [degree for picks in several for degree in picks.degrees]
    labels = {label for picks in several for label in picks.labels}
    low, high = min(degrees), max(degrees)
    lines = [
        "<text>number: order of picking; v: the target</text>",
        "<text>ring: steps from the target</text>",
        f"<text>size: degree, {f'{low:,} to {high:,}' if low < high else f'{low:,}'}</text>",
    ]
    shown = sorted(labels, key=lambda label: math.inf if label is None else label)
    return lines + [
        f'<circle cx="5" cy="-4" r="5" fill="{colour(label)}" stroke="currentColor"{_dashed(label)}/>'
        f'<text x="15">{escape(_shortened(_class_name(label, classes), 32))}</text>'
        for label in shown
    ]


def _stacked(lines: Sequence[str], top: float) -> list[str]:
    return [f'<g transform="translate(4 {_n(top + _LINE * index)})">{line}</g>' for index, line in enumerate(lines)]


def _image(title: str, width: float, height: float, *parts: str) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" '
        f'height="{_n(height)}" role="img" aria-label="{escape(title)}" fill="currentColor" '
        'font-family="system-ui, sans-serif" font-size="10">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>\n"])


def _class_name(label: int | None, classes: Sequence[str]) -> str:
    if label is None:
        return _NO_CLASS
    return classes[label] if label < len(classes) else f"class {label}"


def _radius(degree: int) -> float:
    """From 9 for a leaf to 22 for hubs."""
    return min(22.0, 8 + math.log2(1 + degree))


def _on(fill: str) -> str:
    """Black or white, whichever is easier to read on a colour."""
    red, green, blue = (int(fill[index : index + 2], 16) for index in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 110 else "#ffffff"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 5]}…{text[-4:]}"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
