"""Pictures of picks and grains as SVG, from the picks that the kernel draws and the blocks that the sampler makes."""

import math
from collections.abc import Iterable

import numpy as np

from generate.example import SIX, TWELVE, Example, members
from mggcn.block import Block
from mggcn.experiments._charts import OKABE_ITO
from mggcn.explore import _drawing as drawing
from mggcn.sampling import grains

BLUE, ORANGE, GREEN = OKABE_ITO[0], OKABE_ITO[1], OKABE_ITO[2]
_RADIUS, _TIP = 4.2, 2.6

Arrow = tuple[int, int]


def picks() -> str:
    """The target's picks: in the graph, and as the run page draws them."""
    chosen = members()
    shown = _scene(TWELVE, chosen, [], numbered=True)
    picture = drawing.svg(_walk(chosen))
    return _row(
        (shown, "The graph. v is the target; numbers are the order of picking, other letters were not picked."),
        (picture, "The same picks as a run's own page draws them: rings are hops walked, sizes are degrees."),
    )


def three_grains() -> str:
    """Who reaches whom in a fine, a coarse and a skip layer."""
    graph, chosen = TWELVE.graph, members()
    fine = [(int(sender), node) for node in chosen for sender in graph.row(node)]
    held = np.array([chosen])
    coarse = _arrows(grains.coarse(graph, held, threads=1), chosen)
    skip = [arrow for arrow in _arrows(grains.skip(held), chosen) if arrow[0] != arrow[1]]
    return _row(
        (_scene(TWELVE, chosen, fine), f"Fine: each member of S(v) aggregates all its neighbours, {len(fine)} arrows."),
        (_scene(TWELVE, chosen, coarse), f"Coarse: each aggregates its neighbours within S(v), {len(coarse)} arrows."),
        (_scene(TWELVE, chosen, skip, bent=True), f"Skip: v aggregates all of S(v), itself and {len(skip)} others."),
    )


def six() -> str:
    """The graph of the exact sampler's example, with degrees."""
    return _row((_scene(SIX, [0], [], degrees=True), "The example. The number beside a node is its degree."))


def _walk(chosen: list[int]) -> drawing.Picks:
    graph = TWELVE.graph
    parents = [
        next(place for place, earlier in enumerate(chosen[:number]) if chosen[number] in graph.row(earlier))
        for number in range(1, len(chosen))
    ]
    names = tuple(TWELVE.names[node] for node in chosen)
    return drawing.Picks(names, tuple(parents), tuple(int(graph.degrees[node]) for node in chosen))


def _arrows(block: Block, chosen: list[int]) -> list[Arrow]:
    """A block over one target's rows as pairs of nodes, the sender first."""
    receivers = np.repeat(np.arange(block.num_dst), np.diff(block.indptr.numpy()))
    return [(chosen[sender], chosen[row]) for sender, row in zip(block.indices.tolist(), receivers, strict=True)]


def _scene(
    example: Example,
    chosen: list[int],
    arrows: Iterable[Arrow],
    *,
    numbered: bool = False,
    degrees: bool = False,
    bent: bool = False,
) -> str:
    graph, parts = example.graph, []
    for pair in example.edges:
        (x, y), (u, w) = (example.places[example.names.index(name)] for name in pair)
        parts.append(f'<path d="M{x} {y}L{u} {w}" stroke="currentColor" stroke-opacity=".3" stroke-width=".6"/>')
    parts += [_arrow(example.places[a], example.places[b], bent=bent) for a, b in arrows]
    for node, name in enumerate(example.names):
        order = chosen.index(node) if node in chosen else None
        text = str(order) if numbered and order else name
        parts.append(_node(*example.places[node], text, order))
        if degrees:
            x, y = _outside(example, node)
            parts.append(_text(x, y + 1.3, str(graph.degrees[node]), 'font-size="3.6"'))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 {example.height}" fill="currentColor" role="img" '
        f'font-family="system-ui, sans-serif" font-size="4.4">{"".join(parts)}</svg>'
    )


def _outside(example: Example, node: int) -> tuple[float, float]:
    """A place beside a node, away from its neighbours."""
    middle = np.mean([example.places[other] for other in example.graph.row(node)], axis=0)
    x, y = _towards(example.places[node], (float(middle[0]), float(middle[1])), -1.8 * _RADIUS)
    return round(x, 2), round(y, 2)


def _node(x: float, y: float, text: str, order: int | None) -> str:
    if order is None:
        circle = f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="var(--md-default-bg-color)" stroke="currentColor"'
        return f'{circle} stroke-opacity=".5" stroke-width=".5"/>' + _text(x, y + 1.5, text, 'fill-opacity=".7"')
    circle = f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="{BLUE if order else ORANGE}" stroke="currentColor"'
    letter = "#ffffff" if order else "#000000"
    return f'{circle} stroke-width=".6"/>' + _text(x, y + 1.5, text, f'fill="{letter}" font-weight="700"')


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle" {style}>{text}</text>'


def _arrow(start: tuple[float, float], end: tuple[float, float], *, bent: bool) -> str:
    """An arrow that passes a little to the right of the straight line, or far, so that arrows both ways stay apart."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    aside = (0.22 if bent else 0.08) * length
    middle = ((start[0] + end[0]) / 2 - dy / length * aside, (start[1] + end[1]) / 2 + dx / length * aside)
    tail = _towards(start, middle, _RADIUS + 0.3)
    tip = _towards(end, middle, _RADIUS + 0.3)
    back = _towards(tip, middle, _TIP)
    x, y = (tip[0] - back[0]) / _TIP, (tip[1] - back[1]) / _TIP
    corners = (tip, (back[0] - y, back[1] + x), (back[0] + y, back[1] - x))
    points = " ".join(f"{a:.2f},{b:.2f}" for a, b in corners)
    curve = f"M{tail[0]:.2f} {tail[1]:.2f}Q{middle[0]:.2f} {middle[1]:.2f} {back[0]:.2f} {back[1]:.2f}"
    return (
        f'<path d="{curve}" fill="none" stroke="{GREEN}" stroke-width=".9"/><polygon points="{points}" fill="{GREEN}"/>'
    )


def _towards(start: tuple[float, float], end: tuple[float, float], distance: float) -> tuple[float, float]:
    share = distance / math.dist(start, end)
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def _row(*pictures: tuple[str, str]) -> str:
    figures = [
        f"<figure>{' '.join(picture.split())}<figcaption>{caption}</figcaption></figure>"
        for picture, caption in pictures
    ]
    return f'<div class="pictures">{"".join(figures)}</div>'
