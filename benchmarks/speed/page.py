"""Records as text: ``python -m benchmarks.speed.page`` writes ``docs/speed.md`` from ``benchmarks/results``."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "speed.md"

_LARGE_UNITS = {"B": (2**20, "MiB"), "B/s": (1e9, "GB/s"), "op/s": (1e12, "Tflop/s"), "1/s": (1e6, "M/s")}
_LIBRARIES = {"pyg": "PyG", "dgl": "DGL"}
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (0.0, "µs"))

_ORDER = ("pick", "prepare", "epoch", "baselines", "wait")
_TITLES = {
    "pick": "Picks",
    "prepare": "Preparation",
    "epoch": "Epochs",
    "baselines": "Baselines",
    "wait": "The whole wait",
}
_WORDS = {
    "pick": (
        "Picks are S(v) of the paper's Algorithm 1 for every training node. *Enumeration* lists all candidates "
        "for every pick and marks them in an array as long as the graph; with *the list kept*, it reads every "
        "neighbourhood once per target; *the kernel's own enumeration*, its fallback, needs no such array and "
        "searches rows instead. The kernel draws from the same distribution by exact rejection. To show how the "
        "cost depends on the degrees, edges are removed at random until an eighth, a quarter and a half remain. The "
        "same for a few targets, whose rows stay in a core's own cache, shows what the kernel computes; what a pick "
        "among all targets takes beyond that is waiting for memory, of which a graph with more edges has more."
    ),
    "prepare": (
        "Preparation happens once before training: the mean over all neighbours of every node. It reads one "
        "feature row per stored edge; the *streaming read* reads a large array from start to end with the same "
        "number of threads. Rows that are still in a cache can make the mean faster than the memory."
    ),
    "epoch": (
        "An epoch includes everything: new picks, gathers, forward pass, backward pass, Adam. The *bare products* "
        "are what every implementation needs: the gather of the input rows, X·W and Xᵀ·G, timed alternately with "
        "the epochs in the same run, with buffers created beforehand. Peak memory is the largest resident size of "
        "the process (`VmHWM`), including mapped files; on a GPU, the memory allocated by torch there. Another library "
        "trains on the same graph and nodes, with the same batch size, hidden width and threads, in a separate "
        "process; its epoch is extrapolated from some steps."
    ),
    "baselines": (
        "A comparison with MG-GCN is fair only if no baseline is slow through our fault. Methods that PyTorch "
        "Geometric or DGL have, too, are timed here and there in one run: on the same graph and training nodes, with "
        "the same hidden width, batches, samples, optimiser and threads, and two layers. Only epochs are compared; "
        "partitions, propagated features and the sums of our full-batch GCN's first layer are computed before. "
        "Where a method of another library can be written in several "
        "ways, all are measured and the fastest counts; it is named in brackets. A ratio of 1 or more means that ours "
        "is at least as fast as the faster library. Some differences remain. Sparse features of citation graphs stay "
        "sparse here and are dense there. GraphSAINT's walks start at all nodes of the training graph there, and "
        "DGL's has no normalisation, for which constant weights stand. An epoch of node2vec is all walks from every "
        "node; here a step scores all pairs of a walk by one product and shares its random nodes; the windows of "
        "other libraries hold about half of the pairs, each with random nodes of its own."
    ),
    "wait": (
        "What a user waits for: a complete `mggcn train` with the paper's settings or, where it says so, with the "
        "default recipe, alone or with its portfolio, from the start of Python to the end of the process, with its "
        "page. The *first run* finds no compiled kernel, a *later run* those of the "
        "first. Phases do not overlap: compiling a kernel in the first epoch counts as compiling."
    ),
}
_FIRST: dict[str, dict[str, tuple[str, ...]]] = {
    "cpu": {"pick": ("all_threads",), "prepare": ("mean",), "epoch": ("epoch",), "wait": ("beyond",)},
    "cuda": {"pick": ("device",), "prepare": ("device", "mean"), "epoch": ("epoch",), "wait": ("beyond",)},
}
_MOST: tuple[tuple[Any, ...], ...] = (
    ("wait", "pubmed", "cpu", "recipe", "beyond", 8.0),
    ("wait", "pubmed", "cpu", "default", "beyond", 20.0),
    ("epoch", "reddit-like", "cpu", "recipe", "floor", 1.15),
    ("epoch", "pubmed", "cpu", "recipe", "floor", 1.5),
    ("epoch", "cora", "cpu", "recipe", "floor", 1.2),
    ("wait", "reddit-like", "cuda", "beyond", 5.0),
    ("wait", "pubmed", "cpu", "beyond", 6.0),
    ("epoch", "reddit-like", "cuda", "epoch", 0.018),
    ("epoch", "reddit-like", "cuda", "epoch_bf16", 0.018),
    ("epoch", "reddit-like", "cuda", "epoch_large", 0.0055),
    ("epoch", "reddit-like", "cuda", "epoch_large_bf16", 0.0055),
    ("baselines", "reddit-like", "cuda", "gcn", 0.012),
    ("epoch", "reddit-like", "cpu", "floor", 1.15),
    ("epoch", "pubmed", "cpu", "floor", 1.5),
    ("epoch", "cora", "cpu", "floor", 1.2),
    ("pick", "reddit-like", "cpu", "growth", 1.3),
)
_LEAST: tuple[tuple[Any, ...], ...] = (
    ("epoch", "reddit-like", "cpu", "pyg", 31.0),
    ("epoch", "reddit-like", "cpu", "dgl", 29.0),
    ("epoch", "reddit-like", "cpu", "pyg_cluster", 1.2),
)
"""What we aim at: the section, the data set, the device, if not the paper's the settings, a ratio or else a figure in
seconds, and its bound."""
_SETTINGS = {"recipe": "default recipe", "default": "default with its portfolio"}
_HEAD = """# Speed

