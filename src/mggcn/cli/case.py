"""``mggcn ethereum case``: the case file of an account."""

from pathlib import Path
from typing import Literal

from cyclopts.types import NormFloat

from mggcn.cli.options import Switch


def case(
    address: str,
    transactions: list[str],
    /,
    *,
    out: Path,
    labels: Path | None = None,
    run: Path | None = None,
    dataset: str | None = None,
    as_of: str | None = None,
    memory: str = "4GB",
    columns: str | None = None,
    ids: Literal["address", "text"] = "address",
    receipts: str | None = None,
    blocks: str | None = None,
    max_dropped: NormFloat = 0.01,
    root: Path | None = None,
    allow_import: Switch = False,
) -> None:
    """Write the case file of an account: its transactions, who paid it and whom it paid over two hops, and its score.

    The page needs no network. The rows of the files are kept, dropped and changed by the rules of build, and all
    amounts are exact. The same facts are written as JSON beside the page, and the transactions as CSV.

    Args:
        address: The account, with or without 0x, in any case.
        transactions: Files or folders, as for build.
        out: The page to write, *.html; *.json and *.csv are written beside it.
        labels: A CSV file with the columns address and label; default: the labels of the data set of --run.
        run: A run folder, as written by `mggcn train`, that gives scores and reasons.
        dataset: A known name or dataset folder in which the run finds the accounts; default: the data set it was
            trained on.
        as_of: Ignore later transactions. A date (included to its end) or a time such as 2020-01-31T12:00:00, in UTC.
        memory: The memory limit of DuckDB, such as 4GB; at least 500MB.
        columns: The columns of a table in no known format, as for build.
        ids: address requires 0x and 40 hexadecimal digits; text accepts any name of an account.
        receipts: ethereum-etl's receipts, for transactions without status and gas used.
        blocks: ethereum-etl's blocks, for transactions without time.
        max_dropped: The largest share of rows that may be dropped because they cannot be read.
        root: The folder of data sets; default: $MGGCN_DATA, else a per-user cache.
        allow_import: Allow the run to import the Python code that it names.
    """
    from mggcn.errors import InputError, require

    require("ibis", "ethereum")
    from mggcn import ethereum
    from mggcn.cli.options import with_flags
    from mggcn.ethereum import BuildInputs, parse_as_of, parse_columns

    ethereum.check_case(out)
    if dataset is not None and run is None:
        raise InputError("dataset: has an effect only with run=…")
    trained = data = None
    if run is not None:
        from mggcn.data import load
        from mggcn.runs import load_run

        trained = load_run(run, allow_import=allow_import, root=root)
        data = load(dataset, root=root) if dataset is not None else None
    inputs = BuildInputs(
        tuple(transactions),
        None if columns is None else parse_columns(columns),
        receipts,
        blocks,
        as_of=None if as_of is None else parse_as_of(as_of),
        any_ids=ids == "text",
        max_dropped=max_dropped,
    )
    found = ethereum.case(
        address, inputs, labels=labels, run=trained, dataset=data, memory=memory, folder=out.absolute().parent
    )
    page, facts, rows = ethereum.save_case(found, out)
    print(with_flags("\n".join([*ethereum.findings(found), "", f"{page}, {facts}, {rows}"])))
