"""``mggcn ethereum simulate``: simulated transactions, because the paper's data were never published."""

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
    """Simulate transactions of accounts like those of the paper's six classes. These are not real data.

    The file has the columns of ethereum-etl's transactions, and its metadata say that it is simulated.

    Args:
        out: The Parquet file to write, named .parquet or .pq.
        scale: 1 is the size of the paper's data: 1.4 million accounts, 2.8 million edges, 816 labels.
        seed: The same seed and scale give the same rows.
        labels: The CSV file of labels to write; by default beside the Parquet file.
        overwrite: Replace existing files.
    """
    from mggcn.cli import display
    from mggcn.ethereum import simulate

    labels = labels or out.parent / f"{out.stem}.labels.csv"
    with display.Display(transient=True) as shown:
        simulation = simulate(
            out,
            labels=labels,
            scale=scale,
            seed=seed,
            overwrite=overwrite,
            on_progress=lambda rows, total: shown.bar("simulating", rows, total),
        )
    counts = ", ".join(f"{name} {count:,}" for name, count in simulation.labels.items())
    print(  # noqa: T201
        f"{out}: SIMULATED, {simulation.transactions:,} transactions, {simulation.accounts:,} accounts, "
        f"{simulation.edges:,} edges\n"
        f"{labels}: labels of simulated accounts, {counts}"
    )
