"""``mggcn ethereum``: collect or simulate transactions, and build data sets of accounts from them; list alerts."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.types import NonNegativeInt, NormFloat

from mggcn.cli.alerts import alerts
from mggcn.cli.case import case
from mggcn.cli.options import Device, Settings, Switch

if TYPE_CHECKING:
    from collections import Counter

    from mggcn.ethereum import Built, MergedLabels, MonthCounts

app = App(name="ethereum", help="From transactions to data sets of accounts, and to a list of alerts.")
app.command(alerts)
app.command(case)

_MOST_SHOWN = 12


@app.command
def build(
    transactions: list[str],
    /,
    *,
    labels: str | None = None,
    verdicts: str | None = None,
    features: str | None = None,
    roles: bool = True,
    out: Path | None = None,
    engine: Literal["duckdb", "spark", "sql"] = "duckdb",
    dialect: str = "bigquery",
    into: str | None = None,
    from_tables: Switch = False,
    as_of: str | None = None,
    split: str = "random",
    memory: str = "4GB",
    stages: str | None = None,
    columns: str | None = None,
    ids: Literal["address", "text"] = "address",
    receipts: str | None = None,
    blocks: str | None = None,
    balances: str | None = None,
    max_dropped: NormFloat = 0.01,
    decimals: int = 18,
    unit: str = "ether",
    name: str | None = None,
    seed: int = 0,
    background: NonNegativeInt = 0,
    overwrite: Switch = False,
    quiet: Switch = False,
) -> None:
    """Build a data set of accounts: a graph, features, labels and a split.

    Reads ethereum-etl, BigQuery exports, cryo, Etherscan's txlist and XBlock, as Parquet, CSV or JSON; the format is
    recognised by the columns. Traces and transfers of ERC-20 tokens become types of edges. At the end it prints how
    many rows each rule dropped or changed.

    Args:
        transactions: Files or folders, here or at s3://, gs:// and hdfs:// addresses, which Spark reads in place and
            DuckDB copies first; with --engine sql, the name of a table.
        labels: A CSV file with the columns address and label; without it no account is labelled.
        verdicts: A CSV file with the columns address, verdict (confirmed, false alarm, unsure), date, name of the
            analyst, and label, the class of a confirmed account. A false alarm is in the class Background, an unsure
            account has no label. A verdict counts from its date on, before the label.
        features: A table (CSV, Parquet, JSON lines) with the column address; its other columns become features next to
            those of accounts. With a column as_of of dates, an account may have several rows; the latest that is not
            later than the date of its features counts. --split time:… needs it.
        roles: Add two features to the thirteen: whether an account never received, and whether it never sent.
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
        decimals: The digits after the point of the chain's own unit: values are whole numbers of 10^-decimals units.
        unit: The name of that unit, for reasons and pages.
        name: The name of the data set; by default ethereum: and the folder's name. Simulated data get simulated- in it.
        seed: The seed of the split and of --background.
        background: Label this many unlabelled accounts as a class Background, drawn with degrees like those of labelled
            accounts, so that a model learns what is in no class; 0 for none. A hash of seed and address selects them.
        overwrite: Replace an existing dataset folder.
        quiet: Do not print the stages.
    """
    from mggcn.errors import require

    require("ibis", "ethereum")
    from mggcn import ethereum
    from mggcn.cli.options import with_flags
    from mggcn.errors import InputError, prefix_errors
    from mggcn.ethereum import BuildInputs, TimeSplit, parse_as_of, parse_columns

    inputs = BuildInputs(
        tuple(transactions),
        None if columns is None else parse_columns(columns),
        receipts,
        blocks,
        balances,
        None if as_of is None else parse_as_of(as_of),
        ids == "text",
        max_dropped,
        from_tables,
        decimals,
        unit,
    )
    time_split = TimeSplit.parse(split)
    if engine == "sql":
        with prefix_errors("--engine sql"):
            print(ethereum.sql_script(inputs, dialect, into=into))
        return
    if into is not None:
        raise InputError("--into: only --engine sql creates tables in a database")
    unused = {"columns": columns, "receipts": receipts, "blocks": blocks, "balances": balances, "as-of": as_of}
    for option, value in unused.items() if from_tables else ():
        if value is not None:
            raise InputError(f"--{option}: has no effect on exported tables; give it to the script that creates them")
    if out is None:
        raise InputError("--out: the dataset folder to make is missing")
    built = ethereum.build(
        inputs,
        out,
        labels=labels,
        verdicts=verdicts,
        engine=engine,
        memory=memory,
        name=name,
        seed=seed,
        background=background,
        time_split=time_split,
        own_features=features,
        roles=roles,
        stages=stages,
        overwrite=overwrite,
        quiet=quiet,
    )
    print(with_flags("\n".join(_build_lines(built, out))))


def _build_lines(built: "Built", out: Path) -> list[str]:
    from mggcn.cli.display import aligned

    data = built.dataset
    lines = [*built.tally.lines(), ""] if built.tally.dropped else []
    if notes := (*built.tally.notes, *data.notes):
        lines += [*(f"note: {note}" for note in notes), ""]
    if built.labels:
        present = built.labels - built.unknown
        lines.append(f"{present:,} of {built.labels:,} labelled accounts have a transaction")
        if built.background:
            lines.append(f"{built.background:,} unlabelled accounts of similar degrees are the class Background")
        if data.split is not None:
            parts = data.split.parts()
            rows = [["class", *parts]]
            for number, name in enumerate(data.classes):
                rows.append([name, *(str((data.y[nodes] == number).sum()) for nodes in parts.values())])
            lines.append(aligned(rows, right=(1, 2, 3)))
        lines.append("")
    if data.copies:
        lines += [f"{data.copies:,} copies of accounts as of the dates of the split, without edges to others", ""]
    return [*lines, f"{data.name}: {data.num_current:,} accounts, {built.num_edges:,} edges in {out}"]


@app.command
def replay(
    transactions: list[str],
    /,
    *,
    labels: Path,
    out: Path,
    top: str,
    start: Annotated[str, Parameter(name="--from")],
    until: str,
    method: str = "mg-gcn",
    settings: Settings = None,
    background: NonNegativeInt = 2000,
    seed: int = 0,
    columns: str | None = None,
    ids: Literal["address", "text"] = "address",
    memory: str = "4GB",
    device: Device = "auto",
) -> None:
    """Replay a history month by month: what a queue of alerts would have been worth to an analyst.

    At the end of each month a model is trained on what was known, the accounts with the highest probability of a class
    are listed, and what the labels say of them is revealed; an account without a label is a false alarm. Two other
    queues are beside it: of the model of the start, and at random. Started again, it continues.

    Args:
        transactions: Files or folders, as for build.
        labels: A CSV file with the columns address and label, of the whole history.
        out: The folder to write: replay.html with a chart, table.md, replay.json, and the alerts of each month.
        top: CLASS:K lists the K accounts with the highest probability of a class.
        start: The month, such as 2017-08, until whose end the labels of all accounts seen are known.
        until: The last month.
        method: The method to train, see `mggcn methods`.
        settings: Change settings, as key=value.
        background: The number of accounts in the class Background, besides false alarms; see build.
        seed: Of the draws and of training.
        columns: As for build.
        ids: As for build.
        memory: The memory limit of a build.
        device: auto takes the GPU if there is one.
    """
    from mggcn.errors import InputError, require

    require("ibis", "ethereum")
    from mggcn import ethereum
    from mggcn.methods.settings import pairs

    label, colon, count = top.rpartition(":")
    if not colon or not (count.isascii() and count.isdigit()):
        raise InputError(f"--top: {top!r} is not of the form CLASS:K")
    inputs = ethereum.BuildInputs(
        tuple(transactions),
        None if columns is None else ethereum.parse_columns(columns),
        any_ids=ids == "text",
    )
    changed = pairs(settings or [])
    result = ethereum.replay(
        inputs,
        out,
        labels=labels,
        settings=ethereum.ReplaySettings(label, int(count), start, until, method, changed, background, seed),
        memory=memory,
        device=device,
        on_month=lambda month: print(_month_line(month, label), flush=True),
    )
    ethereum.save_replay(result, out)
    print(f"\n{ethereum.replay_by_year(result).markdown()}\n\nchart and tables in {out / 'replay.html'}")


def _month_line(month: "MonthCounts", label: str) -> str:
    counts = ", ".join(f"{queue} {found} of {month.listed[queue]}" for queue, found in month.found.items())
    return f"{month.month}: {counts} are {label}, {month.to_find:,} were to find among {month.accounts:,} accounts"


@app.command
def crawl(
    *,
    labels: Path,
    out: Path,
    two_hop: float = 0.1,
    seed: int = 0,
    rate: float = 3.0,
    base_url: str | None = None,
    max_accounts: int | None = None,
    max_transactions: int | None = None,
    chain: Annotated[int, Parameter(name="--chain-id")] = 1,
    internal: Switch = False,
    quiet: Switch = False,
) -> None:
    """Fetch the transactions of labelled accounts, and of a random part of their neighbours, from Etherscan.

    The API key is read from the environment variable ETHERSCAN_API_KEY. To continue a crawl that stopped, run the same
    command again. The resulting folder is an input of mggcn ethereum build.

    Args:
        labels: A CSV file with a column address, such as mggcn ethereum labels writes; its labels are not used.
        out: The folder for transactions.jsonl and the journal of the crawl.
        two_hop: The part of the labelled accounts' neighbours whose transactions are fetched too, 0 to 1.
        seed: Selects that part.
        rate: Calls per second; Etherscan's free plan allows 3.
        base_url: The address of the API; by default Etherscan's API, version 2.
        max_accounts: The largest number of accounts to fetch in all.
        max_transactions: The largest number of transactions to fetch for one account, rounded up to pages of 1,000.
        chain: The number of the chain; 1 is Ethereum's mainnet.
        internal: Also fetch internal transactions, which contracts made, into the folder internal; needs a second call
            for each account.
        quiet: Show no progress.
    """
    from mggcn import ethereum
    from mggcn.cli.display import StageDisplay

    accounts = ethereum.addresses(labels)
    shown = StageDisplay(quiet=quiet)
    key, url = ethereum.key_from_environment(), base_url or ethereum.ETHERSCAN_URL
    client = ethereum.Etherscan(key, rate, url, chain=chain, on_pause=shown.note)
    with closing(client) as api, shown:
        crawled = ethereum.crawl(
            api,
            accounts,
            out,
            two_hop=two_hop,
            seed=seed,
            max_accounts=max_accounts,
            max_transactions=max_transactions,
            internal=internal,
            on_progress=shown.update,
        )
    by_contracts = f" and {crawled.internal:,} internal transactions" if internal else ""
    lines = [
        f"{crawled.records:,} transactions{by_contracts} in {out}",
        "labelled accounts {:,} of {:,}".format(*crawled.labelled),
        "their neighbours  {:,} of {:,} selected".format(*crawled.neighbours),
        f"calls             {crawled.calls:,}, of which {crawled.retries:,} repeated a failed call",
    ]
    if crawled.cut:
        lines.append(f"cut short         {crawled.cut:,} accounts with {max_transactions or 0:,} transactions or more")
    print("\n".join(lines))


@app.command
def labels(lists: list[str], /, *, out: Path, overwrite: Switch = False) -> None:
    """Merge lists of labelled addresses into the classes ICO, Converter, Exchange, Mining, Gambling and Phish.

    ICO: addresses labelled ico-wallets. Converter: addresses labelled bancor with Converter in their name. Exchange,
    Mining and Gambling: addresses with the label of that name. Phish: addresses labelled phish-hack with Fake_Phishing
    in their name. An address of two classes is left out and listed in a file of conflicts beside the labels.

    Args:
        lists: Files: JSON of {address: {name, labels}}, CSV with a column address, or text with one address per line,
            given as in Phish=FILE. A CSV without a column label has the label of its file name, or of its folder if
            the file is all.csv.
        out: The CSV file to write, with the columns address and label.
        overwrite: Replace existing files, but never one of the lists.
    """
    from mggcn.ethereum import merge_labels, parse_list, write_labels

    merged = merge_labels(parse_list(text) for text in lists)
    conflicts = write_labels(merged, out, overwrite=overwrite)
    print("\n".join(_label_lines(merged, out, conflicts)))


def _label_lines(merged: "MergedLabels", out: Path, conflicts: Path) -> list[str]:
    from mggcn.cli.display import aligned

    names = list(merged.counts)
    rows = [["", *names, ""]]
    rows += [[path.name, *(f"{counts[name]:,}" for name in names), ""] for path, counts in merged.by_file.items()]
    rows.append([out.name, *(f"{merged.counts[name]:,}" for name in names), f"{len(merged.classes):,} in all"])
    lines = [aligned(rows, right=range(1, len(names) + 2))]
    if merged.conflicts:
        lines.append(f"{len(merged.conflicts):,} addresses of two classes are left out, see {conflicts}")
    if merged.unnamed:
        lines.append(f"names without Converter or Fake_Phishing, left out: {_most_common(merged.unnamed)}")
    if merged.dropped:
        lines.append(f"labels of no class, left out, the most frequent: {_most_common(merged.dropped)}")
    if merged.foreign:
        lines.append(f"{len(merged.foreign):,} entries of other chains, left out; the first in {merged.foreign[0]}")
    return lines


def _most_common(counts: "Counter[str]") -> str:
    return ", ".join(f"{label} {count:,}" for label, count in counts.most_common(_MOST_SHOWN))


@app.command
def simulate(
    *,
    out: Path,
    scale: float = 1.0,
    seed: int = 0,
    labels: Path | None = None,
    overwrite: Switch = False,
) -> None:
    """Simulate transactions of accounts like those of the paper's six classes. These are not real data.

    The file has those columns of ethereum-etl that build reads, and its metadata say that it is simulated.

    Args:
        out: The Parquet file to write, named .parquet or .pq.
        scale: 1 is the size of the paper's data: 1.4 million accounts, 2.8 million edges, 816 labels.
        seed: The same seed and scale give the same rows.
        labels: The CSV file of labels to write; by default beside the Parquet file.
        overwrite: Replace existing files.
    """
    from mggcn import ethereum
    from mggcn.cli.display import Display

    labels = labels or out.parent / f"{out.stem}.labels.csv"
    with Display(transient=True) as shown:
        simulation = ethereum.simulate(
            out,
            labels=labels,
            scale=scale,
            seed=seed,
            overwrite=overwrite,
            on_progress=lambda rows, total: shown.bar("simulating", rows, total),
        )
    counts = ", ".join(f"{name} {count:,}" for name, count in simulation.labels.items())
    print(
        f"{out}: SIMULATED, {simulation.transactions:,} transactions, {simulation.accounts:,} accounts, "
        f"{simulation.edges:,} edges\n"
        f"{labels}: labels of simulated accounts, {counts}"
    )
