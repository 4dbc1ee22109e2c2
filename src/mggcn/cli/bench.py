"""``mggcn bench``: times picks, preparation, epochs and whole trainings on this machine."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter


def bench(
    what: str = "all",
    /,
    *,
    dataset: str = "reddit-like",
    scale: float = 1.0,
    device: str = "cpu",
    peers: str = "",
    peer_python: Annotated[list[str] | None, Parameter(negative=())] = None,
    batch_size: int = 256,
    repeats: int = 5,
    steps: int | None = None,
    peer_steps: int = 24,
    settings: Annotated[list[str] | None, Parameter(name="--set", consume_multiple=True, negative=())] = None,
    out: Path = Path("benchmarks/results"),
    root: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Time picks, preparation, epochs and whole trainings, compare with lower bounds and peers, and write JSON records.

    Args:
        what: pick, prepare, epoch, all of these, or wait: where the time of a complete `mggcn train` goes.
        dataset: A known name or a dataset folder.
        scale: The size of reddit-like or ethereum-like; 1 is the paper's.
        device: cpu or cuda.
        peers: Also time these libraries, separated by commas: pyg (PyTorch Geometric) and dgl.
        peer_python: The interpreter in which the peers are installed, or PEER=PATH once for each.
        batch_size: Targets per step.
        repeats: How often each figure is measured, after a warm-up.
        steps: Measure only this many steps of an epoch and extrapolate.
        peer_steps: The same for peers.
        settings: Change the method's settings, as key=value.
        out: The folder of the records.
        root: The folder of the data sets; else $MGGCN_DATA, else a per-user cache.
        as_json: Print the records as one line of JSON at the end.
    """
    import json

    from mggcn.bench import Options, interpreters
    from mggcn.bench import bench as measure
    from mggcn.files import check_writable
    from mggcn.methods.settings import pairs

    peer_names = tuple(name.strip() for name in peers.split(",") if name.strip())
    options = Options(
        what=what,
        dataset=dataset,
        scale=scale,
        device=device,
        peers=peer_names,
        peer_python=interpreters(peer_python or [], peer_names),
        batch_size=batch_size,
        repeats=repeats,
        steps=steps,
        peer_steps=peer_steps,
        settings=pairs(settings or []),
        out=out,
        root=root,
    )
    check_writable(out)
    records = measure(options, _print)
    if as_json:
        print(json.dumps(records))  # noqa: T201


def _print(record: dict[str, Any]) -> None:
    """Print a record: its figures, its ratios, its notes."""
    from mggcn.bench.show import figure_rows, times
    from mggcn.cli.table import aligned

    data = record["dataset"]
    print(f"{record['what']}: {data['name']}, {data['num_nodes']:,} nodes, {data['num_stored']:,} stored edges")  # noqa: T201
    ratios = [(ratio["label"], times(ratio["value"]), "") for ratio in record["ratios"].values()]
    print(aligned([("figure", "median", "spread"), *figure_rows(record), *ratios], right=(1, 2)))  # noqa: T201
    print("\n".join(record["notes"]))  # noqa: T201
