"""Stages of tables, each computed by DuckDB in this process or by Spark.

Each reads files as tables and writes every stage as Parquet files ``part-*.parquet`` in a folder of the stage's name,
in groups of few rows, so that readers need little memory.
Text formats are read with every column as text, so that both engines see the same characters. Times are in UTC.
"""

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import ibis

from mggcn._io.database import connect, megabytes, one_line_errors
from mggcn._io.locations import Location
from mggcn.errors import InputError, first_line, require
from mggcn.ethereum._build_files import TableFiles
from mggcn.ethereum._formats import Table

Types: TypeAlias = Mapping[str, str]
"""The type of each column."""

_GROUP_ROWS = 1 << 15  # of a Parquet file that DuckDB writes
_GROUP_BYTES = 2 << 20  # of one that Spark writes

_CONFIGURED = ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR")
"""The variables by which ``spark-submit`` and users configure Spark before the session starts."""
_MASTER, _LOCAL = "spark.master", "local"
_SPARK_DEFAULTS = {_MASTER: "local[*]", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
_ON_THIS_MACHINE = {"spark.sql.shuffle.partitions": "16"}
"""Defaults of a session without a cluster; on a cluster their number depends on its size and on the data."""


class DuckDB:
    """DuckDB in this process, with a memory limit in megabytes; what does not fit is written to the work folder."""

    def __init__(self, work: Location, memory: int) -> None:
        self.work = work
        self._connection = ibis.duckdb.from_connection(connect(Path(work.path), memory))

    def read(self, files: TableFiles) -> Table:
        """Return files as a table."""
        paths = [file.path for file in files.files]
        as_text = dict.fromkeys(files.columns, "VARCHAR")
        with one_line_errors(files.label):
            if files.format == "parquet":
                return self._connection.read_parquet(paths)
            if files.format == "json":
                return self._connection.read_json(paths, columns=as_text, format="newline_delimited")
            return self._connection.read_csv(
                paths, columns=as_text, auto_detect=False, header=True, delim=",", quote='"', escape='"'
            )

    def write(self, stage: str, table: Table) -> Table:
        """Compute an expression, write its rows as Parquet, and return them as a table."""
        path = Path(self.work.path, stage, "part-0.parquet")
        path.parent.mkdir()
        with one_line_errors(stage):
            self._connection.to_parquet(table, path, compression="zstd", row_group_size=_GROUP_ROWS)
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

    def __init__(self, work: Location, memory: int) -> None:
        require("pyspark", "spark")
        with warnings.catch_warnings(action="ignore"):  # pyspark warns about versions of pandas, which is not used here
            from pyspark import SparkConf, SparkContext
            from pyspark.errors import PySparkException
            from pyspark.sql import SparkSession

            self._is_new = SparkSession.getActiveSession() is None
            self.work, self._num_views = work, 0
            builder = SparkSession.builder.appName("mggcn")
            if self._is_new:
                if any(name in os.environ for name in _CONFIGURED):
                    SparkContext._ensure_initialized()  # noqa: SLF001 - else SparkConf is empty, and defaults replace it
                builder = builder.config(map=session_options(dict(SparkConf().getAll()), memory))
            try:
                self._session: Any = builder.getOrCreate()
            except PySparkException as error:
                raise InputError(f"engine='spark': no session ({first_line(error)})") from None
            self._session.conf.set("spark.sql.session.timeZone", "UTC")
            self._session.sparkContext.setLogLevel("ERROR")
            self._connection = ibis.pyspark.connect(self._session)

    def read(self, files: TableFiles) -> Table:
        """Return files as a table."""
        paths = [file.address for file in files.files]
        reader = self._session.read
        with _spark_errors(files.label):
            if files.format == "parquet":
                return self._table(reader.parquet(*paths))
            reader = reader.schema(", ".join(f"`{name.replace('`', '``')}` STRING" for name in files.columns))
            if files.format == "json":
                return self._table(reader.json(paths, mode="FAILFAST"))
            return self._table(reader.csv(paths, header=True, quote='"', escape='"', mode="FAILFAST"))

    def write(self, stage: str, table: Table) -> Table:
        """Compute an expression, write its rows as Parquet, and return them as a table."""
        path = (self.work / stage).address
        with _spark_errors(stage):
            writer = self._frame(table).write.option("parquet.block.size", _GROUP_BYTES)
            writer.parquet(path, compression="zstd")
        return self._table(self._session.read.parquet(path))

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """Return the rows of a small table."""
        with _spark_errors("engine='spark'"):
            return [row.asDict() for row in self._frame(table).collect()]

    def close(self) -> None:
        """Stop the session if it was started here."""
        if self._is_new:
            self._session.stop()

    def _frame(self, table: Table) -> Any:
        return self._session.sql(ibis.to_sql(table, dialect="pyspark"))

    def _table(self, frame: Any) -> Table:
        self._num_views += 1
        name = f"mggcn_{self.work.name.strip('.').replace('.', '_').replace('-', '_')}_{self._num_views}"
        frame.createOrReplaceTempView(name)
        return self._connection.table(name)


def session_options(configured: Mapping[str, str], memory: int) -> dict[str, str]:
    """Return what a new session of Spark needs beside what ``spark-submit`` and its files have configured."""
    defaults = {**_SPARK_DEFAULTS, "spark.driver.memory": f"{memory}m"}
    if configured.get(_MASTER, _LOCAL).startswith(_LOCAL):
        defaults |= _ON_THIS_MACHINE
    return {key: value for key, value in defaults.items() if key not in configured}


@contextmanager
def _spark_errors(subject: str) -> Iterator[None]:
    """Replace an error of Spark by an InputError of one line."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except Py4JJavaError as error:
        lines = str(error.java_exception.getMessage()).strip().splitlines()
        raise InputError(f"{subject}: {lines[0] if lines else 'Spark failed'}") from None
    except PySparkException as error:
        raise InputError(f"{subject}: {first_line(error)}") from None


Engine: TypeAlias = DuckDB | Spark


def stage_files(work: Location, stage: str) -> list[Location]:
    """Return the Parquet files of a stage in the order of their rows."""
    return [file for file in (work / stage).files() if file.name.startswith("part-") and file.suffix == ".parquet"]


def check_types(stage: str, table: Table, types: Types) -> None:
    """Raise an error if a stage has other columns or types: engines change the width of integers without an error."""
    expected, actual = ibis.schema(types).items(), table.schema().items()
    if [*actual] != [*expected]:
        wrong = [f"{column} is {kind}" for column, kind in actual if (column, kind) not in expected]
        raise InputError(
            f"{stage}: the engine wrote other columns than declared: {', '.join(wrong) or 'another order'}"
        )


@contextmanager
def open_engine(name: str, work: Location, memory: str) -> Iterator[Engine]:
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
