"""Spark as an engine: the session that is there, the one ``spark-submit`` describes, or one on this machine."""

import warnings
from pathlib import Path
from typing import Any

import ibis

from mggcn.errors import InputError, first_line
from mggcn.ethereum import require
from mggcn.ethereum.checks import Types, check_types
from mggcn.ethereum.sources import Source
from mggcn.ethereum.values import Table

_DEFAULTS = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "16",
    "spark.sql.session.timeZone": "UTC",
}


class Spark:
    """Spark, of which every part of the work but the last assembling is done.

    Args:
        work: a folder for stages, which all of Spark's workers can reach.
        memory: of the driver in megabytes, where the session is not there yet.
    """

    def __init__(self, work: Path, memory: int) -> None:
        require("pyspark", "spark")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pyspark warns of versions of pandas, which is not used here
            from pyspark.sql import SparkSession

            self._own = SparkSession.getActiveSession() is None
            self._work, self._views = work, 0
            self._session: Any = _session(memory)
            self._session.conf.set("spark.sql.session.timeZone", "UTC")
            self._session.sparkContext.setLogLevel("ERROR")
            self._connection = ibis.pyspark.connect(self._session)

    def read(self, source: Source) -> Table:
        """Files as a table."""
        files = [str(file) for file in source.files]
        reader = self._session.read
        if source.container == "parquet":
            return self._table(reader.parquet(*files))
        reader = reader.schema(_all_text(source.names))
        if source.container == "json":
            return self._table(reader.json(files, mode="FAILFAST"))
        return self._table(reader.csv(files, header=True, quote='"', escape='"', mode="FAILFAST"))

    def stage(self, name: str, table: Table, types: Types) -> Table:
        """Carry out an expression, keep its rows as Parquet, and give them as a table again."""
        from pyspark.errors import PySparkException

        path = self._work / name
        try:
            self._frame(table).write.parquet(str(path), compression="zstd")
        except PySparkException as error:
            raise InputError(f"{name}: {first_line(error)}") from None
        check_types(name, self.files(name), types)
        return self._table(self._session.read.parquet(str(path)))

    def files(self, name: str) -> list[Path]:
        """The Parquet files of a stage, in the order of their rows."""
        return sorted((self._work / name).glob("part-*.parquet"))

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """The rows of a small table."""
        return [row.asDict() for row in self._frame(table).collect()]

    def close(self) -> None:
        """Stop a session that was not there before."""
        if self._own:
            self._session.stop()

    def _frame(self, table: Table) -> Any:
        return self._session.sql(ibis.to_sql(table, dialect="pyspark"))

    def _table(self, frame: Any) -> Table:
        self._views += 1
        name = f"mggcn_{self._work.name.strip('.').replace('.', '_').replace('-', '_')}_{self._views}"
        frame.createOrReplaceTempView(name)
        return self._connection.table(name)


def _session(memory: int) -> Any:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    given = SparkConf()
    builder = SparkSession.builder.appName("mggcn")
    for key, value in {**_DEFAULTS, "spark.driver.memory": f"{memory}m"}.items():
        if not given.contains(key):
            builder = builder.config(key, value)
    return builder.getOrCreate()


def _all_text(names: tuple[str, ...]) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    return StructType([StructField(name, StringType()) for name in names])
