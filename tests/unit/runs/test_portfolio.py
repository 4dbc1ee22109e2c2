"""A portfolio: recipes that are trained one after the other, of which the best or a mean is selected."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import mggcn
from mggcn._io.files import without_checksum
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.experiments import group, read_records
from mggcn.experiments._recipes import recipe_table, selection
from mggcn.experiments._records import pack, unpack
from mggcn.kernels.pick import PickTable
from mggcn.methods import MixGrained, published
from mggcn.methods import _fine as fine
from mggcn.runs import Ensemble, continued, read_config, resolve
from mggcn.runs._fitting import fit_plan
from mggcn.runs._plan import Plan
from mggcn.runs._portfolio import Choice, Rival
from mggcn.runs._run import Run
from mggcn.runs._run_folder import RunFolder
from mggcn.training import Scaler, Training
from mggcn.training import _environment as environment
from mggcn.training._metrics import Scores
from mggcn.training._record import Epoch, RunRecord, recipe_words
from tests import checksums, tampering
from tests.conftest import small_dataset
from tests.ranks import finished, torchrun

MEMBERS = [{}, {"conv": "pool"}, {"skip_self": False, "padding": "none", "picks": 6}]
EQUAL = {"portfolio": "auto"} | {
    name: value for table in published.portfolio("mg-gcn") for name, value in table.items()
}
"""Settings with which all recipes of the default are the same."""
FEW = {"portfolio": "auto", "epochs": 6, "hidden": 8}


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip measuring memory and describing the machine, which take longer than these short runs."""
    monkeypatch.setattr(environment, "reset_peak", lambda _: None)
    monkeypatch.setattr(environment, "describe", dict)


def plan_of(data: Dataset, members: Sequence[Mapping[str, object]] = MEMBERS, **settings: object) -> Plan:
    """A plan with some recipes."""
    return resolve("mg-gcn", data, FEW | settings, members=members)


