"""Explanations: contributions of features are complete and those of a reference; effects of picks are leave-one-out."""

import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import mggcn
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError, InputWarning
from mggcn.runs import resolve
from mggcn.runs._run import Run
from tests.properties import at_baseline

WITHOUT = ("label-propagation", "deepwalk", "node2vec", "random-forest", "lightgbm")
QUICK: dict[str, object] = {"epochs": 8, "lr": 0.05}


def sparse(data: Dataset) -> Dataset:
    """The same data with many features that are zero, as CSR."""
    return replace(data, x=csr_array(np.where(data.x > 0, data.x, 0)))


def by_differences(run: Run, data: Dataset, node: int, label: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Integrated gradients of the target and of the others, from differences of predictions for changed data."""
    start, step = at_baseline(run, data).x, 1e-2
    steps, effects = 24, np.zeros((2, data.num_features))
    others = np.arange(data.num_nodes) != node
    for number in range(steps):
        x = start + (number + 0.5) / steps * (data.x - start)
        for part, nodes in enumerate((~others, others)):
            for column in range(data.num_features):
                change = np.zeros_like(x)
                change[nodes, column] = step * (data.x - start)[nodes, column]
                up, down = (
                    run.predict(replace(data, x=changed), nodes=[node], device="cpu").probabilities[0, label]
                    for changed in (x + change, x - change)
                )
                effects[part, column] += (up - down) / (2 * step) / steps
    return effects[0], effects[1]


@pytest.mark.parametrize("method", ["mg-gcn", "gcn", "graphsage-mean", "sgc"])
def test_contributions_are_those_of_a_reference(small: Dataset, method: str) -> None:
    run = mggcn.fit(small, method, seed=1, device="cpu", settings=QUICK)
    explanation = run.explain(node=7, label="red")
    target, others = by_differences(run, small, 7, 0)
    np.testing.assert_allclose(explanation.target, target, atol=4e-3)
    np.testing.assert_allclose(explanation.others, others, atol=4e-3)


@pytest.mark.parametrize(
    "settings", [{"layers": 3}, {"conv": "gat", "layers": 3}, {"fine": False}, {"fine_self": False}]
)
def test_other_settings_of_mg_gcn(small: Dataset, settings: dict[str, object]) -> None:
    run = mggcn.fit(small, device="cpu", settings={**QUICK, **settings}, preset="paper")
    explanation = run.explain(node=5, draws=3)
    assert abs(explanation.error) < 2e-3
    assert len({pick.node for pick in explanation.picks}) > 5
    expected = run.predict(nodes=[5], draws=3, calibrated=False, device="cpu").probabilities
    if run.record.temperature == 1:
        np.testing.assert_allclose(explanation.probabilities, expected[0], rtol=1e-5)


def test_an_isolated_node_depends_on_its_own_features_alone(small: Dataset) -> None:
    explanation = mggcn.fit(small, device="cpu", settings=QUICK).explain(node=59)
    np.testing.assert_allclose(explanation.others, 0, atol=1e-7)
    assert np.abs(explanation.target).max() > 1e-3
    assert explanation.picks == ()


def test_effects_of_picks_are_leave_one_out(small: Dataset) -> None:
    run = mggcn.fit(small, device="cpu", settings={**QUICK, "picks": 3}, preset="paper")
    explanation = run.explain(node=5, label="green")
    fewer = replace(run, plan=resolve("mg-gcn", "small", {**run.record.settings, "picks": 2}), prepared=[])
    last = next(pick for pick in explanation.picks if pick.order == 3)
    without = fewer.predict(small, nodes=[5], device="cpu").probabilities[0]
    np.testing.assert_allclose(last.changes, explanation.probabilities - without, atol=1e-6)
    assert [pick.draws for pick in explanation.picks] == [1, 1, 1]
    assert explanation.pick_ids == tuple(f"node-{pick.node}" for pick in explanation.picks)


def test_a_data_frame_lists_every_effect(small: Dataset) -> None:
    named = replace(small, feature_names=("age", "", "gas"))
    explanation = mggcn.fit(named, device="cpu", settings=QUICK, preset="paper").explain(id="node-5")
    assert (explanation.node, explanation.node_id) == (5, "node-5")
    frame = explanation.to_pandas()
    assert frame.columns.tolist() == ["kind", "name", "effect"]
    assert frame["kind"].tolist() == ["target"] * 3 + ["others"] * 3 + ["pick"] * 5
    of_target = frame[frame["kind"] == "target"].set_index("name")["effect"]
    assert of_target.to_dict() == dict(zip(("age", "feature 1", "gas"), explanation.target.tolist(), strict=True))
    for _, effects in frame.groupby("kind")["effect"]:
        assert effects.abs().is_monotonic_decreasing
    contributions = frame[frame["kind"] != "pick"]["effect"].sum()
    assert contributions == pytest.approx(explanation.probability - explanation.baseline, abs=2e-3)


def test_features_are_matched_by_name(small: Dataset, tmp_path: Path) -> None:
    named = replace(small, feature_names=("age", "size", "gas"))
    run = mggcn.fit(named, device="cpu", settings=QUICK)
    wider = np.column_stack([small.x[:, 2], np.ones(60, np.float32), small.x[:, :2]])
    other = replace(small, x=wider, feature_names=("gas", "extra", "age", "size"))
    with pytest.warns(InputWarning, match="ignored features") as caught:
        explanation = run.explain(node=5, dataset=other)
    assert [warning.filename for warning in caught] == [__file__]
    assert explanation.features == ("age", "size", "gas")
    np.testing.assert_allclose(explanation.target, run.explain(node=5).target, atol=1e-6)


@pytest.mark.parametrize("method", WITHOUT)
def test_methods_without_gradients(small: Dataset, method: str) -> None:
    run = mggcn.fit(small, method, device="cpu", settings={} if method in WITHOUT[::3] else {"epochs": 1})
    with pytest.raises(
        InputError, match=f"{method}: neither reasons nor attributions, which need input rows that are linear"
    ):
        run.explain(node=5)


def test_bad_questions(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mggcn.fit(small, device="cpu", settings={"epochs": 1})
    with pytest.raises(InputError, match="unknown class 'rod'; did you mean red"):
        run.explain(node=5, label="rod")
    with pytest.raises(InputError, match="explain: name one node, by its number or by its id"):
        run.explain()
    with pytest.raises(InputError, match="explain: name one node, by its number or by its id"):
        run.explain(node=5, id="node-5")
    with pytest.raises(InputError, match="small: nodes: node 60 is out of range"):
        run.explain(node=60)
    with pytest.raises(InputError, match="draws: 0 is less than 1"):
        run.explain(node=5, draws=0)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with warnings.catch_warnings(), pytest.raises(InputError, match="this needs pandas"):
        run.explain(node=5).to_pandas()
