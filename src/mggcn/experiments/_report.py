"""Reports: sections of records as a page with charts, as tables, or packed. Needs no torch."""

from collections.abc import Sequence
from typing import Literal

from mggcn.experiments import _page as page
from mggcn.experiments import _report_tables as tables
from mggcn.experiments._packing import pack
from mggcn.experiments._page import Part
from mggcn.experiments._row import Section

__all__ = ["Format", "Part", "render"]

Format = Literal["html", "md", "json"]


def render(sections: Sequence[Section], form: Format, parts: Sequence[Part] = ()) -> str:
    """Put records into a document.

    Args:
        sections: at least one, as :func:`mggcn.experiments.read` or :func:`mggcn.experiments.group` returns them.
        form: ``html`` is one self-contained page with charts; ``md`` has the tables; ``json`` is the packed records,
            which :func:`mggcn.experiments.read` reads again.
        parts: what a page shows after its sections.
    """
    if form == "html":
        return page.html(sections, parts)
    return {"md": tables.markdown, "json": pack}[form](sections)
