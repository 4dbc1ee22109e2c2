"""Where the names of marks stand in a chart, such that they cover neither each other nor marks and lines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""

_LETTER, _LINE = 6.4, 13.0  # the size of a letter, in pixels
_MARK = 6.0
_NEAR, _RADII, _ANGLES = 9.0, (9.0, 16.0, 26.0, 38.0, 52.0, 68.0), 16
_ROUNDS = 4
_HIT = 60.0  # a label stands this much farther away rather than covering something


@dataclass(frozen=True)
class Label:
    """The name of a mark: its anchor in pixels, its alignment, and whether it is away from its mark."""

    x: float
    y: float
    align: str
    is_far: bool


def placed(points: Sequence[tuple[float, float, str]], lines: Sequence[Box], size: Point) -> list[Label]:
    """A label for each point.

    Args:
        points: the position of each mark in pixels, and its name.
        lines: other things that a label should not cover.
        size: width and height of the chart.
    """
    marks = [(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y, _ in points]
    labels: dict[int, Label] = {}
    for _ in range(_ROUNDS):
        for number, (x, y, text) in enumerate(points):
            names = [box_of(labels[other], points[other][2]) for other in labels if other != number]
            others = [*marks[:number], *marks[number + 1 :], *names]

            def cost(label: Label, start: Point = (x, y), text: str = text, others: Sequence[Box] = others) -> float:
                box, end = box_of(label, text), (label.x, label.y)
                covered = [overlap(box, other) for other in (*others, *lines)]
                crossed = sum(_crosses(start, end, other) for other in others) if label.is_far else 0
                outside = (box[2] - box[0]) * (box[3] - box[1]) - overlap(box, (0.0, 0.0, *size))
                hits = sum(area > 0 for area in covered) + crossed
                return sum(covered) + 3 * outside + _HIT * hits + 1.5 * math.dist(start, end)

            labels[number] = min(_candidates(x, y), key=cost)
    return [labels[number] for number in range(len(points))]


def box_of(label: Label, text: str) -> Box:
    """The area that a label covers."""
    width = len(text) * _LETTER
    left = label.x - {"left": 0.0, "center": width / 2, "right": width}[label.align]
    return (left, label.y - _LINE / 2, left + width, label.y + _LINE / 2)


def overlap(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, width) * max(0.0, height)


def _candidates(x: float, y: float) -> list[Label]:
    found = []
    for radius in _RADII:
        for number in range(_ANGLES):
            across, down = (turn(2 * math.pi * number / _ANGLES) for turn in (math.cos, math.sin))
            align = "center" if abs(across) < 0.3 else "left" if across > 0 else "right"
            beside = radius + (_LINE / 4 if align == "center" else 0.0)
            found.append(Label(x + beside * across, y + beside * down, align, radius > _NEAR))
    return found


def _crosses(start: Point, end: Point, box: Box) -> bool:
    """Whether the middle part of a line passes through a box."""
    steps = [start[0] + (end[0] - start[0]) * part / 10 for part in range(2, 10)]
    heights = [start[1] + (end[1] - start[1]) * part / 10 for part in range(2, 10)]
    return any(box[0] < across < box[2] and box[1] < down < box[3] for across, down in zip(steps, heights, strict=True))