def of_mean(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of which the mean of the first and the last recipe is selected, the last being the best."""
    choose = Choice.of

    def chosen(trained: Sequence[Any]) -> Choice:
        return replace(choose(trained), selected=(2, 0), scores=Scores(0.25, 0.5, 0.75))

    with monkeypatch.context() as patch:
        patch.setattr(Choice, "of", chosen)
        patch.setattr(Rival, "is_ahead_of", lambda *_: False)
        run = fit_plan(data, plan_of(data))
    of_members = run.record.portfolio or []
    losses = [0.3, 0.9, 0.2]  # those with which the selection agrees
    members = [replace(member, val_loss=loss) for member, loss in zip(of_members, losses, strict=True)]
    return replace(run, record=replace(run.record, portfolio=members))


@pytest.fixture
def mean_run(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> Run:
    return of_mean(small, monkeypatch)


def weights(run: Run) -> dict[str, torch.Tensor]:
    return run.model.state_dict()


def same_weights(one: Run, other: Run) -> bool:
    return all(torch.equal(weights(one)[name], weights(other)[name]) for name in weights(one) | weights(other))


def without_times(run: Run) -> dict[str, Any]:
    """What must be equal of two records of the same run."""
    values = asdict(run.record)
    for member in values["portfolio"]:
        del member["seconds"]
    for epoch in values["curve"]:
        epoch.pop("train_seconds"), epoch.pop("eval_seconds")
    left_out = ("epoch_seconds", "prepare_seconds", "seconds_to_best", "seconds_to_near_best", "total_seconds")
    left_out += ("resumed", "peak_memory_bytes", "training_memory_bytes")
    return {name: value for name, value in values.items() if name not in left_out}


# Which recipes


def test_mg_gcn_trains_a_portfolio_unless_a_setting_switches_it_off(small: Dataset) -> None:
    plan = resolve("mg-gcn", small)
    assert len(plan.members) == len(published.portfolio("mg-gcn")) == len(plan.recipes)
    assert plan.settings["portfolio"] == "auto"
    assert [recipe.values["portfolio"] for recipe in plan.recipes] == ["none"] * len(plan.members)
    assert plan.recipes[0] == resolve("mg-gcn", small, {"portfolio": "none"})


@pytest.mark.parametrize(
    ("method", "settings", "preset"),
    [
        ("mg-gcn", {"portfolio": "none"}, "default"),
        ("mg-gcn", {"portfolio": "auto"}, "paper"),
        ("mlp", {"portfolio": "auto"}, "default"),
        ("mg-gcn", EQUAL, "default"),
    ],
)
def test_other_plans_are_of_one_recipe_and_name_no_portfolio(
    small: Dataset, method: str, settings: dict[str, object], preset: published.Preset
) -> None:
    plan = resolve(method, small, settings, preset=preset)
    assert plan.members == ()
    assert plan.recipes == (plan,)
    for content in (plan.settings, plan.identity, plan.identity["settings"], plan.config(None)):
        assert not {"portfolio", "members"} & content.keys()
    rest = {name: value for name, value in settings.items() if name != "portfolio"}
    assert plan.digest == resolve(method, small, rest | {"portfolio": "none"}, preset=preset).digest


def test_given_settings_are_those_of_every_recipe_and_equal_recipes_count_once(small: Dataset) -> None:
    plan = resolve("mg-gcn", small, {"portfolio": "auto", "conv": "lstm"})
    assert {recipe.values["conv"] for recipe in plan.recipes} == {"lstm"}
    rest = [{name: value for name, value in table.items() if name != "conv"} for table in published.portfolio("mg-gcn")]
    assert len(plan.recipes) == len([table for number, table in enumerate(rest) if table not in rest[:number]])
    of_object = resolve(MixGrained(conv="gat", picks=3), small, {"portfolio": "auto"})
    assert {(recipe.values["conv"], recipe.values["picks"]) for recipe in of_object.recipes} == {("gat", 3)}
    of_training = resolve("mg-gcn", small, training=Training(portfolio="auto", lr=0.5), members=None)
    assert {recipe.values["lr"] for recipe in of_training.recipes} == {0.5}


def test_the_identity_has_all_recipes(small: Dataset) -> None:
    plan = plan_of(small)
    assert plan.digest != resolve("mg-gcn", small, FEW | {"portfolio": "none"}).digest
    assert plan.digest != plan_of(small, MEMBERS[:2]).digest
    assert plan.digest == plan_of(small, [*MEMBERS, {"conv": "mean"}]).digest
    assert json.loads(json.dumps(plan.identity)) == plan.identity
    assert replace(plan, seed=3).recipes[2].seed == 3


def test_naming_recipes_switches_the_portfolio_on(small: Dataset) -> None:
    for method in ("mg-gcn", "mlp"):
        assert len(resolve(method, small, members=[{}, {"hidden": 3}]).recipes) == 2
    assert resolve("mlp", small, {"portfolio": "none"}, members=[{}, {"hidden": 3}]).members == ()


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ([{}] * 5, "members: 5 recipes are more than 4"),
        ([{"convolution": "pool"}], "members: .*convolution"),
        ([{"picks": "many"}], "members: picks: 'many' is not a whole number"),
    ],
)
def test_recipes_that_cannot_be_are_errors(small: Dataset, members: list[dict[str, object]], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        plan_of(small, members)


def test_a_warm_start_trains_one_recipe(small: Dataset, tmp_path: Path) -> None:
    origin = mggcn.fit(small, settings={"epochs": 1}).save(tmp_path / "origin")
    run = mggcn.fit(small, settings={"portfolio": "auto", "epochs": 1}, warm_start=origin)
    assert run.record.portfolio is None


# Training


def test_every_recipe_is_trained_as_it_would_be_alone(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    run, plan = of_mean(small, monkeypatch), plan_of(small)
    for one, recipe in zip(run.runs, (plan.recipes[2], plan.recipes[0]), strict=True):
        alone = fit_plan(small, recipe)
        assert same_weights(one, alone)
        assert one.plan == alone.plan
        assert one.record.temperature == alone.record.temperature
        assert np.array_equal(replace(one, others=()).predict(small).probabilities, alone.predict(small).probabilities)


def test_what_recipes_do_not_share_is_not_shared(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rival, "is_ahead_of", lambda *_: False)
    rng = np.random.default_rng(0)
    data = replace(small, x=csr_array((rng.random((60, 2000)) < 0.02).astype(np.float32)))
    members: list[dict[str, object]] = [
        {"input_dropout": 0.0, "picks": 1},
        {"input_dropout": 0.5, "picks": 1},
        {"scaling": "tfidf", "fine_self": False, "picks": 1},
        {"scaling": "root", "fine_norm": "mean", "precision": "bf16", "picks": 1},
    ]
    plan = plan_of(data, members, hops=1)
    monkeypatch.setattr(Choice, "of", lambda _: Choice(all_scores, (0, 1, 2, 3), all_scores[0]))
    all_scores = tuple(Scores(0.1 * number, 0.0, 0.0) for number in range(4))
    run = fit_plan(data, plan)
    for one, recipe in zip(run.runs, plan.recipes, strict=True):
        assert same_weights(one, fit_plan(data, recipe)), recipe.settings


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("graph", ["whole", "train"])
def test_the_features_are_averaged_once(
    small: Dataset, monkeypatch: pytest.MonkeyPatch, graph: str, *, is_sparse: bool
) -> None:
    calls, compute = [], fine.neighbour_mean
    monkeypatch.setattr(fine, "neighbour_mean", lambda *args, **names: calls.append(args) or compute(*args, **names))
    rng = np.random.default_rng(0)
    wide = csr_array(np.where(rng.random((60, 40)) < 0.05, 1, 0).astype(np.float32))
    data = replace(small, x=wide) if is_sparse else small
    counts = []
    for settings in ({"portfolio": "none"}, {}):
        calls.clear()
        fit_plan(data, plan_of(data, training_graph=graph, hops=1, fine_norm="mean", **settings))
        counts.append(len(calls))
    assert counts[0] == counts[1] == (2 if graph == "train" else 1)


def test_the_run_is_the_best_and_its_record_has_all(small: Dataset) -> None:
    run = fit_plan(small, plan_of(small))
    members = run.record.portfolio
    assert members is not None
    assert run.portfolio is not None
    assert [member.settings for member in members] == run.portfolio.tables
    best = min((member for member in members if member.selected), key=lambda member: member.val_loss)
    assert best.val_loss == min(member.val_loss for member in members if not member.stopped)
    assert run.record.settings == run.plan.settings
    assert best.settings.items() <= run.record.settings.items()
    assert len(run.runs) == sum(member.selected for member in members)
    assert run.record.total_seconds >= sum(member.seconds for member in members)
    assert RunRecord.of(json.loads(json.dumps(asdict(run.record)))) == run.record


def test_the_loss_that_decides_is_that_of_calibrated_probabilities(small: Dataset) -> None:
    run = fit_plan(small, plan_of(small))
    assert small.split is not None
    val = small.split.val
    p = run.predict(small, val).probabilities
    loss = -np.log(p[np.arange(val.size), small.y[val]]).mean()
    members = run.record.portfolio or []
    if len(run.runs) == 1:
        assert loss == pytest.approx(min(member.val_loss for member in members))
    else:
        assert loss == pytest.approx(run.record.val_loss)
        assert loss < min(member.val_loss for member in members)


def test_the_mean_is_of_probabilities_and_measured_on_test_nodes(mean_run: Run, small: Dataset) -> None:
    assert small.split is not None
    test, y = small.split.test, small.y
    p = np.mean([replace(run, others=()).predict(small).probabilities for run in mean_run.runs], axis=0)
    assert np.array_equal(mean_run.predict(small).probabilities, p)
    assert mean_run.test_accuracy == pytest.approx((p[test].argmax(axis=1) == y[test]).mean())
    assert mean_run.record.val_loss == 0.25
    assert np.sum(mean_run.record.test_confusion) == test.size
    for run in mean_run.runs[1:]:
        predicted = run.predict(small, test).probabilities.argmax(axis=1)
        assert run.test_accuracy == pytest.approx((predicted == y[test]).mean())


# Selection


def curve(*losses: float) -> tuple[Epoch, ...]:
    return tuple(Epoch(number, 0.0, loss, 0.0, 0.0, 0.0) for number, loss in enumerate(losses, 1))


def test_a_recipe_is_behind_from_a_third_of_the_best_ones_epochs_on() -> None:
    rival = Rival(curve(1.0, 0.8, 0.6, 0.5, 0.4, 0.7), best_epoch=5)
    assert not rival.is_ahead_of(curve(9.0))
    assert rival.is_ahead_of(curve(9.0, 1.1))
    assert not rival.is_ahead_of(curve(9.0, 0.9))
    assert not rival.is_ahead_of(curve(0.9, 2.0))
    assert not rival.is_ahead_of(curve(9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 0.5))
    assert rival.is_ahead_of(curve(float("nan"), float("nan")))
    assert not Rival().is_ahead_of(curve(9.0, 9.0))


class FakeModel:
    """Stands for a trained recipe with given probabilities of the validation nodes."""

    def __init__(self, data: Dataset, p: np.ndarray[Any, Any], *, is_stopped: bool = False) -> None:
        assert data.split is not None
        self.is_stopped, self.calibrated, self.val_probabilities, self.val = is_stopped, self, p, data.split.val
        self.fit = self
        self.dataset, self.training = data, Training()


def probabilities(data: Dataset, seed: int, right: float) -> np.ndarray[Any, Any]:
    """Random probabilities, of which a share is that of the true class."""
    assert data.split is not None
    val = data.split.val
    p = np.random.default_rng(seed).dirichlet(np.ones(3), val.size) * (1 - right)
    p[np.arange(val.size), data.y[val]] += right
    return p


@pytest.mark.parametrize("seed", range(5))
def test_the_lowest_loss_is_selected(small: Dataset, seed: int) -> None:
    p = [probabilities(small, 10 * seed + number, right) for number, right in enumerate((0.3, 0.4, 0.35, 0.9))]
    models: list[Any] = [FakeModel(small, each, is_stopped=number == 3) for number, each in enumerate(p)]
    choice = Choice.of(models)
    assert small.split is not None
    rows, y = np.arange(small.split.val.size), small.y[small.split.val]

    def loss(members: Sequence[int]) -> float:
        return float(-np.log(np.mean([p[index] for index in members], axis=0)[rows, y]).mean())

    ranked = sorted(range(3), key=lambda index: loss([index]))
    candidates = [ranked[:1], ranked[:2], ranked]
    assert list(choice.selected) == min(candidates, key=loss)
    assert choice.scores.loss == pytest.approx(loss(choice.selected))
    assert [each.loss for each in choice.alone] == pytest.approx([loss([index]) for index in range(4)])


def test_of_equal_losses_fewer_recipes_are_selected(small: Dataset) -> None:
    models: list[Any] = [FakeModel(small, probabilities(small, 1, 0.5)) for _ in range(3)]
    assert Choice.of(models).selected == (0,)


def test_recipes_in_words() -> None:
    first = {"conv": "mean", "skip_self": True, "picks": 4}
    assert recipe_words(first, first) == "the method's recipe"
    assert recipe_words({"conv": "pool", "skip_self": False, "picks": 4}, first) == "conv=pool skip_self=false"


def test_what_was_selected_and_why(mean_run: Run) -> None:
    record = mean_run.record
    assert selection(record) == (
        "the mean of recipes 1 and 3: the lowest validation loss, 0.2500 (the best alone has 0.2000)"
    )
    members = [replace(member, selected=number == 2) for number, member in enumerate(record.portfolio or (), 1)]
    assert selection(replace(record, portfolio=members)) == "recipe 2: the lowest validation loss, 0.9000"
    assert selection(replace(record, portfolio=None)) == ""
    table = recipe_table(record)
    assert [row[0] for row in table.texts] == [
        "1  the method's recipe",
        "2  conv=pool",
        "3  picks=6",
    ]
    assert [row[-1] for row in table.texts] == ["selected", "–", "selected"]


# Folders


def test_a_saved_run_is_read_as_it_was(mean_run: Run, small: Dataset, tmp_path: Path) -> None:
    saved = mean_run.save(tmp_path / "run")
    loaded = mggcn.load_run(tmp_path / "run")
    assert np.array_equal(loaded.predict(small).probabilities, mean_run.predict(small).probabilities)
    assert loaded.record == mean_run.record
    assert [run.path for run in loaded.runs] == [run.path for run in saved.runs]
    assert loaded.portfolio is not None
    assert loaded.portfolio.identity["members"] == plan_of(small).identity["members"]
    again = loaded.save(tmp_path / "again")
    assert {file.relative_to(tmp_path / "again") for file in (tmp_path / "again").rglob("*")} == {
        file.relative_to(tmp_path / "run") for file in (tmp_path / "run").rglob("*")
    }
    assert again.record == mean_run.record
    member = mggcn.load_run(tmp_path / "run/members/1")
    assert np.array_equal(
        member.predict(small).probabilities, replace(mean_run.others[0], path=None).predict(small).probabilities
    )


def test_damaged_members_are_found(mean_run: Run, tmp_path: Path) -> None:
    mean_run.save(tmp_path / "run")
    weights_of_member = tmp_path / "run/members/1/weights.safetensors"
    content = weights_of_member.read_bytes()
    weights_of_member.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InputError, match=r"members/1/weights.safetensors: sha256 differs"):
        mggcn.load_run(tmp_path / "run")
    weights_of_member.write_bytes(content)
    (tmp_path / "run/members/1/record.json").unlink()
    with pytest.raises(InputError, match=r"members/1/record.json: missing"):
        mggcn.load_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda members: members[:1], "field portfolio has 1 recipes"),
        (lambda members: [{**member, "selected": False} for member in members], "of which 0 are selected"),
        (lambda members: [*members[:-1], {**members[-1], "settings": {}}], "other settings than the first"),
        (lambda members: [{**member, "val_loss": 3 - n} for n, member in enumerate(members)], "in its best recipe"),
    ],
)
def test_records_of_impossible_portfolios_are_refused(
    small: Dataset, change: Callable[[list[dict[str, Any]]], object], problem: str
) -> None:
    run = fit_plan(small, plan_of(small, [{"picks": 2}, {"picks": 3}, {"picks": 4}]))
    values = asdict(run.record)
    values["settings"] |= {"picks": 2}
    for number, member in enumerate(values["portfolio"]):
        member |= {"val_loss": number + 1.0, "selected": True}
    RunRecord.of(values)
    with pytest.raises(ValueError, match=problem):
        RunRecord.of(values | {"portfolio": change(values["portfolio"])})


@pytest.mark.parametrize("number", range(24))
def test_a_changed_record_is_refused_or_gives_the_same_answer(
    mean_run: Run, small: Dataset, tmp_path: Path, number: int
) -> None:
    saved, draw = mean_run.save(tmp_path / "run"), Random(number)  # noqa: S311
    path = tmp_path / "run/record.json"
    fields = [field for field in tampering.fields_of(checksums.values_of(path)) if field[0] in ("portfolio", "files")]
    tampering.change_field(path, draw.choice(fields), draw.choice([*tampering.VALUES, tampering.DELETED]))
    try:
        found = mggcn.load_run(tmp_path / "run").predict(small).probabilities
    except InputError:
        return
    assert np.array_equal(found, saved.predict(small).probabilities)


def test_reports_count_a_portfolio_as_one_run(mean_run: Run, tmp_path: Path) -> None:
    mean_run.save(tmp_path / "runs/one")
    (section,) = read_records([tmp_path / "runs"])
    assert [len(row.records) for row in section.rows] == [1]
    assert "portfolio=auto" not in section.rows[0].label
    other = replace(mean_run.others[0].record, seed=1, portfolio=mean_run.record.portfolio)
    assert [len(row.records) for row in group([mean_run.record, other])[0].rows] == [2]
    assert unpack(json.loads(without_checksum(pack([section]).encode())), {})[1][0].portfolio is not None


def test_seeds_that_select_other_recipes_are_packed_in_one_row(mean_run: Run) -> None:
    first = mean_run.record
    assert first.portfolio is not None
    others = [replace(member, selected=index == 1) for index, member in enumerate(first.portfolio)]
    second = replace(first, seed=1, settings=first.settings | others[1].settings, portfolio=others)
    (section,) = group([first, second])
    assert len(section.rows) == 1
    _, found = unpack(json.loads(without_checksum(pack([section]).encode())), {})
    assert [record.settings for record in found] == [first.settings, second.settings]


# After training


def test_embeddings_are_those_of_the_best_recipe(mean_run: Run, small: Dataset) -> None:
    alone = replace(mean_run, others=()).embed(small)
    assert np.array_equal(mean_run.embed(small).values, alone.values)


def test_the_program_of_a_mean_reads_the_rows_of_each_recipe(mean_run: Run, tmp_path: Path) -> None:
    nodes = [3, 40, 59]
    mean_run.export(tmp_path / "model.pt2", batch_size=3)
    scores = torch.export.load(tmp_path / "model.pt2").module()(*mean_run.rows(nodes=nodes))
    expected = mean_run.predict(nodes=nodes, draws=1, device="cpu").probabilities
    np.testing.assert_allclose(scores.exp().detach().numpy(), expected, rtol=1e-4)


def test_explanations_are_means_over_recipes(mean_run: Run, small: Dataset) -> None:
    node = int(np.argmax(small.graph.degrees))
    explained = mean_run.explain(small, node)
    parts = [
        replace(run, others=()).explain(small, node, label=small.classes[explained.label]) for run in mean_run.runs
    ]
    assert explained.probabilities == pytest.approx(np.mean([part.probabilities for part in parts], axis=0))


def test_an_ensemble_averages_all_recipes(mean_run: Run, small: Dataset) -> None:
    single = fit_plan(small, plan_of(small, [{}]))
    both = Ensemble([mean_run, single])
    assert len(both.runs) == 3
    assert both.predict(small).model == "mg-gcn-seed0 + mg-gcn-seed0"
    p = np.mean([replace(run, others=()).predict(small).probabilities for run in both.runs], axis=0)
    assert np.allclose(both.predict(small).probabilities, p)
    with pytest.raises(InputError, match="2 models have no mean"):
        both.embed(small)


def test_a_graph_is_matched_and_averaged_once_for_all_recipes(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = replace(small, feature_names=("a", "b", "c"))
    run = of_mean(named, monkeypatch)
    run.save(tmp_path / "run")
    loaded, calls, compute = mggcn.load_run(tmp_path / "run"), [], fine.neighbour_mean
    monkeypatch.setattr(fine, "neighbour_mean", lambda *args, **names: calls.append(args) or compute(*args, **names))
    wider = replace(named, x=np.hstack([small.x, small.x[:, :1]]), feature_names=("a", "b", "c", "d"))
    with pytest.warns(mggcn.InputWarning) as warned:
        p = loaded.predict(wider).probabilities
    assert len(warned) == len(calls) == 1
    assert np.array_equal(p, run.predict(named).probabilities)
    loaded.predict(wider)
    assert len(calls) == 1
    loaded.predict(named)
    assert len(calls) == 2


def test_predictions_with_reasons_of_a_mean_prepare_the_graph_once(
    small: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, named = of_mean(small, monkeypatch), replace(small, feature_names=("a", "b", "c"))
    counts = {"averages": 0, "tables of picks": 0, "scalings": 0}

    def counted(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def count(*args: Any, **names: Any) -> Any:
            counts[what] += what != "scalings" or args[1].shape[0] == small.num_nodes
            return function(*args, **names)

        return count

    monkeypatch.setattr(fine, "neighbour_mean", counted("averages", fine.neighbour_mean))
    monkeypatch.setattr(PickTable, "of", counted("tables of picks", PickTable.of))
    monkeypatch.setattr(Scaler, "apply", counted("scalings", Scaler.apply))
    found = run.predict(named, reasons=5)
    assert found.reasons
    assert counts == dict.fromkeys(counts, 1)


def test_a_config_trains_a_portfolio_again_in_python(small: Dataset, tmp_path: Path) -> None:
    run = mggcn.fit(small, settings=FEW, members=MEMBERS, device="cpu").save(tmp_path / "run")
    assert run.path is not None
    config = read_config(run.path / "config.toml")
    again = mggcn.fit(
        small, config.method, settings=config.settings, preset=config.preset, members=config.members, device="cpu"
    ).save(tmp_path / "again")
    assert same_weights(again, run)
    assert (tmp_path / "again/config.toml").read_bytes() == (tmp_path / "run/config.toml").read_bytes()


def test_other_data_are_refused(small: Dataset, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        RunFolder.create(tmp_path / "run", small, plan_of(small)).train(Interrupt(2), every=0)
    other = replace(small, x=np.asarray(small.x) + 1)
    with pytest.raises(InputError, match=r"run: cannot be resumed with data set digest .{12}…; it was started with"):
        mggcn.resume(tmp_path / "run", other)


# Interrupts and ranks


class Interrupt:
    """Interrupts training after some epochs, counted over all recipes."""

    def __init__(self, after: int) -> None:
        self.left = after

    def epoch(self, _: Epoch) -> None:
        """Raise what Ctrl-C raises."""
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [3, 6, 8, 18])
def test_an_interrupted_portfolio_ends_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr(Rival, "is_ahead_of", lambda *_: False)
    data = small_dataset()
    plan = plan_of(data)
    whole = RunFolder.create(tmp_path / "whole", data, plan).train(every=0)
    with pytest.raises(KeyboardInterrupt):
        RunFolder.create(tmp_path / "run", data, plan).train(Interrupt(after), every=0)
    trained = Interrupt(-1)
    resumed = mggcn.resume(tmp_path / "run", data, progress=trained, checkpoint_every=0)
    assert -1 - trained.left == 18 - after
    assert same_weights(resumed, whole)
    assert without_times(resumed) == without_times(whole)
    assert resumed.record.resumed == 1
    assert [run.record.settings for run in resumed.runs] == [run.record.settings for run in whole.runs]
    names = [{str(file.relative_to(folder)) for file in folder.rglob("*")} for folder in tmp_path.iterdir()]
    assert names[0] == names[1]
    assert not any(name.startswith("checkpoint") for name in names[0])


def test_recipes_that_were_stopped_are_stopped_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rival, "is_ahead_of", lambda rival, epochs: bool(rival.curve) and len(epochs) >= 3)
    data = small_dataset()
    plan = plan_of(data)
    whole = RunFolder.create(tmp_path / "whole", data, plan).train(every=0)
    assert [member.epochs for member in whole.record.portfolio or ()] == [6, 3, 3]
    assert [member.stopped for member in whole.record.portfolio or ()] == [False, True, True]
    assert whole.runs == (whole,), "what was stopped is not selected"
    with pytest.raises(KeyboardInterrupt):
        RunFolder.create(tmp_path / "run", data, plan).train(Interrupt(11), every=0)
    trained = Interrupt(-1)
    resumed = mggcn.resume(tmp_path / "run", data, progress=trained)
    assert -1 - trained.left == 1
    assert without_times(resumed) == without_times(whole)


def test_an_interrupted_run_of_an_experiment_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rival, "is_ahead_of", lambda *_: False)
    data = small_dataset()
    plan, whole, after = plan_of(data), fit_plan(data, plan_of(data)), Interrupt(8)
    folder = tmp_path / "unfinished"
    with pytest.raises(KeyboardInterrupt), continued(folder, plan, after, 0) as checkpoints:
        fit_plan(data, plan, after, checkpoints)
    trained = Interrupt(-1)
    with continued(folder, plan, trained) as checkpoints:
        run = fit_plan(data, plan, trained, checkpoints)
    assert -1 - trained.left == 10
    assert without_times(run) == without_times(whole)
    assert not folder.exists()


def test_a_folder_with_a_mean_is_written_and_read(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = Choice.of
    monkeypatch.setattr(Choice, "of", lambda trained: replace(choose(trained), selected=(0, 1)))
    monkeypatch.setattr(Rival, "is_ahead_of", lambda *_: False)
    run = RunFolder.create(tmp_path / "run", small, plan_of(small, MEMBERS[:2])).train()
    assert run.others[0].path == (tmp_path / "run/members/1").resolve()
    assert sorted(file.name for file in (tmp_path / "run/members/1").iterdir()) == [
        "config.toml",
        "record.json",
        "split.npz",
        "weights.safetensors",
    ]


@pytest.mark.slow
def test_ranks_have_the_result_of_one_process(tmp_path: Path) -> None:
    save(small_dataset(), tmp_path / "data")
    script = tmp_path / "script.py"
    script.write_text(
        """
import json
from dataclasses import asdict
from torch import distributed as dist
import mggcn

dist.init_process_group("gloo")
settings = {"portfolio": "auto", "epochs": 4, "dropout": 0, "batch_size": 7}
run = mggcn.fit(mggcn.load("data"), settings=settings, device="cpu", checkpoint="run")
values = [run.record.test_confusion, [one.record.settings for one in run.runs], asdict(run.record)["portfolio"]]
open(f"rank{dist.get_rank()}.json", "w").write(json.dumps(values))
"""
    )
    folder = Path.cwd()
    os.chdir(tmp_path)
    try:
        done = finished([*torchrun(2), str(script)])
        assert done.returncode == 0, done.stderr
        ranks = [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(2)]
        for rank in ranks:
            for member in rank[2]:
                del member["seconds"]
        assert ranks[0] == ranks[1]
        settings = {"portfolio": "auto", "epochs": 4, "dropout": 0, "batch_size": 7}
        alone = mggcn.fit(mggcn.load("data"), settings=settings, device="cpu")
        assert ranks[0][0] == alone.record.test_confusion
        assert np.allclose(
            [member["val_loss"] for member in ranks[0][2]],
            [member.val_loss for member in alone.record.portfolio or ()],
            atol=1e-5,
        )
        assert mggcn.load_run("run").record.test_confusion == alone.record.test_confusion
    finally:
        os.chdir(folder)
