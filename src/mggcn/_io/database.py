"""DuckDB in this process with a limit on its memory; what does not fit is written to a folder."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from mggcn._io.memory import amount
from mggcn.errors import InputError, first_line, require

Database: TypeAlias = Any
"""A connection to DuckDB."""

LEAST_MEMORY = 500  # megabytes; Spark does not start with less


def connect(work: Path, memory: int) -> Database:
    """Open a database that takes at most ``memory`` megabytes; what does not fit is written to the folder ``work``.

    Rows come in any order unless they are sorted.
    """
    require("duckdb", "tables")
    import duckdb

    options = {"memory_limit": f"{memory}MB", "temp_directory": str(work / "spill"), "preserve_insertion_order": False}
    connection = duckdb.connect(config=options)
    with suppress(duckdb.Error):  # fails without the extension for time zones; all times are UTC then
        connection.execute("SET TimeZone = 'UTC'")
    return connection


def first_row(database: Database, query: str) -> Any:
    """Return the first row of a query with few rows, None if there is none; DuckDB wants all of them to be fetched."""
    return next(iter(database.execute(query).fetchall()), None)


@contextmanager
def one_line_errors(subject: str) -> Iterator[None]:
    """Replace an error of DuckDB by an InputError of one line."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as error:
        if "max_temp_directory_size" in str(error):
            raise InputError(f"{subject}: the disk is too small for what exceeds the memory") from None
        raise InputError(f"memory: too little for {subject}, even with the disk's help; allow more") from None
    except duckdb.Error as error:
        raise InputError(_csv_error(str(error)) or f"{subject}: {first_line(error)}") from None


def _csv_error(message: str) -> str | None:
    """Return file, line and cause from DuckDB's message about a CSV file; the cause precedes its advice."""
    line = re.search(r"CSV Error on Line: ([0-9]+)", message)
    file = re.search(r"^ *file = (.+)$", message, re.MULTILINE)
    if file is None:
        return None
    if line is None:
        return f"{file[1]}: {message.splitlines()[0]}"
    cause = re.split(r"^(?:Possible | *file = )", message, maxsplit=1, flags=re.MULTILINE)[0]
    return f"{file[1]}: line {line[1]}: {cause.strip().splitlines()[-1]}"


def megabytes(memory: str) -> int:
    """Read an amount of memory such as ``4GB``; InputError if it is too little for an engine."""
    size = amount(memory) // 10**6
    if size < LEAST_MEMORY:
        raise InputError(f"memory: {memory!r} is too little; an engine needs at least {LEAST_MEMORY}MB")
    return min(size, 10**9)  # DuckDB takes no more
