"""The learning curves of one run: training loss beside validation loss, and validation accuracy, by epoch."""

import math
from typing import Any

from mggcn.experiments._charts import OKABE_ITO, Spec, Values, as_spec, has_curve, require_altair, sized
from mggcn.experiments._row import Row
from mggcn.training import spaced

_COLOURS = {"training": OKABE_ITO[1], "validation": OKABE_ITO[0]}
_HEIGHT = 260


def data(row: Row, points: int) -> Values:
    """Loss and accuracy of the first seed's epochs, at most ``points`` of them; losses that are not finite are None."""
    curve = row.records[0].curve
    return [
        {
            "epoch": epoch.number,
            "nodes": nodes,
            "loss": float(f"{loss:.5g}") if math.isfinite(loss) else None,
            "accuracy": round(epoch.val_accuracy * 100, 3) if nodes == "validation" else None,
        }
        for epoch in (curve[number] for number in spaced(len(curve), points))
        for nodes, loss in (("training", epoch.train_loss), ("validation", epoch.val_loss))
    ]


def charts(row: Row) -> dict[str, Spec]:
    """Loss and validation accuracy by epoch; nothing if the first seed has no curve."""
    if not has_curve(row):
        return {}
    alt = require_altair()
    seed = f", seed {row.records[0].seed}" if row.done > 1 else ""
    best = f"the dashed line is the best epoch, {row.records[0].best_epoch}"
    drawn = {
        "loss": sized(_curve(alt, row, "loss", "loss"), f"Training and validation loss{seed}; {best}", _HEIGHT),
        "val_accuracy": sized(
            _curve(alt, row, "accuracy", "validation accuracy, %"), f"Validation accuracy{seed}", _HEIGHT
        ),
    }
    return {name: as_spec(chart) for name, chart in drawn.items()}


def _curve(alt: Any, row: Row, field: str, title: str) -> Any:
    base = alt.Chart(alt.NamedData("learning"))
    axis = alt.Axis(tickMinStep=1, format="d")
    nodes = ["training", "validation"] if field == "loss" else ["validation"]
    colour = alt.Color(
        "nodes:N",
        title=None,
        scale=alt.Scale(domain=nodes, range=[_COLOURS[name] for name in nodes]),
        legend=alt.Legend(orient="bottom") if field == "loss" else None,
    )
    lines = (
        base.transform_filter(f"isValid(datum.{field})")
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("epoch:Q", title="epoch", axis=axis, scale=alt.Scale(zero=False, nice=False)),
            y=alt.Y(f"{field}:Q", title=title, scale=alt.Scale(zero=False)),
            color=colour,
            tooltip=["nodes:N", "epoch:Q", alt.Tooltip(f"{field}:Q", title=title, format=",.4~g")],
        )
    )
    best = (
        base.transform_aggregate(epochs="count()")
        .mark_rule(strokeDash=[4, 3], color=OKABE_ITO[6])
        .encode(x=alt.datum(row.records[0].best_epoch))
    )
    return alt.layer(best, lines)
