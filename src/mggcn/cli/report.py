"""``mggcn report``: the records of runs as a page with charts, or as tables for a README or a paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from mggcn.records.record import RunRecord


def report(
    runs: list[Path],
    /,
    *,
    out: Path,
    format: Literal["html", "md", "latex", "json"] = "html",  # noqa: A002
) -> None:
    """Put runs and comparisons into one document: a page with charts that needs nothing else, or tables alone.

    Args:
        runs: Run folders, folders of experiments, records.jsonl files as `mggcn compare` leaves them, files that
            this command wrote with --format json, or folders that hold such.
        out: The file to write.
        format: html has tables and charts; md and latex have the tables; json is the records themselves, packed to be
            kept, from which the others can be made again.
    """
    from mggcn import storage
    from mggcn.errors import InputError
    from mggcn.report import files, read, render

    if out.is_dir():
        raise InputError(f"--out: {out} is a folder, not a file")
    if out.resolve() in files(runs):
        raise InputError(f"--out: {out} is one of the files that the report is made of")
    sources = read(runs)
    content = render(sources, format, _published).encode()
    storage.write_atomically(out, content)
    count = sum(len(source.records) for source in sources)
    print(f"{count:,} run{'s' * (count != 1)} in {out}, {len(content) / 1000:,.0f} kB")  # noqa: T201


def _published(record: "RunRecord") -> float | None:
    from mggcn.methods import published_results

    return published_results(record.dataset, record.method, record.settings).get("accuracy")
