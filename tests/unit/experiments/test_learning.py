"""The learning curves of one run."""

import math
from typing import Any

import pytest

from mggcn.experiments import _charts as charts
from mggcn.experiments._sections import Section, group
from mggcn.training._record import Epoch
from tests.records import record

CURVE = [Epoch(n, 1 / n, 2 / n if n < 4 else math.inf, n / 10, 0.25, 0.5) for n in range(1, 6)]


def section(**changes: object) -> Section:
    return group([record(curve=CURVE, epochs=5, **changes)])[0]


def values_of(chart: charts.Spec) -> list[dict[str, Any]]:
    (values,) = chart["datasets"].values()
    return values


def test_training_and_validation_loss_of_each_epoch() -> None:
    pytest.importorskip("altair")
    values = values_of(charts.loss(section().rows[0], 100))
    assert [value["loss"] for value in values if value["nodes"] == "training"] == [1, 0.5, 0.33333, 0.25, 0.2]
    assert [value["loss"] for value in values if value["nodes"] == "validation"] == [2, 1, 0.66667, None, None]
    assert [value["epoch"] for value in values_of(charts.loss(section().rows[0], 2))] == [1, 1, 5, 5]
    accuracies = values_of(charts.curves(section(), 100)["by_epoch"])
    assert [value["accuracy"] for value in accuracies] == [10, 20, 30, 40, 50]


def test_the_curves_can_be_drawn() -> None:
    pytest.importorskip("altair")
    vl_convert = pytest.importorskip("vl_convert")
    loss = charts.loss(section(best_epoch=2).rows[0], 100)
    assert loss["title"] == "Training and validation loss; the dashed line is the best epoch, 2"
    pictures = {}
    for name, chart in {"loss": loss, "accuracy": charts.curves(section(), 100)["by_epoch"]}.items():
        spec = chart | {"width": 300}
        pictures[name] = vl_convert.vegalite_to_svg(spec, vl_version=vl_convert.get_vegalite_versions()[-1])
        assert "NaN" not in pictures[name]
    assert pictures["loss"].count('stroke-dasharray="4,3"') == 1
    assert pictures["loss"].count('aria-roledescription="line mark"') == 2
    assert pictures["accuracy"].count('aria-roledescription="line mark"') == 1


def test_no_chart_without_two_epochs() -> None:
    pytest.importorskip("altair")
    assert charts.curves(group([record(curve=CURVE[:1])])[0], 100) == {}