Generated by `python -m benchmarks.speed.page` from the records in `benchmarks/results`. Every figure is a median, with
the least and the largest of its repeats; a figure that was extrapolated from a part is marked. Run the commands
to make the same page for your machine. *Load before* is the number of processes that needed a core in the minute
before, and *other processes* how many cores they used on average while it was measured; if there are fewer cores than
that and the measurement need, times are too long and ratios less reliable. Aims count as reached by the median.
"""


def page(records: Iterable[dict[str, Any]]) -> str:
    """The page that shows these records."""
    held = list(records)
    parts = [_HEAD, *_glance(held), *_aims(held)]
    for what in _ORDER:
        shown = sorted((record for record in held if record["what"] == what), key=_rank)
        if shown:
            chart = ["<!-- insert: wait -->\n"] if what == "wait" else []
            parts += [f"## {_TITLES[what]}\n", _WORDS[what] + "\n", *chart, *(section_of(record) for record in shown)]
    return "\n".join(parts)


def _glance(records: list[dict[str, Any]]) -> list[str]:
    """A table with one line per record: its main figure and its ratios."""
    rows = ["| what | data set | on | median | |", "|---|---|---|---:|---|"]
    for what in _ORDER:
        for record in sorted((record for record in records if record["what"] == what), key=_rank):
            if what == "baselines":
                continue
            name = next(name for name in _FIRST[record["device"]][what] if name in record["figures"])
            figure = record["figures"][name]
            ratios = "; ".join(f"{times(ratio['value'])} {ratio['label']}" for ratio in record["ratios"].values())
            on = record["machine"].get("gpu", f"{record['threads']['torch']} cores")
            data = f"{_data(record)} ({record['dataset']['num_nodes']:,} nodes)"
            rows.append(
                f"| {figure['label']} | {data} | {on} | {amount(figure['median'], figure['unit'])} | {ratios} |"
            )
    return ["\n".join(rows) + "\n"] if records else []


def _aims(records: list[dict[str, Any]]) -> list[str]:
    """A table of what we aim at and what was measured."""
    whole = [record for record in records if record["dataset"]["scale"] == 1]
    held = {
        (record["what"], record["dataset"]["name"], record["device"], *_variant(record)): record for record in whole
    }
    rows = []
    for aims, word in ((_MOST, "at most"), (_LEAST, "at least")):
        for *place, name, bound in aims:
            record = held.get(tuple(place))
            if record is None:
                continue
            is_ratio = name in record["ratios"]
            part = record["ratios" if is_ratio else "figures"][name]
            value = part["value" if is_ratio else "median"]
            aim, measured = (times(bound), _precisely(value)) if is_ratio else (amount(bound, "s"), amount(value, "s"))
            is_reached = value <= bound if word == "at most" else value >= bound
            rows.append(_aim(record, part["label"], f"{word} {aim}", measured, is_reached))
    for record in records:
        if record["what"] == "baselines" and record["ratios"]:
            least = min(record["ratios"].values(), key=lambda ratio: ratio["value"])
            label = f"every baseline; least: {least['label']}"
            rows.append(_aim(record, label, "at least 1 ×", _precisely(least["value"]), least["value"] >= 1))
    if not rows:
        return []
    head = ["| what we aim at | data set | on | aim | measured | |", "|---|---|---|---:|---:|---|"]
    words = "Where an aim is missed, the section of the measurement shows where the time goes."
    return ["## Aims\n", words + "\n", "\n".join([*head, *rows]) + "\n"]


def _variant(record: dict[str, Any]) -> tuple[str, ...]:
    """What names the settings of a record; empty for the paper's."""
    return (record["variant"],) if "variant" in record else ()


