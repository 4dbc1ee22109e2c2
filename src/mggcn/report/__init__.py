"""Report: the records of runs as a page with charts, or their tables in Markdown or LaTeX. Torch is not needed here."""

from collections.abc import Sequence
from typing import Literal

from mggcn.record import RunRecord
from mggcn.report import page, tables
from mggcn.report.lines import Published, sections
from mggcn.report.read import read

__all__ = ["Format", "Published", "read", "render"]

Format = Literal["html", "md", "latex"]


def render(records: Sequence[RunRecord], form: Format, published: Published = lambda _: None) -> str:
    """Put records into a document.

    Args:
        records: at least one, of any methods and data sets.
        form: ``html`` is one page that needs nothing else, with charts; ``md`` and ``latex`` are the tables.
        published: gives the paper's accuracy for a record, where it has one.
    """
    found = sections(records, published)
    if form == "md":
        return tables.markdown(found)
    if form == "latex":
        return tables.latex(found)
    return page.html(found)
