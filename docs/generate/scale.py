"""How far it scales: measurements of ``benchmarks/scale.py``, and what follows from them for larger graphs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from generate.repository import ROOT
from mggcn._io.memory import size

RESULTS = ROOT / "benchmarks" / "results" / "scale"
NOT_RUN = "not run yet"
_SAME = {True: "the same", False: "other bytes"}
PICKS = 5
_G, _SIZES = 20_000_000, (1_250_000, 5_000_000, 20_000_000)

Records = Mapping[str, dict[str, Any]]


@dataclass(frozen=True)
class Graph:
    """A graph that was not measured: nodes, stored entries (twice the edges), features, targets of an epoch."""

    name: str
    nodes: int
    entries: int
    features: int
    targets: int


LARGE = (
    Graph("ogbn-papers100M", 111_059_956, 2 * 1_615_685_872, 128, 1_207_179),
    Graph("Ethereum, whole chain", 300_000_000, 2 * 3_000_000_000, 13, 1_000_000),
)


def records() -> Records:
    """The records by the name of their file, such as ``epoch-20000000``."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}


def measurements(found: Records | None = None) -> str:
    """What was required of G, and what was measured."""
    held = records() if found is None else found
    rows = [
        ("import, `--memory 2GB`", "< 6 min, resident < 2.8 GiB, disk < 30 GB", _cell(held, f"import-{_G}", _import)),
        ("preparation", "< 6 min, anonymous < 3 GiB", _cell(held, f"prepare-{_G}", _anonymous)),
        ("one epoch", "< 45 s, anonymous < 2 GiB", _cell(held, f"epoch-{_G}", _anonymous)),
        ("one epoch, 6 GiB left", "< 150 s", _cell(held, f"epoch-{_G}-leave-6GiB", _anonymous)),
        ("one epoch, H200, on the GPU", "< 0.3 s", _cell(held, f"epoch-{_G}-cuda", _on_gpu)),
        ("one epoch, H200, from host memory", "< 10 s", _cell(held, f"epoch-{_G}-cuda-leave-4GiB", _on_gpu)),
        ("all nodes to Parquet", "> 50,000 nodes/s, anonymous < 2 GiB", _cell(held, f"predict-{_G}", _predict)),
    ]
    lines = ["| 20 M nodes, 200 M edges, 64 features | required | measured |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {what} | {required} | {cell} |" for what, required, cell in rows)])


def spark(found: Records | None = None) -> str:
    """What was required of Ethereum builds by Spark, and what was measured."""
    held = records() if found is None else found
    lines = ["| Spark on two cores, four times the rows | required | measured |", "|---|---|---|"]
    rows = [
        ("memory of the Python process", "< 1 GiB, grows < 10 %", _cell(held, "spark", _spark)),
        ("folder", "the bytes of DuckDB's", _cell(held, "spark", lambda record: _SAME[record["same_bytes"]])),
    ]
    return "\n".join([*lines, *(f"| {what} | {required} | {cell} |" for what, required, cell in rows)])


def per_target(found: Records | None = None) -> str:
    """The time of an epoch divided by its targets, by the size of the graph."""
    held = records() if found is None else found
    lines = ["| nodes | targets | per target |", "|---:|---:|---:|"]
    for nodes in _SIZES:
        record = held.get(f"epoch-{nodes}")
        targets = f"{record['details']['targets']:,}" if record else "–"
        lines.append(f"| {nodes:,} | {targets} | {f'{_per_target(record) * 1e6:.1f} µs' if record else NOT_RUN} |")
    return "\n".join(lines)


def derived(found: Records | None = None) -> str:
    """Larger graphs on the same machine, from the rates of the largest measured one."""
    held = records() if found is None else found
    lines = [
        "| graph | preparation | epoch | all nodes scored | disk | rows read per epoch |",
        "|---|---|---|---|---|---|",
    ]
    for graph in LARGE:
        values = graph.nodes * graph.features
        disk = size(4 * values * 3 + 4 * graph.entries)
        rows = graph.targets * (1 + PICKS)
        times = (_preparation(held, graph), _epoch(held, graph), _scoring(held, graph))
        lines.append(f"| {graph.name} | {' | '.join(times)} | {disk} | {rows / 1e6:.1f} M |")
    return "\n".join(lines)


def _preparation(held: Records, graph: Graph) -> str:
    if (record := held.get(f"prepare-{_G}")) is None:
        return NOT_RUN
    work = 2 * record["edges"] * record["features"]
    share = graph.entries * graph.features / work
    return f"{record['seconds']:.0f} s × {share:.2f} = {record['seconds'] * share / 60:.0f} min"


def _epoch(held: Records, graph: Graph) -> str:
    if (record := held.get(f"epoch-{_G}")) is None:
        return NOT_RUN
    each = _per_target(record)
    return f"{graph.targets:,} × {each * 1e6:.1f} µs = {graph.targets * each:.0f} s"


def _scoring(held: Records, graph: Graph) -> str:
    if (record := held.get(f"predict-{_G}")) is None:
        return NOT_RUN
    rate = record["nodes"] / record["seconds"]
    return f"{graph.nodes / 1e6:.0f} M / {rate:,.0f} per s = {graph.nodes / rate / 60:.0f} min"


def _cell(held: Records, name: str, show: Callable[[dict[str, Any]], str]) -> str:
    return show(held[name]) if name in held else NOT_RUN


def _anonymous(record: dict[str, Any]) -> str:
    return f"{record['seconds']:.1f} s, anonymous {size(record['anonymous'])}"


def _on_gpu(record: dict[str, Any]) -> str:
    first = record["details"]["epochs"][0]
    return f"{record['seconds']:.2f} s; the first, which also compiles kernels and loads rows, {first:.0f} s"


def _import(record: dict[str, Any]) -> str:
    return f"{record['seconds']:.1f} s, resident {size(record['resident'])}, disk {record['disk'] / 1e9:.1f} GB"


def _predict(record: dict[str, Any]) -> str:
    return f"{record['nodes'] / record['seconds']:,.0f} nodes/s, anonymous {size(record['anonymous'])}"


def _spark(record: dict[str, Any]) -> str:
    builds = [build for build in record["builds"] if build["engine"] == "spark"]
    rows, memory = (" and ".join(map(show, builds)) for show in (_transactions, _resident))
    return f"{memory} for {rows} rows, grows {record['growth']['spark']:.1%}"


def _transactions(build: dict[str, Any]) -> str:
    return f"{build['transactions']:,}"


def _resident(build: dict[str, Any]) -> str:
    return size(build["resident"])


def _per_target(record: dict[str, Any]) -> float:
    return float(record["seconds"] / record["details"]["targets"])
