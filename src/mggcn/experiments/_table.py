"""Table: items in rows, and columns that say what of them is shown; written as Markdown or HTML.

All tables are of this type: results of methods, scores of classes, rankings, and commands.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from operator import itemgetter
from typing import Any, Generic, TypeVar

T = TypeVar("T")

Value = str | float | None
"""The value of an item in a column, by which the table is sorted; None if it has none."""

GROWTH = re.compile(r"O\([\w^ ]+\)")
"""An order of growth, whose exponents a page raises."""
NO_VALUE = "–"
_MARKDOWN = str.maketrans({"\\": "\\\\", "|": "\\|", "<": "&lt;", "&": "&amp;"})
_MOST_LEVEL = 11
"""The most columns whose headings are written horizontally in HTML."""


@dataclass(frozen=True)
class Column(Generic[T]):
    """A column of a table.

    Attributes:
        heading: the text above it.
        value: the value of an item.
        write: converts such a value to text.
        words: the text of an item, if it is not the written value.
        optional: whether the column is left out if no item has a value.
        note: a sentence that explains it.
    """

    heading: str
    value: Callable[[T], Value]
    write: Callable[[Any], str] = str
    words: Callable[[T], str] | None = None
    optional: bool = False
    note: str = ""

    def text(self, item: T) -> str:
        """The text of an item."""
        if self.words is not None:
            return self.words(item)
        value = self.value(item)
        return NO_VALUE if value is None else self.write(value)


class Table(Generic[T]):
    """Items with columns; optional columns that no item fills are left out.

    Args:
        columns: from left to right.
        items: what each row is about.
    """

    def __init__(self, columns: Sequence[Column[T]], items: Sequence[T]) -> None:
        shown = [one for one in columns if not one.optional or any(one.value(item) is not None for item in items)]
        self.columns, self.items = shown, items

    @property
    def headings(self) -> list[str]:
        """The text above each column."""
        return [column.heading for column in self.columns]

    @property
    def values(self) -> list[list[Value]]:
        """The values of each row."""
        return [[column.value(item) for column in self.columns] for item in self.items]

    @property
    def texts(self) -> list[list[str]]:
        """The text of each row."""
        return [[column.text(item) for column in self.columns] for item in self.items]

    def markdown(self, text_columns: int = 1) -> str:
        """The table in Markdown; the columns after the first ``text_columns`` are aligned to the right."""
        rules = ["---" if number < text_columns else "---:" for number in range(len(self.columns))]
        rows = (self.headings, rules, *self.texts)
        return "\n".join("| " + " | ".join(map(escaped, row)) + " |" for row in rows)

    def html(self, code: str = "") -> str:
        """The table in an element that scrolls if it is wider than the page; a click on a heading sorts it.

        Text, headings and commands are broken into lines to fit.

        Args:
            code: the heading of a column of commands.
        """
        columns = zip(*self.values, strict=True) if self.items else [()] * len(self.columns)
        kinds = [' class="number"' * any(isinstance(value, int | float) for value in column) for column in columns]
        head = "".join(
            f'<th{kind} aria-sort="none"><button type="button">{_breakable(name)}</button></th>'
            for name, kind in zip(self.headings, kinds, strict=True)
        )
        rows = []
        for texts, values in zip(self.texts, self.values, strict=True):
            cells = []
            for name, text, value in zip(self.headings, texts, values, strict=True):
                shown = f"<code>{escape(text)}</code>" if name == code else _raised(text)
                key = escape("" if value is None else str(value))
                cells.append(f'<td{_kind(text, value)} data-key="{key}">{shown}</td>')
            rows.append(f"<tr>{''.join(cells)}</tr>")
        body = "\n".join(rows)
        upright = ' class="upright"' if len(self.columns) > _MOST_LEVEL else ""
        whole = f"<table{upright}><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"
        return f'<div class="scroll">{whole}</div>'


def table_of_lines(headings: Sequence[str], lines: Sequence[Sequence[Value]]) -> Table[Sequence[Value]]:
    """A table of lines that hold their values in the order of the headings."""
    return Table([Column(heading, itemgetter(number)) for number, heading in enumerate(headings)], lines)


def escaped(text: str) -> str:
    """Text in one line, escaped for Markdown."""
    return " ".join(text.splitlines()).translate(_MARKDOWN)


def duration(seconds: float) -> str:
    """A time in a suitable unit."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"


def percent(mean: float, deviation: float | None = None) -> str:
    """A share in percent, with its standard deviation if there is one."""
    return f"{mean * 100:.2f}" + ("" if deviation is None else f" ± {deviation * 100:.2f}")


def brief_percent(share: float) -> str:
    """A share in percent with one digit."""
    return f"{share * 100:.1f}"


def whole(number: float) -> str:
    """A number without digits after the point."""
    return f"{number:,.0f}"


def _breakable(heading: str) -> str:
    """A heading as HTML that may continue on a new line after an underscore, and keeps a percent sign with its word."""
    return escape(heading).replace("_", "_<wbr>").replace(" %", "&nbsp;%")


def _kind(text: str, value: Value) -> str:
    """The class of a cell: numbers are aligned to the right, words instead of a number are broken into lines."""
    if isinstance(value, str):
        return ""
    return ' class="words"' if value is None and len(text) > 1 else ' class="number"'


def _raised(text: str) -> str:
    """A text as HTML; the exponents of an order of growth are raised."""
    escaped_text = escape(text)
    return re.sub(r"\^(\w+)", r"<sup>\1</sup>", escaped_text) if GROWTH.fullmatch(text) else escaped_text
