"""``mggcn ethereum build``: a data set of accounts from tables of transactions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from mggcn.ethereum.build import Built


def build(
    transactions: list[str],
    /,
    *,
    labels: Path | None = None,
    out: Path | None = None,
    engine: Literal["duckdb", "spark", "sql"] = "duckdb",
    dialect: str = "bigquery",
    as_of: str | None = None,
    memory: str = "4GB",
    columns: str | None = None,
    ids: Literal["address", "text"] = "address",
    receipts: Path | None = None,
    blocks: Path | None = None,
    balances: Path | None = None,
    name: str | None = None,
    seed: int = 0,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Build a data set of accounts: a graph, 13 features, labels and a stratified 7:1:2 split.

    The format is told from the columns: ethereum-etl, BigQuery exports, cryo, Etherscan's txlist, XBlock, as Parquet,
    CSV or JSON. Ends with what each rule did to how many rows.

    Args:
        transactions: Files, or folders of files; with --engine sql the name of a table.
        labels: A CSV file with the columns address and label; without it nothing is labelled.
        out: The dataset folder to make; it also gets accounts.parquet and edges.parquet.
        engine: duckdb works in this process, spark on a cluster or this machine; sql only prints the SQL.
        dialect: Of --engine sql: bigquery, snowflake, trino, databricks, clickhouse, duckdb and others.
        as_of: Ignore everything later: a date, which counts to its end, or a time such as 2020-01-31T12:00:00; in UTC.
        memory: How much the engine may use, as in 4GB; at least 500MB.
        columns: The columns of a table in no known format: from=…,to=…,value=…,time=…, with eth=… for a value in ether,
            and optional hash, block, status, error, contract, gas, price, fee, count.
        ids: address wants 0x and 40 digits; text takes any name of an account.
        receipts: ethereum-etl's receipts, for transactions without status and gas used.
        blocks: ethereum-etl's blocks, for transactions without time.
        balances: A table with address and eth_balance (wei), used instead of what the transactions add up to.
        name: What runs call it; ethereum: and the folder's name when left out. Simulated rows put simulated- in it.
        seed: Of the split.
        overwrite: Replace an existing dataset folder.
        quiet: Do not tell the stages.
    """
    from mggcn.ethereum import require

    require("ibis", "ethereum")
    from mggcn.errors import InputError
    from mggcn.ethereum import build as building
    from mggcn.ethereum import formats
    from mggcn.ethereum.pipeline import Inputs

    roles = None if columns is None else formats.parse_columns(columns)
    until = None if as_of is None else building.parse_as_of(as_of)
    if engine == "sql":
        from mggcn.ethereum import sql

        print(sql.script(transactions, dialect, roles, as_of=until, any_ids=ids == "text"))  # noqa: T201
        return
    if out is None:
        raise InputError("--out: the dataset folder to make is missing")
    files = tuple(Path(file) for file in transactions)
    inputs = Inputs(files, roles, receipts, blocks, balances, until, ids == "text")
    built = building.build(
        inputs, out, labels=labels, engine=engine, memory=memory, name=name, seed=seed, overwrite=overwrite, quiet=quiet
    )
    print("\n".join(_lines(built, out)))  # noqa: T201


def _lines(built: "Built", out: Path) -> list[str]:
    from mggcn.ethereum.build import split_lines

    data, graph = built.dataset, built.dataset.graph
    lines = [*built.tally.lines(), ""]
    if built.tally.notes:
        lines += [*(f"note: {note}" for note in built.tally.notes), ""]
    if built.labels:
        known = built.labels - built.unknown
        lines += [f"{known:,} of {built.labels:,} labelled accounts have a transaction", *split_lines(data), ""]
    return [*lines, f"{data.name}: {data.num_nodes:,} accounts, {graph.num_edges:,} edges in {out}"]
