"""``mggcn bench``: times picks, preparation, epochs, whole trainings and baselines on this machine."""

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
    methods: str = "",
    settings: Annotated[list[str] | None, Parameter(name="--set", consume_multiple=True, negative=())] = None,
    out: Path = Path("benchmarks/results"),
    root: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Time picks, preparation, epochs and whole trainings, compare with lower bounds and peers, and write JSON records.

    Args:
        what: pick, prepare, epoch, all of these, wait (where the time of a complete `mggcn train` goes), or baselines
            (epochs of the methods that PyTorch Geometric or DGL have, too, in this library and in theirs).
        dataset: A known name or a dataset folder.
        scale: The size of reddit-like or ethereum-like; 1 is the paper's.
        device: cpu or cuda.
        peers: Also time these libraries, separated by commas: pyg (PyTorch Geometric) and dgl.
        peer_python: The interpreter in which the peers are installed, or PEER=PATH once for each.
        batch_size: Targets per step.
        repeats: How often each figure is measured, after a warm-up.
        steps: Measure only this many steps of an epoch and extrapolate.
        peer_steps: The same for peers.
        methods: Of the baselines only these, separated by commas: gcn, graphsage-mean, cluster-gcn, graphsaint, sgc,
            sign, node2vec.
        settings: Change the settings of the method, or of every baseline that has them, as key=value.
        out: The folder of the records.
        root: The folder of the data sets; else $MGGCN_DATA, else a per-user cache.
        as_json: Print the records as one line of JSON at the end.
    """
    import json

    from mggcn.bench import Options, interpreters
    from mggcn.bench import bench as measure
    from mggcn.files import check_writable
    from mggcn.methods.settings import pairs

    peer_names = _names(peers)
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
        methods=_names(methods),
        settings=pairs(settings or []),
        out=out,
        root=root,
    )
    check_writable(out)
    records = measure(options, _print)
    if as_json:
        print(json.dumps(records))  # noqa: T201


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _print(record: dict[str, Any]) -> None:
    """Print a record: its figures, its ratios, its notes."""
    from mggcn.bench.show import baseline_rows, figure_rows, times
    from mggcn.cli.table import aligned

    data = record["dataset"]
    print(f"{record['what']}: {data['name']}, {data['num_nodes']:,} nodes, {data['num_stored']:,} stored edges")  # noqa: T201
    if record["what"] == "baselines":
        print(aligned(baseline_rows(record), right=(1, 2, 3, 4)))  # noqa: T201
        print("\n".join(record["notes"]))  # noqa: T201
        return
    ratios = [(ratio["label"], times(ratio["value"]), "") for ratio in record["ratios"].values()]
    print(aligned([("figure", "median", "spread"), *figure_rows(record), *ratios], right=(1, 2)))  # noqa: T201
    print("\n".join(record["notes"]))  # noqa: T201
