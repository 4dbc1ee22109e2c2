"""A table as HTML: a click on a heading sorts it, and text, headings and commands are broken into lines to fit."""

import re
from html import escape

from mggcn.experiments._record_tables import GROWTH, SortKey, Table

_MOST_LEVEL = 11
"""The most columns whose headings are written horizontally."""


def html_table(content: Table, code: str = "") -> str:
    """The table in an element that scrolls if it is wider than the page.

    Args:
        content: its text.
        code: the heading of a column of commands.
    """
    columns = zip(*content.keys, strict=True) if content.keys else [()] * len(content.headings)
    kinds = [' class="number"' * any(isinstance(key, int | float) for key in column) for column in columns]
    head = "".join(
        f'<th{kind} aria-sort="none"><button type="button">{_breakable(name)}</button></th>'
        for name, kind in zip(content.headings, kinds, strict=True)
    )
    rows = []
    for row, keys in zip(content.rows, content.keys, strict=True):
        cells = []
        for name, cell, key in zip(content.headings, row, keys, strict=True):
            kind = _kind(cell, key)
            text = f"<code>{escape(cell)}</code>" if name == code else _raised(cell)
            cells.append(f'<td{kind} data-key="{escape("" if key is None else str(key))}">{text}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(rows)
    upright = ' class="upright"' if len(content.headings) > _MOST_LEVEL else ""
    return f'<div class="scroll"><table{upright}><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _breakable(heading: str) -> str:
    """A heading as HTML that may continue on a new line after an underscore, and keeps a percent sign with its word."""
    return escape(heading).replace("_", "_<wbr>").replace(" %", "&nbsp;%")


def _kind(cell: str, key: SortKey) -> str:
    """The class of a cell: numbers are aligned to the right, words instead of a number are broken into lines."""
    if isinstance(key, str):
        return ""
    return ' class="words"' if key is None and len(cell) > 1 else ' class="number"'


def _raised(cell: str) -> str:
    """A cell as HTML; the exponents of an order of growth are raised."""
    text = escape(cell)
    return re.sub(r"\^(\w+)", r"<sup>\1</sup>", text) if GROWTH.fullmatch(cell) else text