def _data(record: dict[str, Any]) -> str:
    """The name of the data set, and of the settings unless they are the paper's."""
    return ", ".join([record["dataset"]["name"], *(_SETTINGS[name] for name in _variant(record))])


def _precisely(ratio: float) -> str:
    """With two decimals, so that a ratio just below its aim does not look like the aim."""
    return f"{ratio:,.2f} ×"


def _aim(record: dict[str, Any], label: str, aim: str, measured: str, is_reached: bool) -> str:
    data, scale = _data(record), record["dataset"]["scale"]
    on = record["machine"].get("gpu", f"{record['threads']['torch']} cores")
    name = data if scale == 1 else f"{data}:{scale:g}"
    return f"| {label} | {name} | {on} | {aim} | {measured} | {'reached' if is_reached else 'missed'} |"


def read(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """The records of measurements in a folder."""
    records = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return [record for record in records if record.get("what") in _ORDER]


def _rank(record: dict[str, Any]) -> tuple[str, int, str, tuple[str, ...]]:
    return record["device"], -record["dataset"]["num_nodes"], record["dataset"]["name"], _variant(record)


def section_of(record: dict[str, Any]) -> str:
    """A record as Markdown: its figures, its ratios, its notes."""
    data = record["dataset"]
    size = f"{data['num_nodes']:,} nodes, {data['num_stored']:,} stored edges, {data['num_features']:,} features"
    lines = [
        f"### {_data(record)}, {_machine(record)}\n",
        f"{size}, {data['num_train']:,} training nodes. {_sentence(data['source'])}\n",
        f"```console\n{record['command']}\n```\n",
        *(_baselines(record) if record["what"] == "baselines" else [*_figures(record), *_ratios(record)]),
        *_fits(record),
        *_profile(record),
        *(f"- {note}" for note in record["notes"]),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _machine(record: dict[str, Any]) -> str:
    machine, threads = record["machine"], record["threads"]
    versions = f"torch {machine['packages']['torch']}, commit {(machine['commit'] or 'unknown')[:8]}"
    versions += f", load before {machine['load_before']:.1f}"
    if "others" in machine:
        versions += f", other processes on {machine['others']:.1f} cores"
    if record["device"] == "cuda":
        return f"{machine['gpu']} ({versions})"
    return f"{machine['processor']}, {threads['torch']} threads ({versions})"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "." if text else ""


def _figures(record: dict[str, Any]) -> list[str]:
    rows = [f"| {' | '.join(row)} |" for row in figure_rows(record)]
    return ["| figure | median | least – largest |", "|---|---:|---:|", *rows, ""]


def _baselines(record: dict[str, Any]) -> list[str]:
    head, *rows = (f"| {' | '.join(row)} |" for row in baseline_rows(record))
    return [head, "|---|---:|---:|---:|---:|", *rows, ""]


def _ratios(record: dict[str, Any]) -> list[str]:
    if not record["ratios"]:
        return []
    rows = [f"| {ratio['label']} | {times(ratio['value'])}{_of_runs(ratio)} |" for ratio in record["ratios"].values()]
    return ["| ratio | |", "|---|---:|", *rows, ""]


def _of_runs(ratio: dict[str, Any]) -> str:
    """The least and the largest of several runs."""
    return f" ({times(ratio['min'])} – {times(ratio['max'])} in {ratio['runs']} runs)" if "runs" in ratio else ""


def _fits(record: dict[str, Any]) -> list[str]:
    fits = record["facts"].get("fits", [])
    if not fits:
        return []
    rows = ["| training to early stop | in all | preparing | first epoch | median epoch | epochs | test accuracy |"]
    rows.append("|---|---:|---:|---:|---:|---:|---:|")
    for name, fit in zip(("first", "second"), fits, strict=False):
        parts = ("total_seconds", "prepare_seconds", "first_epoch_seconds", "epoch_seconds")
        seconds = " | ".join(amount(fit[time], "s") for time in parts)
        rows.append(f"| {name} | {seconds} | {fit['epochs']} | {fit['test_accuracy']:.2%} |")
    return [*rows, ""]


def _profile(record: dict[str, Any]) -> list[str]:
    entries = record["facts"].get("profile", [])
    if not entries:
        return []
    rows = [f"| `{_short(row['name'])}` | {row['ms']:,.1f} | {row['calls']:,} |" for row in entries]
    head = "| where the time goes (profiler, one more epoch or the steps of one) | ms without callees | calls |"
    return [head, "|---|---:|---:|", *rows, ""]


def _short(name: str) -> str:
    clean = name.replace("|", "/").replace("`", "'")
    return clean if len(clean) <= 80 else clean[:77] + "..."


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
    """A head, and for each baseline its epoch here, in each other library, and the faster one's over ours."""
    rows: list[tuple[str, ...]] = [("baseline", "ours", *_LIBRARIES.values(), "faster library over ours")]
    for name, facts in record["facts"]["baselines"].items():
        ratios = [record["ratios"][key]["value"] for key in _of_libraries(name) if key in record["ratios"]]
        epochs = [_epoch(record, f"{name}_{library}", facts["libraries"].get(library)) for library in _LIBRARIES]
        rows.append((facts["label"], _epoch(record, name, {}), *epochs, times(min(ratios)) if ratios else "–"))
    return rows


def _of_libraries(name: str) -> list[str]:
    return [f"{name}_{library}" for library in _LIBRARIES]


def _epoch(record: dict[str, Any], figure: str, answer: dict[str, Any] | None) -> str:
    """The median of an epoch with the way it was written in, ``absent``, or a dash if it was not to be measured."""
    if figure not in record["figures"]:
        return "–" if answer is None else "absent"
    variant = (answer or {}).get("variant")
    return amount(record["figures"][figure]["median"], "s") + (f" ({variant})" if variant else "")


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(read()))
    sys.stdout.write(f"{PAGE.name}: {len(read())} records\n")
