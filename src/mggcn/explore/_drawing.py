"""Drawings of picks like the paper's figure: the target in the middle, a ring for each step, the order as numbers.

A drawing is a small SVG without addresses, scripts and identifiers, so that one page can hold many. Text and lines take
the colour of the surrounding text.
"""

import cmath
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from mggcn.experiments import OKABE_ITO

_DASHES = ("", "5 2", "2 2", "6 2 2 2")  # of outlines: a second mark for classes when the colours repeat
_RING, _WIDEST = 58, 0.9 * math.pi  # between rings; the angle that the picks behind one pick may take
_AROUND, _LINE, _NARROWEST, _SHORT = 28, 15, 210, 9
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


def svg(picks: Picks, classes: Sequence[str] = ()) -> str:
    """Draw picks; ``classes`` are the names of the classes, for the tooltips."""
    title = f"Picks of {picks.names[0]}"
    places, radii = _places(picks), [min(22.0, 8 + math.log2(1 + degree)) for degree in picks.degrees]
    wide = max(abs(place.real) + radius for place, radius in zip(places, radii, strict=True)) + _AROUND
    high = max(abs(place.imag) + radius for place, radius in zip(places, radii, strict=True)) + _AROUND
    width, height = max(2 * wide, _NARROWEST), 2 * high
    rings = [
        f'<circle r="{_RING * step}" fill="none" stroke="currentColor" stroke-opacity=".3" stroke-dasharray="3 4"/>'
        for step in range(1, max(picks.hops) + 1)
    ]
    arrows = [_arrow(places[a], places[b], radii[a], radii[b]) for a, b in picks.edges]
    nodes = [_node(picks, index, places[index], radii[index], classes) for index in range(len(places))]
    return _image(
        title,
        width,
        height + 1.5 * _LINE,
        f'<text x="4" y="13" font-size="12" font-weight="600">{escape(_shortened(title, int(width / 7.5)))}</text>',
        f'<svg y="{_LINE}" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="{_n(-width / 2)} {_n(-height / 2)} {_n(width)} {_n(height)}">',
        *(*rings, *arrows, *nodes),
        "</svg>",
    )


def colour(label: int | None) -> str:
    """The colour of a class; white for unlabelled nodes."""
    return _PAPER if label is None else OKABE_ITO[label % len(OKABE_ITO)]


def _dashed(label: int | None) -> str:
    dashes = "" if label is None else _DASHES[label // len(OKABE_ITO) % len(_DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _places(picks: Picks) -> list[complex]:
    """The centres of the members; each subtree has a sector proportional to its number of leaves, limited in width."""
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
    return [cmath.rect(_RING * hop, angle) for hop, angle in zip(picks.hops, middle, strict=True)]


def _node(picks: Picks, index: int, place: complex, radius: float, classes: Sequence[str]) -> str:
    name, hop = picks.names[index], picks.hops[index]
    label = picks.labels[index] if picks.labels else _PLAIN[index > 0]
    role = f"pick {index}, {hop} step{'s' * (hop > 1)} from the target" if index else "the target"
    tooltip = f"{name}: {role}, degree {picks.degrees[index]:,}"
    if picks.labels:
        tooltip += f", {_class_name(label, classes)}"
    x, y = _n(place.real), _n(place.imag)
    ring = f'<circle cx="{x}" cy="{y}" r="{_n(radius + 3)}" fill="none" stroke="currentColor"/>'
    below = f'<text x="{x}" y="{_n(place.imag + radius + 10)}" text-anchor="middle" font-size="9">'
    below += f"{escape(_shortened(name, _SHORT))}</text>"
    return (
        f"<g><title>{escape(tooltip)}</title>{'' if index else ring}"
        f'<circle cx="{x}" cy="{y}" r="{_n(radius)}" fill="{colour(label)}" stroke="currentColor"{_dashed(label)}/>'
        f'<text x="{x}" y="{_n(place.imag + 4)}" text-anchor="middle" font-size="11" font-weight="700" '
        f'fill="#000000">{index or "v"}</text>{below if index else ""}</g>'
    )


def _arrow(start: complex, end: complex, start_radius: float, end_radius: float) -> str:
    along = (end - start) / abs(end - start)
    tail, tip = start + along * (start_radius + 3), end - along * (end_radius + 2)
    back = tip - 6 * along
    points = " ".join(f"{_n(point.real)},{_n(point.imag)}" for point in (tip, back + 3j * along, back - 3j * along))
    return (
        f'<path d="M{_n(tail.real)} {_n(tail.imag)}L{_n(back.real)} {_n(back.imag)}" stroke="currentColor" '
        f'stroke-width="1.4"/><polygon points="{points}"/>'
    )


def legend(several: Sequence[Picks], classes: Sequence[str] = ()) -> str:
    """One legend for several drawings."""
    degrees = [degree for picks in several for degree in picks.degrees]
    labels = {label for picks in several for label in picks.labels}
    low, high = min(degrees), max(degrees)
    lines = [
        "<text>number: order of picking; v: the target</text>",
        "<text>ring: steps from the target</text>",
        f"<text>size: degree, {f'{low:,} to {high:,}' if low < high else f'{low:,}'}</text>",
    ]
    lines += [
        f'<circle cx="5" cy="-4" r="5" fill="{colour(label)}" stroke="currentColor"{_dashed(label)}/>'
        f'<text x="15">{escape(_shortened(_class_name(label, classes), 32))}</text>'
        for label in sorted(labels, key=lambda label: math.inf if label is None else label)
    ]
    stacked = [f'<g transform="translate(4 {_LINE * (1 + index)})">{line}</g>' for index, line in enumerate(lines)]
    return _image("Legend", _NARROWEST, _LINE * (len(lines) + 0.5), *stacked)


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


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 5]}…{text[-4:]}"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
