"""``mggcn ethereum crawl``: the transactions of labelled accounts and their neighbours, from Etherscan."""

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
    quiet: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Fetch the transactions of labelled accounts, and of a random part of their neighbours, from Etherscan.

    The key is read from the environment variable ETHERSCAN_API_KEY. A crawl that stopped goes on where it was when the
    same command is given again; then mggcn ethereum build reads the folder.

    Args:
        labels: A CSV file with a column address, such as mggcn ethereum labels writes; labels are not looked at.
        out: The folder for transactions.jsonl and the journal of what is fetched.
        two_hop: The part of the labelled accounts' neighbours whose transactions are fetched too, 0 to 1.
        seed: Of that part.
        rate: Calls a second; the free plan allows 3.
        base_url: Where the API is; Etherscan's version 2 when left out.
        max_accounts: The most accounts to fetch in all.
        max_transactions: The most transactions to fetch of one account, to the next full page of 1,000.
        quiet: Show no progress.
    """
    from mggcn.ethereum import etherscan
    from mggcn.ethereum.crawl import crawl
    from mggcn.ethereum.crawl_progress import following
    from mggcn.ethereum.labels_read import addresses

    accounts = addresses(labels)
    api = etherscan.Etherscan(etherscan.key_from_environment(), rate, base_url or etherscan.URL)
    with following(quiet=quiet) as follow:
        done = crawl(
            api,
            accounts,
            out,
            two_hop=two_hop,
            seed=seed,
            max_accounts=max_accounts,
            max_transactions=max_transactions,
            follow=follow,
        )
    lines = [
        f"{done.records:,} transactions in {out}",
        "labelled accounts {:,} of {:,}".format(*done.labelled),
        "their neighbours  {:,} of {:,} chosen".format(*done.neighbours),
        f"calls             {done.calls:,}, of which {done.retries:,} were tried again",
    ]
    if done.cut:
        lines.append(f"cut short         {done.cut:,} accounts with {max_transactions or 0:,} transactions or more")
    print("\n".join(lines))  # noqa: T201
