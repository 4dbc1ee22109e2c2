"""The engines that compute the stages: DuckDB in this process, or Spark.

Each reads files as tables and writes every stage as Parquet files ``part-*.parquet`` in a folder of the stage's name.
Text formats are read with every column as text, so that both engines see the same characters. Times are in UTC.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import ibis

from mggcn.errors import InputError, first_line
from mggcn.ethereum._spark import Spark
from mggcn.ethereum._table_files import TableFiles
from mggcn.ethereum._values import Table

_LEAST_MEMORY = 500  # megabytes; Spark does not start with less


class DuckDB:
    """DuckDB in this process, with a memory limit; what does not fit is written to the work folder.

    Args:
        work: a folder for the stages and for what does not fit into memory.
        memory: the limit in megabytes.
    """

    def __init__(self, work: Path, memory: int) -> None:
        import duckdb

        self._work = work
        self._connection = ibis.duckdb.connect(
            memory_limit=f"{memory}MB", temp_directory=str(work / "spill"), preserve_insertion_order=False
        )
        with suppress(duckdb.Error):  # fails without the extension for time zones; all times are UTC then
            self._connection.raw_sql("SET TimeZone = 'UTC'")

    def read(self, files: TableFiles) -> Table:
        """Return files as a table."""
        paths = [str(file) for file in files.files]
        as_text = dict.fromkeys(files.columns, "VARCHAR")
        with _one_line_errors(files.label):
            if files.format == "parquet":
                return self._connection.read_parquet(paths)
            if files.format == "json":
                return self._connection.read_json(paths, columns=as_text, format="newline_delimited")
            return self._connection.read_csv(
                paths, columns=as_text, auto_detect=False, header=True, delimiter=",", quote='"', escape='"'
            )

    def write(self, stage: str, table: Table) -> Table:
        """Compute an expression, write its rows as Parquet, and return them as a table."""
        path = self._work / stage / "part-0.parquet"
        path.parent.mkdir()
        with _one_line_errors(stage):
            self._connection.to_parquet(table, path, compression="zstd")
        return self._connection.read_parquet(path)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """Return the rows of a small table."""
        rows: list[dict[str, Any]] = table.to_pyarrow().to_pylist()
        return rows

    def close(self) -> None:
        """Close the connection."""
        self._connection.disconnect()


Engine: TypeAlias = DuckDB | Spark


@contextmanager
def _one_line_errors(subject: str) -> Iterator[None]:
    """Replace an error of DuckDB by an InputError of one line."""
    import duckdb

    try:
        yield
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


def stage_files(work: Path, stage: str) -> list[Path]:
    """Return the Parquet files of a stage in the order of their rows."""
    return sorted((work / stage).glob("part-*.parquet"))


@contextmanager
def open_engine(name: str, work: Path, memory: str) -> Iterator[Engine]:
    """Open an engine by its name and close it at the end."""
    limit = _megabytes(memory)
    engine: Engine = Spark(work, limit) if name == "spark" else DuckDB(work, limit)
    try:
        with unmerged_selects():
            yield engine
    finally:
        engine.close()


@contextmanager
def unmerged_selects() -> Iterator[None]:
    """Stop Ibis from merging the steps of a stage; merging repeats every expression that later steps use twice."""
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
    megabytes = int(float(amount[1]) * unit) // 10**6
    if megabytes < _LEAST_MEMORY:
        raise InputError(f"--memory: {memory!r} is too little; an engine needs at least {_LEAST_MEMORY}MB")
    return megabytes
