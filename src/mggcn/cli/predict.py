"""``mggcn predict``: score nodes with a trained run."""

from pathlib import Path
from typing import Literal


def predict(
    run: Path,
    /,
    *,
    out: Path,
    dataset: str | None = None,
    nodes: Path | None = None,
    draws: int = 1,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    root: Path | None = None,
) -> None:
    """Score nodes of the graph a run was trained on, or of a new graph with the same features.

    Args:
        run: A run folder, as `mggcn train` leaves it.
        out: The file to write, predictions.csv or predictions.parquet: id, prediction, one probability per class.
        dataset: A known name or dataset folder; the one the run was trained on when left out.
        nodes: A text file with one node id per line; all nodes when left out.
        draws: Average the probabilities over so many draws of the picks.
        device: auto takes the GPU where there is one.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
    """
    from mggcn import datasets
    from mggcn.errors import InputError
    from mggcn.predictions import check_format
    from mggcn.run import load_run

    check_format(out)
    trained = load_run(run)
    data = datasets.load(dataset, root=root) if dataset else trained.training_data(root)
    chosen = None
    if nodes is not None:
        ids = [line.strip() for line in nodes.read_text().splitlines() if line.strip()]
        if not ids:
            raise InputError(f"{nodes}: holds no node ids")
        try:
            chosen = data.nodes_of(ids)
        except InputError as error:
            raise InputError(f"{nodes}: {error}") from None
    predictions = trained.predict(data, chosen, draws=draws, device=device)
    predictions.save(out)
    print(f"{predictions.nodes.size:,} predictions in {out}")  # noqa: T201
