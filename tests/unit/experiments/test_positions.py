"""Mean positions of methods over data sets, and their critical difference."""

import json
import re

import numpy as np
import pytest
from scipy import stats

from mggcn.experiments._page import render
from mggcn.experiments._positions import nemenyi, positions
from mggcn.experiments._sections import ExperimentInfo, Row, Section, group
from tests.records import record

ACCURACIES = {"a": (0.9, 0.8, 0.7), "b": (0.9, 0.7, 0.6), "c": (0.8, 0.7, 0.7), "d": (0.5, 0.4, 0.3)}


def sections(accuracies: dict[str, tuple[float, ...]]) -> list[Section]:
    return group(
        record(method, dataset={"name": dataset}, test_accuracy=values[number])
        for method, values in accuracies.items()
        for number, dataset in enumerate(accuracies)
        if number < len(values)
    )


def test_positions_critical_difference_and_friedmans_test() -> None:
    accuracies = np.random.default_rng(0).random((10, 5)).round(1)
    means, critical, p = nemenyi(accuracies)
    assert means == pytest.approx(np.mean([stats.rankdata(-row) for row in accuracies], axis=0))
    assert critical == pytest.approx(2.728 * (5 * 6 / 60) ** 0.5, abs=2e-3), "Table 5 (a) of Demšar 2006"
    assert p == pytest.approx(stats.friedmanchisquare(*accuracies.T).pvalue)
    assert nemenyi(np.ones((3, 3)))[::2] == ([2, 2, 2], 1)


def test_equal_accuracies_share_their_positions() -> None:
    [found] = positions(sections(ACCURACIES))
    assert found.means == {"a": pytest.approx((1.5 + 1 + 1.5) / 3), "b": 2.0 + 1 / 3, "c": pytest.approx(7 / 3), "d": 4}
    assert next(iter(found.means)) == "a"
    assert found.datasets == ("a", "b", "c")
    assert found.heading == "All data sets"


def test_it_takes_three_data_sets_and_three_methods_on_all() -> None:
    assert positions(sections({name: ACCURACIES[name] for name in "ab"})) == []
    assert positions(sections({name: values[:2] for name, values in ACCURACIES.items()})) == []
    partly = ACCURACIES | {"d": (0.5,)}
    assert list(positions(sections(partly))[0].means) == ["a", "b", "c"]


def test_experiments_are_apart_and_times_have_no_position() -> None:
    rows = tuple(Row(name, "gcn", "cpu", 1, (record(test_accuracy=values[0]),)) for name, values in ACCURACIES.items())
    one, other = ExperimentInfo("one", "First", "", "accuracy", 1), ExperimentInfo("two", "", "", "epoch_seconds", 1)
    several = [Section(dataset, rows, info) for info in (one, other) for dataset in ("x", "y", "z")]
    assert [found.heading for found in positions(several)] == ["First: all data sets"]
    assert positions([*several[:2], *several[3:]]) == []
    alone = [Section(name, rows, ExperimentInfo(name, "", "", "accuracy", 1)) for name in ("x", "y", "z")]
    assert [found.heading for found in positions(alone)] == ["All data sets"]
    assert positions([*alone, Section("x", rows)]) == [], "results of different experiments on the same data"


def test_reports_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    vl_convert = pytest.importorskip("vl_convert")
    monkeypatch.setattr("mggcn.experiments._page.vega", lambda: "")
    page = render(sections(ACCURACIES), "html")
    assert '<a href="#all0">All data sets</a>' in page
    assert "Mean positions by test accuracy of the 4 methods that were run on all of 3 data sets: a, b, c." in page
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    held = json.loads(found[1])
    chart = held["charts"]["positions0"]
    source = chart["data"]["name"]
    spec = chart | {"width": 300, "datasets": {source: held["data"][source]}}
    drawn = vl_convert.vegalite_to_svg(spec, vl_version=vl_convert.get_vegalite_versions()[-1])
    assert drawn.count('aria-roledescription="point"') == 4
    assert "NaN" not in drawn
    text = render(sections(ACCURACIES), "md")
    assert "## All data sets\n\n| method | mean position |\n| --- | ---: |\n| a | 1.33 |\n" in text
    assert "all data sets" not in render(sections(ACCURACIES)[:2], "md").lower()
