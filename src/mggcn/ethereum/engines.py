"""Where the expressions run: DuckDB in this process, or Spark. Each reads files as tables and writes stages as Parquet.

Text formats are read with every column as text, so that both engines see the same characters. Both keep time in UTC.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import ibis

from mggcn.errors import InputError, first_line
from mggcn.ethereum.checks import Types, check_types
from mggcn.ethereum.sources import Source
from mggcn.ethereum.spark import Spark
from mggcn.ethereum.values import Table

_LEAST = 500  # megabytes; with less Spark does not start


class Engine(Protocol):
    """What a build asks of an engine."""

    def read(self, source: Source) -> Table:
        """Files as a table."""

    def stage(self, name: str, table: Table, types: Types) -> Table:
        """Carry out an expression, keep its rows as Parquet, and give them as a table again."""

    def files(self, name: str) -> list[Path]:
        """The Parquet files of a stage, in the order of their rows."""

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """The rows of a small table."""

    def close(self) -> None:
        """Give everything back."""


class DuckDB:
    """DuckDB in this process, within a memory limit; what does not fit goes to the work folder.

    Args:
        work: a folder for stages and what does not fit into memory.
        memory: the limit in megabytes.
    """

    def __init__(self, work: Path, memory: int) -> None:
        import duckdb

        self._work = work
        self._connection = ibis.duckdb.connect(
            memory_limit=f"{memory}MB", temp_directory=str(work / "spill"), preserve_insertion_order=False
        )
        with suppress(duckdb.Error):  # without the extension that knows time zones there is only UTC
            self._connection.raw_sql("SET TimeZone = 'UTC'")

    def read(self, source: Source) -> Table:
        """Files as a table."""
        files = [str(file) for file in source.files]
        as_text = dict.fromkeys(source.names, "VARCHAR")
        with _explained(source.label):
            if source.container == "parquet":
                return self._connection.read_parquet(files)
            if source.container == "json":
                return self._connection.read_json(files, columns=as_text, format="newline_delimited")
            return self._connection.read_csv(
                files, columns=as_text, auto_detect=False, header=True, delimiter=",", quote='"', escape='"'
            )

    def stage(self, name: str, table: Table, types: Types) -> Table:
        """Carry out an expression, keep its rows as Parquet, and give them as a table again."""
        path = self._work / f"{name}.parquet"
        with _explained(name):
            self._connection.to_parquet(table, path, compression="zstd")
        check_types(name, [path], types)
        return self._connection.read_parquet(path)

    def files(self, name: str) -> list[Path]:
        """The Parquet files of a stage, in the order of their rows."""
        return [self._work / f"{name}.parquet"]

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """The rows of a small table."""
        found: list[dict[str, Any]] = table.to_pyarrow().to_pylist()
        return found

    def close(self) -> None:
        """Give everything back."""
        self._connection.disconnect()


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn an error of DuckDB into one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise InputError(_csv_error(str(error)) or f"{what}: {first_line(error)}") from None


def _csv_error(message: str) -> str | None:
    """File, line and cause in what DuckDB says of a CSV file: the cause stands last before what it advises."""
    line = re.search(r"CSV Error on Line: ([0-9]+)", message)
    file = re.search(r"^ *file = (.+)$", message, re.MULTILINE)
    if file is None:
        return None
    if line is None:
        return f"{file[1]}: {message.splitlines()[0]}"
    cause = re.split(r"^(?:Possible | *file = )", message, maxsplit=1, flags=re.MULTILINE)[0]
    return f"{file[1]}: line {line[1]}: {cause.strip().splitlines()[-1]}"


@contextmanager
def opened(name: str, work: Path, memory: str) -> Iterator[Engine]:
    """An engine by its name, closed at the end."""
    amount = _megabytes(memory)
    engine: Engine = Spark(work, amount) if name == "spark" else DuckDB(work, amount)
    try:
        with unmerged():
            yield engine
    finally:
        engine.close()


@contextmanager
def unmerged() -> Iterator[None]:
    """Keep Ibis from merging the steps of a stage, which would repeat whatever later steps use several times."""
    before = ibis.options.sql.fuse_selects
    ibis.options.sql.fuse_selects = False
    try:
        yield
    finally:
        ibis.options.sql.fuse_selects = before


def _megabytes(memory: str) -> int:
    amount = re.fullmatch(r"([0-9]+(?:[.][0-9]+)?) ?([KMGT])(i?)B?", memory.strip(), re.IGNORECASE)
    if amount is None:
        raise InputError(f"--memory: {memory!r} is not an amount of memory such as 4GB")
    unit = (1024 if amount[3] else 1000) ** (1 + "KMGT".index(amount[2].upper()))
    found = int(float(amount[1]) * unit) // 10**6
    if found < _LEAST:
        raise InputError(f"--memory: {memory!r} is too little; an engine needs at least {_LEAST}MB")
    return found
