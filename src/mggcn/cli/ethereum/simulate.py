"""``mggcn ethereum simulate``: transactions of agents, in place of data that were never published."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def simulate(
    *,
    out: Path,
    scale: float = 1.0,
    seed: int = 0,
    labels: Path | None = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Simulate transactions of accounts like the paper's six classes; a simulation, not real data.

    The file has the columns of ethereum-etl's transactions and says in its metadata that it is simulated.

    Args:
        out: The Parquet file to write, named .parquet or .pq.
        scale: 1 has the size of the paper's data: 1.4 million accounts, 2.8 million edges, 816 labels.
        seed: The same seed and scale give the same rows.
        labels: The CSV file of labels to write; beside the Parquet file when left out.
        overwrite: Replace existing files.
    """
    from rich.console import Console
    from rich.progress import Progress

    from mggcn.ethereum.simulate import simulate

    labels = labels or out.parent / f"{out.stem}.labels.csv"
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("simulating", total=None)
        done = simulate(
            out,
            labels=labels,
            scale=scale,
            seed=seed,
            overwrite=overwrite,
            follow=lambda rows, total: progress.update(task, completed=rows, total=total),
        )
    counts = ", ".join(f"{name} {count:,}" for name, count in done.labels.items())
    print(  # noqa: T201
        f"{out}: SIMULATED, {done.transactions:,} transactions, {done.accounts:,} accounts, {done.edges:,} edges\n"
        f"{labels}: labels of simulated accounts, {counts}"
    )
