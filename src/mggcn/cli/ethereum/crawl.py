"""``mggcn ethereum crawl``: the transactions of labelled accounts and their neighbours, from Etherscan."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


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
    chain_id: int = 1,
    internal: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(negative=())] = False,
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
        chain_id: The number of the chain; 1 is Ethereum's mainnet.
        internal: Also fetch internal transactions, which contracts made, into the folder internal; needs a second call
            for each account.
        quiet: Show no progress.
    """
    from mggcn.cli.display import StageDisplay
    from mggcn.ethereum import _etherscan as etherscan
    from mggcn.ethereum import addresses, crawl

    accounts = addresses(labels)
    shown = StageDisplay(quiet=quiet)
    client = etherscan.Etherscan(
        etherscan.key_from_environment(), rate, base_url or etherscan.URL, chain=chain_id, on_pause=shown.note
    )
    with closing(client) as api, shown:
        crawled = crawl(
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
    lines = [
        f"{crawled.records:,} transactions"
        + (f" and {crawled.internal:,} internal transactions" if internal else "")
        + f" in {out}",
        "labelled accounts {:,} of {:,}".format(*crawled.labelled),
        "their neighbours  {:,} of {:,} selected".format(*crawled.neighbours),
        f"calls             {crawled.calls:,}, of which {crawled.retries:,} repeated a failed call",
    ]
    if crawled.cut:
        lines.append(f"cut short         {crawled.cut:,} accounts with {max_transactions or 0:,} transactions or more")
    print("\n".join(lines))  # noqa: T201
