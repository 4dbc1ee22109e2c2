"""Where the time of complete trainings goes: the records of ``python -m benchmarks.speed wait`` as a chart."""

import json
from typing import Any

from generate.charts import svg
from generate.repository import ROOT
from mggcn.experiments._charts import OKABE_ITO, Spec, Values

RESULTS = ROOT / "benchmarks" / "results"
_RUNS = {"first": "first run", "later": "later run"}
_SETTINGS = {"paper": "", "recipe": ", default recipe", "default": ", default"}


def chart() -> str:
    """A bar for the first and a later run of every record, divided into phases."""
    records = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("wait-*.json"))]
    if not records:
        return "Not measured yet: `python -m benchmarks.speed wait`."
    return f'<div class="charts"><figure>{svg(_spec([bar for one in records for bar in _bars(one)]))}</figure></div>'


def _bars(record: dict[str, Any]) -> Values:
    on = record["machine"].get("gpu", f"{record['threads']['torch']} cores")
    bars = []
    for number, (name, figure) in enumerate(record["figures"].items()):
        run, _, phase = name.partition("_")
        if phase:
            settings = _SETTINGS[record.get("variant", "paper")]
            label = f"{record['dataset']['name']}{settings}, {on}: {_RUNS[run]}"
            words = figure["label"].partition(": ")[2]
            bars.append({"run": label, "phase": words, "order": number, "seconds": figure["median"]})
    return bars


def _spec(bars: Values) -> Spec:
    colours = [*OKABE_ITO, "#882255", "#44AA99", "#DDCC77", "#332288"]
    return {
        "title": "Where the time of a complete mggcn train goes",
        "data": {"values": bars},
        "mark": "bar",
        "encoding": {
            "y": {"field": "run", "type": "nominal", "title": None, "axis": {"labelLimit": 300}},
            "x": {"field": "seconds", "type": "quantitative", "title": "seconds"},
            "color": {"field": "phase", "type": "nominal", "title": None, "sort": None, "scale": {"range": colours}},
            "order": {"field": "order", "type": "quantitative"},
        },
    }
