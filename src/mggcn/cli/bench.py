"""``mggcn bench``: measure picks, preparation and epochs on this machine."""

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
    """Measure this machine: medians with spread, ratios to what bounds them and to peers, a JSON record each.

    Args:
        what: pick, prepare, epoch or all.
        dataset: A known name or a dataset folder.
        scale: The size of reddit-like or ethereum-like; 1 is the paper's.
        device: cpu or cuda.
        peers: Time these too, by commas: pyg (PyTorch Geometric) and dgl.
        peer_python: The interpreter that has the peers, or PEER=PATH; may be given once for each.
        batch_size: Targets a step.
        repeats: How often each figure is taken, after a warm-up.
        steps: Take so many steps for an epoch and scale up.
        peer_steps: The same for peers.
        settings: Change the method's settings, as key=value.
        out: The folder of the records.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
        as_json: End standard output with one line of JSON.
    """
    import json

    from rich.console import Console

    from mggcn.bench import Options
    from mggcn.bench import bench as measure
    from mggcn.bench.options import interpreters
    from mggcn.bench.show import table
    from mggcn.cli.train import check_writable
    from mggcn.methods.settings import pairs

    named = tuple(name.strip() for name in peers.split(",") if name.strip())
    options = Options(
        what=what,
        dataset=dataset,
        scale=scale,
        device=device,
        peers=named,
        peer_python=interpreters(peer_python or [], named),
        batch_size=batch_size,
        repeats=repeats,
        steps=steps,
        peer_steps=peer_steps,
        settings=pairs(settings or []),
        out=out,
        root=root,
    )
    check_writable(out)
    console = Console()

    def show(record: dict[str, Any]) -> None:
        table(record, console)

    records = measure(options, show)
    if as_json:
        print(json.dumps(records))  # noqa: T201
