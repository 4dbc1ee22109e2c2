"""Accuracy against time: what each method has by when."""

import math
from dataclasses import replace
from typing import Any

import pytest

import mggcn
from mggcn.experiments import _budgets as budgets
from mggcn.experiments._budgets import Step
from mggcn.experiments._page import render
from mggcn.experiments._sections import Section, group
from mggcn.training import Member, RunRecord
from mggcn.training._record import Epoch
from tests.records import record


def trained(*epochs: tuple[float, float], prepare: float = 1.0, **changes: Any) -> RunRecord:
    """A run with the validation loss and accuracy of epochs, each of which takes a second."""
    curve = [Epoch(number, 1.0, *scores, 0.75, 0.25) for number, scores in enumerate(epochs, 1)]
    return record(curve=curve, epochs=len(curve), prepare_seconds=prepare, **changes)


def section_of(*records: RunRecord) -> Section:
    [section] = group(records)
    return section


CURVE = ((2.0, 0.5), (1.0, 0.7), (1.5, 0.8), (1.0, 0.75), (math.nan, 0.9))


def test_the_model_is_the_one_that_the_run_would_select() -> None:
    by_loss = trained(*CURVE)
    assert budgets.steps_of(by_loss) == [Step(2, 0.5), Step(3, 0.7), Step(5, 0.75)]
    by_accuracy = trained(*CURVE, settings={"select": "accuracy"})
    assert budgets.steps_of(by_accuracy) == [Step(2, 0.5), Step(3, 0.7), Step(4, 0.8), Step(6, 0.9)]


def test_a_method_without_epochs_has_one_step() -> None:
    at_once = record(epochs=0, curve=[], seconds_to_best=0.25, val_accuracy=0.8)
    assert budgets.steps_of(at_once) == [Step(0.25, 0.8)]


def test_a_portfolio_has_the_best_of_the_recipes_that_were_finished() -> None:
    def member(val_loss: float, val_accuracy: float, seconds: float, **changes: bool) -> Member:
        of_stop = {"stopped": False, "selected": False} | changes
        return Member({"picks": seconds}, val_loss, val_accuracy, 9, 5, seconds, **of_stop)

    members = [
        member(0.5, 0.80, 2.0, selected=True),
        member(0.9, 0.60, 1.0, stopped=True),
        member(0.6, 0.85, 3.0),
        member(0.4, 0.82, 4.0, selected=True),
    ]
    run = trained(*CURVE, portfolio=members, val_accuracy=0.86, seconds_to_best=10.0)
    steps = [Step(2.0, 0.80), Step(10.0, 0.82), Step(10.0, 0.86)]
    assert budgets.steps_of(run) == steps
    alone = [*members[:3], replace(members[3], selected=False)]
    assert budgets.steps_of(replace(run, portfolio=alone)) == steps[:2]


def test_a_run_of_a_portfolio_records_the_time_of_all(small: Any) -> None:
    settings = {"portfolio": "auto", "epochs": 4, "hidden": 8}
    run = mggcn.fit(small, settings=settings, device="cpu").record
    assert run.seconds_to_best == pytest.approx(sum(member.seconds for member in run.portfolio or []))
    last = budgets.steps_of(run)[-1]
    assert last.seconds <= run.seconds_to_best * 1.001
    assert last.accuracy == pytest.approx(run.val_accuracy)
    assert run.seconds_to_best < run.total_seconds


def test_the_mean_starts_when_every_run_has_a_model() -> None:
    slow = trained((1.0, 0.6), (0.5, 0.9), prepare=2.5, seed=1)
    assert budgets.mean_steps([trained(*CURVE), slow]) == [
        Step(3.5, pytest.approx(0.65)),
        Step(4.5, pytest.approx(0.8)),
        Step(5, pytest.approx(0.825)),
    ]
    assert budgets.mean_steps([trained(*CURVE), record(seed=1, curve=[])]) == budgets.steps_of(trained(*CURVE))
    assert budgets.mean_steps([record(curve=[])]) == []


def test_the_last_step_is_what_a_run_records(small: Any) -> None:
    for select in ("loss", "accuracy"):
        settings = {"epochs": 12, "select": select, "portfolio": "none"}
        found = mggcn.fit(small, settings=settings, device="cpu").record
        assert budgets.steps_of(found)[-1].accuracy == found.val_accuracy
        assert budgets.steps_of(found)[-1].seconds == pytest.approx(found.seconds_to_best)


def test_who_is_best_within_a_budget() -> None:
    at_once = record("label-propagation", epochs=0, curve=[], seconds_to_best=0.25, val_accuracy=0.7)
    late = trained((1.0, 0.7), (0.5, 0.95), method="mlp", prepare=0.5)
    section = section_of(at_once, late, trained(*CURVE, method="gcn"))
    assert budgets.leaders(section) == [(0.5, "label-propagation"), (5, "mlp")]
    assert budgets.leaders(section_of(at_once)) == [(0.5, "label-propagation")]
    assert budgets.leaders(section_of(record(epochs=0, curve=[], seconds_to_best=0.0))) == [(1e-6, "gcn")]
    assert budgets.leaders(section_of(record(curve=[]))) == []


def test_lines_end_with_the_last_training_and_points_are_of_test_nodes() -> None:
    other = record("mlp", epochs=0, curve=[], seconds_to_best=0.25, val_accuracy=0.7, test_accuracy=0.6)
    values = budgets.data(section_of(trained(*CURVE), other), 100)
    lines = [(one["method"], one["seconds"], one["accuracy"]) for one in values if one["nodes"] == "validation"]
    assert lines == [("gcn", 2, 50), ("gcn", 3, 70), ("gcn", 5, 75), ("gcn", 6, 75), ("mlp", 0.25, 70), ("mlp", 6, 70)]
    points = [(one["seconds"], one["accuracy"]) for one in values if one["nodes"] == "test"]
    assert points == [(2.5, 86), (0.25, 60)]
    assert len(budgets.data(section_of(trained(*CURVE)), 3)) == 4


def test_the_axis_shows_where_the_methods_end() -> None:
    pytest.importorskip("altair")
    spec = budgets.chart(section_of(trained(*CURVE), record("mlp", curve=[], test_accuracy=0.7)), 100)
    low, high = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert 68 < low < 70
    assert 86 < high < 88


def test_the_chart_can_be_drawn() -> None:
    pytest.importorskip("altair")
    vl_convert = pytest.importorskip("vl_convert")
    at_once = record("label-propagation", epochs=0, curve=[], seconds_to_best=0.0, val_accuracy=0.7)
    chart = budgets.chart(section_of(at_once, trained(*CURVE)), 100)
    drawn = vl_convert.vegalite_to_svg(chart | {"width": 300}, vl_version=vl_convert.get_vegalite_versions()[-1])
    assert drawn.count('aria-roledescription="line mark"') == 2
    assert drawn.count('aria-roledescription="point"') == 2
    assert "NaN" not in drawn


def test_the_page_starts_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    monkeypatch.setattr("mggcn.experiments._page.vega", lambda: "")
    page = render([section_of(record("mlp", val_accuracy=0.9), trained(*CURVE))], "html")
    assert page.index("<h3>Accuracy against time</h3>") < page.index("<h3>Accuracy</h3>")
    assert " The best validation accuracy: mlp within 2 s.<" in page
