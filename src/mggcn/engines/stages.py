"""Stages of tables, each computed by DuckDB in this process or by Spark.

Each reads files as tables and writes every stage as Parquet files ``part-*.parquet`` in a folder of the stage's name.
Text formats are read with every column as text, so that both engines see the same characters. Times are in UTC.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import ibis
from pyarrow import parquet

from mggcn.engines.database import connect, megabytes, one_line_errors
from mggcn.errors import InputError, first_line, require

Table: TypeAlias = Any
Types: TypeAlias = Mapping[str, str]
"""The type of each column."""

_SPARK_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "16",
}


class TableFiles(Protocol):
    """Files with the same columns of the same types."""

    @property
    def files(self) -> Sequence[Path]:
        """The files to read."""

    @property
    def format(self) -> Literal["parquet", "csv", "json"]:
        """How to read them."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def label(self) -> str:
        """The files in a message."""


class DuckDB:
    """DuckDB in this process, with a memory limit in megabytes; what does not fit is written to the work folder."""

    def __init__(self, work: Path, memory: int) -> None:
        self._work = work
        self._connection = ibis.duckdb.from_connection(connect(work, memory))

    def read(self, files: TableFiles) -> Table:
        """Return files as a table."""
        paths = [str(file) for file in files.files]
        as_text = dict.fromkeys(files.columns, "VARCHAR")
        with one_line_errors(files.label):
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
        with one_line_errors(stage):
            self._connection.to_parquet(table, path, compression="zstd")
        return self._connection.read_parquet(path)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """Return the rows of a small table."""
        return list(table.to_pyarrow().to_pylist())

    def close(self) -> None:
        """Close the connection."""
        self._connection.disconnect()


class Spark:
    """Spark: the active session, the one that ``spark-submit`` configures, or a new one on this machine.

    All workers must reach the work folder; ``memory`` is that of the driver of a new session, in megabytes.
    """

    def __init__(self, work: Path, memory: int) -> None:
        require("pyspark", "spark")
        with warnings.catch_warnings(action="ignore"):  # pyspark warns about versions of pandas, which is not used here
            from pyspark import SparkConf
            from pyspark.sql import SparkSession

            self._is_new = SparkSession.getActiveSession() is None
            self._work, self._num_views = work, 0
            configured, builder = SparkConf(), SparkSession.builder.appName("mggcn")
            for key, value in {**_SPARK_DEFAULTS, "spark.driver.memory": f"{memory}m"}.items():
                if not configured.contains(key):
                    builder = builder.config(key, value)
            self._session: Any = builder.getOrCreate()
            self._session.conf.set("spark.sql.session.timeZone", "UTC")
            self._session.sparkContext.setLogLevel("ERROR")
            self._connection = ibis.pyspark.connect(self._session)

    def read(self, files: TableFiles) -> Table:
        """Return files as a table."""
        paths = [str(file) for file in files.files]
        reader = self._session.read
        if files.format == "parquet":
            return self._table(reader.parquet(*paths))
        reader = reader.schema(", ".join(f"`{name.replace('`', '``')}` STRING" for name in files.columns))
        if files.format == "json":
            return self._table(reader.json(paths, mode="FAILFAST"))
        return self._table(reader.csv(paths, header=True, quote='"', escape='"', mode="FAILFAST"))

    def write(self, stage: str, table: Table) -> Table:
        """Compute an expression, write its rows as Parquet, and return them as a table."""
        from pyspark.errors import PySparkException

        path = str(self._work / stage)
        try:
            self._frame(table).write.parquet(path, compression="zstd")
        except PySparkException as error:
            raise InputError(f"{stage}: {first_line(error)}") from None
        return self._table(self._session.read.parquet(path))

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """Return the rows of a small table."""
        return [row.asDict() for row in self._frame(table).collect()]

    def close(self) -> None:
        """Stop the session if it was started here."""
        if self._is_new:
            self._session.stop()

    def _frame(self, table: Table) -> Any:
        return self._session.sql(ibis.to_sql(table, dialect="pyspark"))

    def _table(self, frame: Any) -> Table:
        self._num_views += 1
        name = f"mggcn_{self._work.name.strip('.').replace('.', '_').replace('-', '_')}_{self._num_views}"
        frame.createOrReplaceTempView(name)
        return self._connection.table(name)


Engine: TypeAlias = DuckDB | Spark


def stage_files(work: Path, stage: str) -> list[Path]:
    """Return the Parquet files of a stage in the order of their rows."""
    return sorted((work / stage).glob("part-*.parquet"))


def check_types(stage: str, files: Sequence[Path], types: Types) -> None:
    """Raise an error if the Parquet files of a stage have other columns, types or another order than ``types``.

    The check is needed because engines change the width of integers without an error.
    """
    expected = [(field.name, field.type) for field in ibis.schema(types).to_pyarrow()]
    for file in files:
        actual = [(field.name, field.type) for field in parquet.read_schema(file)]
        if actual != expected:
            wrong = [f"{column} is {kind}" for column, kind in actual if (column, kind) not in expected]
            raise InputError(
                f"{stage}: the engine wrote other columns than declared: {', '.join(wrong) or 'another order'}"
            )


@contextmanager
def open_engine(name: str, work: Path, memory: str) -> Iterator[Engine]:
    """Open an engine by its name and close it at the end."""
    limit = megabytes(memory)
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
