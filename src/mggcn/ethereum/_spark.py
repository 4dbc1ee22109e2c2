"""Spark as an engine: the active session, the one that ``spark-submit`` configures, or a new one on this machine."""

import warnings
from pathlib import Path
from typing import Any

import ibis

from mggcn.errors import InputError, first_line
from mggcn.ethereum import require
from mggcn.ethereum._table_files import TableFiles
from mggcn.ethereum._values import Table

_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "16",
    "spark.sql.session.timeZone": "UTC",
}


class Spark:
    """Spark computes every stage; only the final arrays are made in this process.

    Args:
        work: a folder for the stages that all Spark workers can reach.
        memory: of the driver in megabytes, if a new session is started.
    """

    def __init__(self, work: Path, memory: int) -> None:
        require("pyspark", "spark")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pyspark warns about versions of pandas, which is not used here
            from pyspark.sql import SparkSession

            self._is_new = SparkSession.getActiveSession() is None
            self._work, self._num_views = work, 0
            self._session: Any = _session(memory)
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


def _session(memory: int) -> Any:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    configured = SparkConf()
    builder = SparkSession.builder.appName("mggcn")
    for key, value in {**_DEFAULTS, "spark.driver.memory": f"{memory}m"}.items():
        if not configured.contains(key):
            builder = builder.config(key, value)
    return builder.getOrCreate()
