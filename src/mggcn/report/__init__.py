"""Report: the records of runs as a page with charts, as tables, or packed. Torch is not needed here."""

from collections.abc import Sequence
from typing import Literal

from mggcn.records.lines import Published, Source, sections
from mggcn.records.pack import packed
from mggcn.records.read import files, read
from mggcn.report import page, tables
from mggcn.report.page import Part

__all__ = ["Format", "Part", "Published", "Source", "files", "read", "render"]

Format = Literal["html", "md", "latex", "json"]


def render(
    sources: Sequence[Source], form: Format, published: Published = lambda _: None, parts: Sequence[Part] = ()
) -> str:
    """Put records into a document.

    Args:
        sources: with at least one record or experiment, of any methods and data sets.
        form: ``html`` is one page that needs nothing else, with charts; ``md`` and ``latex`` are the tables; ``json``
            is the records themselves, packed, which :func:`read` reads again.
        published: gives the paper's accuracy for a record of no experiment, where it has one.
        parts: what a page shows after its sections.
    """
    found = sections(sources, published)
    if form == "md":
        return tables.markdown(found)
    if form == "latex":
        return tables.latex(found)
    if form == "json":
        return packed(found)
    return page.html(found, parts)
