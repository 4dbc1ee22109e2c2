"""Aligned text columns, for all commands that print lists."""

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """Rows of text as columns, two spaces apart; the columns in ``right`` are aligned to the right.

    >>> print(aligned([["class", "F1"], ["phish", "9"]], right=[1]))
    class  F1
    phish   9
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
