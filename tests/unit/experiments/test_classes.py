"""The part of a report on single classes."""

import json
import re
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from mggcn.experiments import _classes as classes
from mggcn.experiments._page import Part, render
from mggcn.experiments._sections import Row, group
from tests.records import record

NAMES = ["good", "b<a>d", "ugly", "absent"]


def rows(*runs: Any) -> tuple[Row, ...]:
    (section,) = group(runs)
    return section.rows


def test_scores_are_scikit_learns() -> None:
    drawn = np.random.default_rng(0)
    true, given = drawn.integers(0, 3, 200), drawn.integers(0, 2, 200)
    matrix = confusion_matrix(true, given, labels=range(4)).tolist()
    wanted = precision_recall_fscore_support(true, given, labels=range(4), zero_division=0)
    (row,) = rows(record(test_confusion=matrix, dataset={"name": "x", "classes": NAMES}))
    found = classes.scores(row)
    for name, values in zip(("precision", "recall", "f1", "support"), wanted, strict=True):
        assert [getattr(one, name) for one in found] == pytest.approx(values.tolist())
    assert [one.name for one in found] == NAMES


def test_the_matrices_of_seeds_are_summed() -> None:
    (row,) = rows(record(test_confusion=[[3, 1], [0, 4]]), record(seed=1, test_confusion=[[1, 3], [1, 3]]))
    assert classes.confusion(row) == [[4, 4], [1, 7]]
    assert classes.names(row) == ["class 0", "class 1"]
    table = classes.class_table(row)
    assert table.texts[0] == ["class 0", "80.0", "50.0", "61.5", "4"]
    assert [column.value(table.items[1]) for column in table.columns] == [
        "class 1",
        pytest.approx(7 / 11),
        0.875,
        pytest.approx(14 / 19),
        4,
    ]


def test_the_best_row_with_a_matrix() -> None:
    found = rows(record("mlp", test_accuracy=0.9, test_confusion=[]), record("gcn"), record("sgc", test_accuracy=0.2))
    best = classes.best(found)
    assert best is not None
    assert best.label == "gcn"
    assert classes.best(found[:1]) is None
    assert classes.f1_table(found).headings == ["class", "gcn", "sgc"]


@pytest.mark.parametrize(("size", "layers"), [(3, 2), (12, 2), (13, 1)])
def test_the_heat_map_has_numbers_where_there_is_room(size: int, layers: int) -> None:
    pytest.importorskip("altair")
    vl_convert = pytest.importorskip("vl_convert")
    matrix = (np.eye(size, dtype=int) * 5).tolist()
    (row,) = rows(record(test_confusion=matrix, dataset={"name": "x", "classes": [f"c<{n}>" for n in range(size)]}))
    chart = classes.confusion_chart("x", row)
    assert chart is not None
    assert len(chart["layer"]) == layers
    assert chart["width"] == chart["height"], "cells are squares"
    drawn = vl_convert.vegalite_to_svg(chart, vl_version=vl_convert.get_vegalite_versions()[-1])
    assert "c&lt;0&gt;" in drawn
    assert (">5<" in drawn) is (layers == 2)


def test_the_cells_are_means_over_seeds() -> None:
    pytest.importorskip("altair")
    (row,) = rows(record(test_confusion=[[3, 1], [0, 4]]), record(seed=1, test_confusion=[[1, 3], [1, 3]]))
    chart = classes.confusion_chart("x", row)
    assert chart is not None
    (cells,) = chart["datasets"].values()
    assert [one["nodes"] for one in cells] == [2, 2, 0.5, 3.5]
    assert [one["share"] for one in cells] == [0.5, 0.5, 0.125, 0.875]


def page(runs: list[Any], monkeypatch: pytest.MonkeyPatch, parts: list[Part] | None = None) -> str:
    pytest.importorskip("altair")
    monkeypatch.setattr("mggcn.experiments._page.vega", lambda: "")
    return render(group(runs), "html", parts or [])


def test_a_page_of_one_run_and_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"name": "x", "classes": ["good", "b<a>d"]}
    alone = page([record(dataset=data)], monkeypatch)
    assert "Test nodes of each class, as predicted by gcn.<" in alone
    assert "F1 of each class" not in alone
    assert re.findall("<h3>(.*?)</h3>", alone) == ["Learning curves", "Classes", "All figures", "Environments"]
    assert "b&lt;a&gt;d" in alone
    both = page([record(dataset=data), record("mlp", dataset=data, test_accuracy=0.1)], monkeypatch)
    assert "as predicted by gcn, the most accurate of 2 rows." in both
    assert {"Accuracy", "Time and accuracy", "Memory"} < set(re.findall("<h3>(.*?)</h3>", both))
    assert "<details><summary>F1 of each class by method, in %</summary>" in both
    held = json.loads(re.search(r'id="data">(.*?)</script>', both, re.DOTALL)[1])
    assert held["charts"]["confusion0"]["data"]["name"] in held["data"]


def test_rows_of_other_classes_are_not_in_the_table_of_f1(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = np.eye(10, dtype=int).tolist()
    runs = [record("gcn", test_confusion=wide, test_accuracy=0.9), record("mlp"), record("sgc", test_confusion=wide)]
    table = classes.f1_table(rows(*runs))
    assert table.headings == ["class", "gcn", "sgc"]
    assert len(table.texts) == 10
    assert table.texts[9] == ["class 9", "100.0", "100.0"]
    assert "F1 of each class by method" in page(runs, monkeypatch)


def test_very_many_classes_have_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    text = page([record(test_confusion=np.eye(61, dtype=int).tolist())], monkeypatch)
    assert "confusion0" not in text
    assert "class 60" in text


def test_a_page_takes_further_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    text = page([record()], monkeypatch, [Part("Picks & more", "<p>some <b>HTML</b></p>")])
    assert '<a href="#p0">Picks &amp; more</a>' in text
    assert '<section id="p0"><h2>Picks &amp; more</h2>\n<p>some <b>HTML</b></p></section>' in text
