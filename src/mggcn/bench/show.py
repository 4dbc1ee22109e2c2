"""The record of a section as text: amounts, spreads, rows of a table."""

from typing import Any

_LARGE_UNITS = {"B": (2**20, "MiB"), "B/s": (1e9, "GB/s"), "op/s": (1e12, "Tflop/s"), "1/s": (1e6, "M/s")}
_PEERS = {"pyg": "PyG", "dgl": "DGL"}
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (0.0, "µs"))


def amount(value: float, unit: str) -> str:
    """A value with a unit of suitable size."""
    if unit == "s":
        size, name = next((size, name) for size, name in _SECONDS if abs(value) >= size)
        return f"{value / (size or 1e-6):,.3g} {name}" if value < 1000 else f"{value:,.0f} s"
    size, name = _LARGE_UNITS.get(unit, (1.0, unit))
    scaled = value / size
    return f"{scaled:,.0f} {name}" if scaled >= 1000 else f"{scaled:,.3g} {name}"


def times(value: float) -> str:
    """A ratio."""
    return f"{value:,.0f} ×" if value >= 100 else f"{value:.3g} ×"


def spread(figure: dict[str, Any]) -> str:
    """The least and the largest of a figure's repeats, and the number of repeats."""
    if figure["repeats"] == 1:
        return "once"
    low, high = (amount(figure[end], figure["unit"]) for end in ("min", "max"))
    return f"{low} – {high} of {figure['repeats']}"


def figure_rows(record: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Label, median and spread of each figure."""
    rows = []
    for figure in record["figures"].values():
        basis = f" (from {figure['basis']})" if "basis" in figure else ""
        rows.append((figure["label"] + basis, amount(figure["median"], figure["unit"]), spread(figure)))
    return rows


def baseline_rows(record: dict[str, Any]) -> list[tuple[str, ...]]:
    """A head, and for each baseline its epoch here, in each peer, and the faster peer's over ours."""
    rows: list[tuple[str, ...]] = [("baseline", "ours", *_PEERS.values(), "faster peer over ours")]
    for name, facts in record["facts"]["baselines"].items():
        ratios = [record["ratios"][key]["value"] for key in _of_peers(name) if key in record["ratios"]]
        epochs = [_epoch(record, f"{name}_{peer}", facts["peers"].get(peer)) for peer in _PEERS]
        rows.append((facts["label"], _epoch(record, name, {}), *epochs, times(min(ratios)) if ratios else "–"))
    return rows


def _of_peers(name: str) -> list[str]:
    return [f"{name}_{peer}" for peer in _PEERS]


def _epoch(record: dict[str, Any], figure: str, answer: dict[str, Any] | None) -> str:
    """The median of an epoch with the way it was written in, ``absent``, or a dash if it was not to be measured."""
    if figure not in record["figures"]:
        return "–" if answer is None else "absent"
    variant = (answer or {}).get("variant")
    return amount(record["figures"][figure]["median"], "s") + (f" ({variant})" if variant else "")
