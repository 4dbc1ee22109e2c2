"""The flow of funds around an account as a picture: from payers to the account to payees, over two hops.

Every account has a box, the boxes of a column are stacked, and nothing is written outside them, so that names cannot
overlap. An arrow leads from payer to payee. Its width is the amount at the first hop. At the second hop the arrows
beyond an account are at most as wide together as its arrow at the first: if it got or passed on more, they share that
width in proportion to their amounts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from mggcn.ethereum._words import counted, ether, short, when

if TYPE_CHECKING:
    from mggcn.ethereum._case import Case, Flow
    from mggcn.ethereum._chain import Others, Side, Sum

NOTE = (
    "Arrows lead from payer to payee, and their colour is the label of the account beyond. At the first hop the width "
    "is the amount. Beyond a payer is what it received until it last paid this account; beyond a payee is what it sent "
    "since this account first paid it. Those arrows share at most the width of the arrow that they continue."
)
_LINE, _PAD, _GAP, _HEAD, _TOP = 12.0, 4.5, 6.0, 7.0, 22.0
_WIDEST = 130.0  # of all arrows on one side of the account
_LEAST, _MOST_APART, _LETTER = 1.2, 190.0, 7.0
_OWN = "this account"
_HEADINGS = {-2: "two hops before", -1: "paid it", 0: _OWN, 1: "it paid", 2: "two hops after"}


@dataclass
class _Box:
    """A box with its lines, and what flows between it and the box nearer to the account."""

    lines: tuple[str, ...]
    tooltip: str
    colour: str | None
    width: float = 0.0  # of the arrow to or from the box nearer to the account
    beyond: "list[_Box]" = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0  # of its middle

    @property
    def height(self) -> float:
        """Of the box, which holds its lines and the ends of all arrows."""
        return max(self.text_height, self.width, sum(box.width for box in self.beyond))

    @property
    def text_height(self) -> float:
        return len(self.lines) * _LINE + 2 * _PAD

    @property
    def slot(self) -> float:
        """The height of the box or of the boxes beyond it, whichever needs more."""
        return max(self.height, _stacked([box.slot for box in self.beyond]))


def picture(case: "Case", colours: Mapping[str, str], sides: Sequence["Side"], width: int, box: int) -> str:
    """Draw one or both sides of the flow of funds.

    Args:
        case: with the flow.
        colours: of the labels.
        sides: what the account received, what it sent, or both.
        width: of the picture in pixels.
        box: the width of a box.
    """
    scale = _WIDEST / max(1, *(_whole(flow) for flow in (case.received, case.sent)))
    letters = int((box - 2 * _PAD - 4) / _LETTER)
    own = case.account.address
    trees = {side: _boxes(own, getattr(case, side), side, scale, colours, letters) for side in sides}
    hops = [0]
    if trees.get("received"):
        hops = [-1, *hops]
        hops = [-2, *hops] if any(one.beyond for one in trees["received"]) else hops
    if trees.get("sent"):
        hops = [*hops, 1]
        hops = [*hops, 2] if any(one.beyond for one in trees["sent"]) else hops
    apart = min(_MOST_APART, (width - len(hops) * box) / max(1, len(hops) - 1))
    columns = {hop: number * (box + apart) for number, hop in enumerate(hops)}
    height = _TOP + max([60.0, *(_stacked([one.slot for one in boxes]) for boxes in trees.values())])
    middle = (height + _TOP) / 2
    account = _Box(
        _lines(case.account.address, case.account.label, letters),
        _named(case.account.address, case.account.label),
        colours.get(case.account.label or ""),
        x=columns[0],
        y=middle,
    )
    arrows, drawn = [], []
    thickest = [sum(one.width for one in boxes) for boxes in trees.values()]
    own_height = max([account.text_height, *thickest])
    for side, boxes in trees.items():
        step = -1 if side == "received" else 1
        _place(boxes, middle, columns, step)
        arrows += _arrows(account, boxes, step, box)
        for one in boxes:
            arrows += _arrows(one, one.beyond, step, box)
        drawn += [each for one in boxes for each in (one, *one.beyond)]
    shapes = [_drawn(one, box, one.height) for one in drawn]
    shapes.append(_drawn(account, box, own_height, kind="account"))
    headings = [
        f'<text class="heading" x="{_n(x + box / 2)}" y="12" text-anchor="middle">{_HEADINGS[hop]}</text>'
        for hop, x in columns.items()
    ]
    right = columns[hops[-1]] + box
    head = f'<svg class="flow" viewBox="-1 0 {_n(right + 2)} {_n(height + 2)}" width="{_n(right + 2)}" role="img" '
    label = f'aria-label="Flow of funds of {escape(case.account.address)}">'
    return "\n".join([head + label, *headings, *arrows, *shapes, "</svg>"])


def _whole(flow: "Flow") -> int:
    return sum(one.amount.wei for one in flow.branches) + flow.others.wei


def _boxes(
    account: str, flow: "Flow", side: "Side", scale: float, colours: Mapping[str, str], letters: int
) -> list[_Box]:
    """The boxes of one side with those beyond them."""
    boxes = []
    for branch in flow.branches:
        width = max(_LEAST, branch.amount.wei * scale)
        one = _box(branch.address, branch.label, branch.amount, width, colours, letters)
        passed = sum(leaf.amount.wei for leaf in branch.beyond) + branch.others.wei
        share = width / max(passed, branch.amount.wei)
        one.beyond = [
            _box(
                leaf.address,
                _OWN if leaf.address == account else leaf.label,
                leaf.amount,
                max(_LEAST, leaf.amount.wei * share),
                colours,
                letters,
            )
            for leaf in branch.beyond
        ]
        one.beyond += _others(branch.others, max(_LEAST, branch.others.wei * share), side)
        boxes.append(one)
    return boxes + _others(flow.others, max(_LEAST, flow.others.wei * scale), side)


def _box(
    address: str, label: str | None, amount: "Sum", width: float, colours: Mapping[str, str], letters: int
) -> _Box:
    times = when(amount.first, amount.last)
    exact = f"{ether(amount.wei)} ether ({amount.wei:,} wei) in {counted(amount.transactions, 'transaction')}, {times}"
    lines = _lines(address, label, letters, f"{ether(amount.wei)} ETH")
    return _Box(lines, f"{_named(address, label)}: {exact}", colours.get(label or ""), width)


def _others(others: "Others", width: float, side: "Side") -> list[_Box]:
    if not others.accounts:
        return []
    what = f"{counted(others.accounts, 'other')}", f"{ether(others.wei)} ETH"
    sums = f"{ether(others.wei)} ether ({others.wei:,} wei) in {counted(others.transactions, 'transaction')}"
    verb = "from" if side == "received" else "to"
    return [_Box(what, f"{verb} {counted(others.accounts, 'other account')}: {sums}", None, width)]


def _lines(address: str, label: str | None, letters: int, *more: str) -> tuple[str, ...]:
    cut = label if not label or len(label) <= letters else f"{label[: letters - 1]}…"
    return (short(address), *more, *([cut] if cut else []))


def _named(address: str, label: str | None) -> str:
    return f"{address} ({label})" if label else address


def _stacked(heights: Sequence[float]) -> float:
    return sum(heights) + _GAP * max(0, len(heights) - 1)


def _place(boxes: Sequence[_Box], middle: float, columns: Mapping[int, float], step: int) -> None:
    """Stack boxes around a height, each at the middle of its slot, and those beyond them likewise."""

    def place(boxes: Sequence[_Box], middle: float, hop: int) -> None:
        top = middle - _stacked([one.slot for one in boxes]) / 2
        for one in boxes:
            one.x, one.y = columns[hop], top + one.slot / 2
            top += one.slot + _GAP
            place(one.beyond, one.y, hop + step)

    place(boxes, middle, step)


def _arrows(near: _Box, boxes: Sequence[_Box], step: int, box: float) -> list[str]:
    """The arrows between a box and those beyond it; those that end on it are stacked in their order."""
    shapes, top = [], near.y - sum(one.width for one in boxes) / 2
    for one in boxes:
        at = top + one.width / 2
        top += one.width
        near_end = (near.x + (box if step > 0 else 0), at)
        far_end = (one.x + (0 if step > 0 else box), one.y)
        start, end = (near_end, far_end) if step > 0 else (far_end, near_end)
        shapes.append(_arrow(start, end, one))
    return shapes


def _arrow(start: tuple[float, float], end: tuple[float, float], box: _Box) -> str:
    """A ribbon of the same height everywhere, and its head."""
    (x0, y0), (x1, y1), half = start, end, box.width / 2
    tip, middle = x1 - _HEAD, (x0 + x1 - _HEAD) / 2
    upper = (
        f"M{_n(x0)} {_n(y0 - half)}C{_n(middle)} {_n(y0 - half)} {_n(middle)} {_n(y1 - half)} {_n(tip)} {_n(y1 - half)}"
    )
    lower = f"V{_n(y1 + half)}C{_n(middle)} {_n(y1 + half)} {_n(middle)} {_n(y0 + half)} {_n(x0)} {_n(y0 + half)}Z"
    colour = f' style="color:{box.colour}"' if box.colour else ""
    over = half + 2.5
    return (
        f'<g class="arrow{" known" if box.colour else ""}"{colour}><title>{escape(box.tooltip)}</title>'
        f'<path d="{upper}{lower}"/>'
        f'<polygon points="{_n(tip)},{_n(y1 - over)} {_n(x1)},{_n(y1)} {_n(tip)},{_n(y1 + over)}"/></g>'
    )


def _drawn(box: _Box, width: float, height: float, kind: str = "") -> str:
    top = box.y - height / 2
    stripe = (
        f'<rect x="{_n(box.x)}" y="{_n(top)}" width="4" height="{_n(height)}" style="fill:{box.colour};stroke:none"/>'
    )
    left, room = box.x + _PAD + 4, width - 2 * _PAD - 4
    first = box.y - len(box.lines) * _LINE / 2 + _LINE - 2.5
    lines = "".join(
        f'<text x="{_n(left)}" y="{_n(first + number * _LINE)}"{_fitted(line, room)}>{escape(line)}</text>'
        for number, line in enumerate(box.lines)
    )
    return (
        f'<g class="{kind or "box"}"><title>{escape(box.tooltip)}</title><rect x="{_n(box.x)}" y="{_n(top)}" '
        f'width="{_n(width)}" height="{_n(height)}" rx="2"/>{stripe if box.colour else ""}{lines}</g>'
    )


def _fitted(line: str, room: float) -> str:
    """Squeeze a line that a wide font may not fit into its box."""
    return f' textLength="{_n(room)}" lengthAdjust="spacingAndGlyphs"' if len(line) * _LETTER > room else ""


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
