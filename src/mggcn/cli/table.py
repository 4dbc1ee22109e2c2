"""Aligned text columns, for all commands that print lists."""

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """Rows of text as columns, two spaces apart.

    >>> print(aligned([["class", "F1"], ["phish", "9"]], right=[1]))
    class  F1
    phish   9

    Args:
        rows: with equally many cells; the first one may hold headings.
        right: the columns to align to the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
