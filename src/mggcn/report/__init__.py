"""Reports: sections of records as a page with charts, as tables, or packed. Needs no torch."""

from collections.abc import Sequence
from typing import Literal

from mggcn.records import Section, pack
from mggcn.report import page, tables
from mggcn.report.page import Part

__all__ = ["Format", "Part", "render"]

Format = Literal["html", "md", "latex", "json"]


def render(sections: Sequence[Section], form: Format, parts: Sequence[Part] = ()) -> str:
    """Put records into a document.

    Args:
        sections: at least one, as :func:`mggcn.records.read` or :func:`mggcn.records.group` returns them.
        form: ``html`` is one self-contained page with charts; ``md`` and ``latex`` are the tables; ``json`` is the
            packed records, which :func:`mggcn.records.read` reads again.
        parts: what a page shows after its sections.
    """
    if form == "html":
        return page.html(sections, parts)
    return {"md": tables.markdown, "latex": tables.latex, "json": pack}[form](sections)
