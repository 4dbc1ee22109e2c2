"""``mggcn report``: the records of runs as a page with charts, or as tables for a README."""

from pathlib import Path
from typing import Literal


def report(
    runs: list[Path],
    /,
    *,
    out: Path,
    format: Literal["html", "md", "json"] = "html",  # noqa: A002
) -> None:
    """Put runs and comparisons into one document: a self-contained page with charts, or tables.

    Args:
        runs: Run folders, folders of experiments, records.jsonl files as `mggcn compare` writes them, files that
            this command wrote with --format json, or folders that contain these.
        out: The file to write.
        format: html has tables and charts; md has the tables; json is the packed records, from which the others
            can be made again.
    """
    from mggcn._io import regular
    from mggcn._io.files import check_file_writable, write_atomically
    from mggcn.errors import InputError
    from mggcn.experiments import read_records, record_files, render

    check_file_writable(out)
    if regular.real(out) in record_files(runs):
        raise InputError(f"--out: {out} is one of the files that the report is made of")
    sections = read_records(runs)
    content = render(sections, format).encode()
    write_atomically(out, content)
    count = sum(row.done for section in sections for row in section.rows)
    print(f"{count:,} run{'s' * (count != 1)} in {out}, {len(content) / 1000:,.0f} kB")
