"""``mggcn ethereum build``: a data set of accounts from tables of transactions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt

if TYPE_CHECKING:
    from mggcn.data import Dataset
    from mggcn.ethereum import Built


def build(
    transactions: list[str],
    /,
    *,
    labels: str | None = None,
    features: str | None = None,
    out: Path | None = None,
    engine: Literal["duckdb", "spark", "sql"] = "duckdb",
    dialect: str = "bigquery",
    into: str | None = None,
    from_tables: Annotated[bool, Parameter(negative=())] = False,
    as_of: str | None = None,
    split: str = "random",
    memory: str = "4GB",
    stages: str | None = None,
    columns: str | None = None,
    ids: Literal["address", "text"] = "address",
    receipts: str | None = None,
    blocks: str | None = None,
    balances: str | None = None,
    max_dropped: float = 0.01,
    name: str | None = None,
    seed: int = 0,
    background: NonNegativeInt = 0,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Build a data set of accounts: a graph, 13 features, labels and a split.

    Reads ethereum-etl, BigQuery exports, cryo, Etherscan's txlist and XBlock, as Parquet, CSV or JSON; the format is
    recognised by the columns. At the end it prints how many rows each rule dropped or changed.

    Args:
        transactions: Files or folders, here or at s3://, gs:// and hdfs:// addresses, which Spark reads in place and
            DuckDB copies first; with --engine sql, the name of a table.
        labels: A CSV file with the columns address and label; without it no account is labelled.
        features: A table (CSV, Parquet, JSON lines) with the column address; its other columns become features next to
            the thirteen.
        out: The dataset folder to write; it also receives accounts.parquet and edges.parquet.
        engine: duckdb runs in this process, spark on a cluster or on this machine; sql only prints the SQL script.
        dialect: The SQL dialect of --engine sql: bigquery, snowflake, trino, databricks, clickhouse, duckdb and others.
        into: With --engine sql, the schema of the tables that are created, such as project.dataset.
        from_tables: The files are the tables mggcn_links and mggcn_features of that script, exported as Parquet.
        as_of: Ignore later transactions. A date (included to its end) or a time such as 2020-01-31T12:00:00, in UTC.
        split: random (7:1:2 within each class), or time:2018-12-31,2019-06-30: train on accounts seen until the first
            date, validate on those first seen until the second, test on later ones; features are as of each date.
        memory: The memory limit of the engine, such as 4GB; at least 500MB.
        stages: The folder for intermediate tables; with --engine spark also an address such as s3://bucket/folder. By
            default that of --out.
        columns: The columns of a table in no known format: from=…,to=…,value=…,time=…, with eth=… for a value in ether,
            and optionally hash, block, status, error, contract, gas, price, fee, count.
        ids: address requires 0x and 40 hexadecimal digits; text accepts any name of an account.
        receipts: ethereum-etl's receipts, for transactions without status and gas used.
        blocks: ethereum-etl's blocks, for transactions without time.
        balances: A table with address and eth_balance (wei), used instead of the sums of the transactions.
        max_dropped: The largest share of rows that may be dropped because they cannot be read; more are an error.
            Copies and rows later than --as-of do not count.
        name: The name of the data set; by default ethereum: and the folder's name. Simulated data get simulated- in it.
        seed: The seed of the split and of --background.
        background: Label so many unlabelled accounts as a class Background, drawn with degrees like those of labelled
            accounts, so that a model learns what is in no class; 0 for none.
        overwrite: Replace an existing dataset folder.
        quiet: Do not print the stages.
    """
    from mggcn.errors import require

    require("ibis", "ethereum")
    from mggcn.cli.options import with_flags
    from mggcn.data import check_free
    from mggcn.errors import InputError, prefix_errors
    from mggcn.ethereum import BuildInputs, TimeSplit, local_files, parse_as_of, table_files
    from mggcn.ethereum import _build as building
    from mggcn.ethereum import _formats as formats

    roles = None if columns is None else formats.parse_columns(columns)
    until = None if as_of is None else parse_as_of(as_of)
    time_split = TimeSplit.parse(split)
    if engine == "sql":
        from mggcn.ethereum import _sql as sql

        with prefix_errors("--engine sql"):
            print(sql.script(transactions, dialect, roles, as_of=until, any_ids=ids == "text", into=into))  # noqa: T201
        return
    if into is not None:
        raise InputError("--into: only --engine sql creates tables in a database")
    given = {"--columns": columns, "--receipts": receipts, "--blocks": blocks, "--balances": balances, "--as-of": as_of}
    for option, value in given.items():
        if from_tables and value is not None:
            raise InputError(f"{option}: has no effect on exported tables; give it to the script that creates them")
    if out is None:
        raise InputError("--out: the dataset folder to make is missing")
    if not 0 <= max_dropped <= 1:
        raise InputError(f"--max-dropped: {max_dropped:g} is not a share from 0 to 1")
    check_free(out, overwrite=overwrite)
    tables = [receipts, blocks, balances, *transactions]
    with (
        local_files([labels, features], out) as (label_file, feature_file),
        table_files(tables, out, copied=engine != "spark") as (receipt_file, block_file, balance_file, *files),
    ):
        inputs = BuildInputs(
            tuple(file for file in files if file is not None),
            roles,
            receipt_file,
            block_file,
            balance_file,
            until,
            ids == "text",
            max_dropped,
            from_tables,
        )
        built = building.build(
            inputs,
            out,
            labels=label_file,
            engine=engine,
            memory=memory,
            name=name,
            seed=seed,
            background=background,
            time_split=time_split,
            own_features=feature_file,
            stages=stages,
            overwrite=overwrite,
            quiet=quiet,
        )
    print(with_flags("\n".join(_lines(built, out))))  # noqa: T201


def _lines(built: "Built", out: Path) -> list[str]:
    data = built.dataset
    lines = [*built.tally.lines(), ""] if built.tally.dropped else []
    if notes := (*built.tally.notes, *data.notes):
        lines += [*(f"note: {note}" for note in notes), ""]
    if built.labels:
        present = built.labels - built.unknown
        lines.append(f"{present:,} of {built.labels:,} labelled accounts have a transaction")
        if built.background:
            lines.append(f"{built.background:,} unlabelled accounts of similar degrees are the class Background")
        lines += [*_split_lines(data), ""]
    if data.copies:
        lines += [f"{data.copies:,} copies of accounts as of the dates of the split, without edges to others", ""]
    return [*lines, f"{data.name}: {data.num_current:,} accounts, {built.num_edges:,} edges in {out}"]


def _split_lines(data: "Dataset") -> list[str]:
    """The number of accounts of each class in each part of the split."""
    if data.split is None:
        return []
    lines = [f"{'class':<28} {'train':>7} {'val':>7} {'test':>7}"]
    for number, name in enumerate(data.classes):
        parts = (data.split.train, data.split.val, data.split.test)
        lines.append(f"{name:<28} " + " ".join(f"{(data.y[part] == number).sum():>7}" for part in parts))
    return lines
