"""Presets: our recipe, which looks only at the kind of features, and the settings of the papers."""

import pickle

import pytest
import tomli_w

from mggcn import methods
from mggcn.cli import main
from mggcn.methods import published
from mggcn.methods.mg_gcn import MixGrained
from mggcn.methods.settings import written
from mggcn.runs import DataIdentity, resolve
from mggcn.training._training import Training

NEUTRAL = {"input_dropout": 0.0, "label_smoothing": 0.0, "consistency": 0.0, "averaging": 0.0, "draws": 1}
NEUTRAL_OF_MG_GCN = {"hops": 1, "fine_norm": "mean", "explore": "both", "pick_by": "degree", "bias": False}
NAMES = ["cora", "citeseer", "cora:public", "pubmed", "reddit", "reddit-like", "ethereum", "ethereum-like", "my own"]


CORA = DataIdentity("cora", is_sparse=True)


def resolved(method: str, dataset: str, preset: methods.Preset, *, is_sparse: bool | None = None) -> dict[str, object]:
    return resolve(method, DataIdentity(dataset, is_sparse=is_sparse), preset=preset).settings


@pytest.mark.parametrize("dataset", NAMES)
@pytest.mark.parametrize("method", methods.METHODS)
def test_the_papers_preset_leaves_what_papers_do_not_have_neutral(method: str, dataset: str) -> None:
    settings = resolved(method, dataset, "paper")
    assert {name: settings[name] for name in NEUTRAL} == NEUTRAL
    if method == "mg-gcn":
        assert {name: settings[name] for name in NEUTRAL_OF_MG_GCN} == NEUTRAL_OF_MG_GCN
    for is_sparse in (True, False):
        sparse_or_dense = resolved(method, dataset, "paper", is_sparse=is_sparse)
        assert sparse_or_dense == settings, "papers' settings go by the name of the data"


@pytest.mark.parametrize("is_sparse", [True, False])
@pytest.mark.parametrize("method", [method for method in methods.METHODS if published.recipe(method)])
def test_our_recipe_does_not_depend_on_the_name_of_the_data(method: str, is_sparse: bool) -> None:
    first, *others = (resolved(method, name, "default", is_sparse=is_sparse) for name in NAMES)
    assert all(other == first for other in others)
    assert first != resolved(method, "my own", "paper", is_sparse=is_sparse)


def test_our_recipe_depends_on_features_alone() -> None:
    sparse, dense, unknown = (
        resolved("mg-gcn", "my own", "default", is_sparse=is_sparse) for is_sparse in (True, False, None)
    )
    of_sparse = {name: value for name, value in sparse.items() if dense[name] != value}
    assert of_sparse == published.recipe("mg-gcn")["sparse features"]
    assert dense["scaling"] == "auto"
    assert unknown == dense, "what holds for any data set"


def test_every_entry_of_our_recipes_is_for_any_data_set() -> None:
    for entry in published.published().settings:
        if entry.preset == "default":
            assert entry.datasets == ("*",)
        else:
            assert entry.holds(None)


@pytest.mark.parametrize("dataset", NAMES)
def test_a_method_without_a_recipe_has_its_papers_settings(dataset: str) -> None:
    with_recipe = {
        name for entry in published.published().settings if entry.preset == "default" for name in entry.methods
    }
    assert "mg-gcn" in with_recipe
    for method in set(methods.METHODS) - with_recipe:
        for is_sparse in (True, False):
            assert resolved(method, dataset, "default", is_sparse=is_sparse) == resolved(method, dataset, "paper")


def test_changes_win_over_both_presets() -> None:
    for preset in ("default", "paper"):
        plan = resolve("mg-gcn", CORA, {"picks": 9, "averaging": 0.5}, preset=preset)
        assert (plan.method.picks, plan.training.averaging) == (9, 0.5)


def test_an_object_keeps_the_fields_that_were_given() -> None:
    default = MixGrained.__dataclass_fields__["hidden"].default
    assert resolve("mg-gcn", CORA).settings["hidden"] != default
    for preset in ("default", "paper"):
        expected = resolve("mg-gcn", CORA, {"hidden": default, "explore": "both"}, preset=preset).method
        for method in (MixGrained(hidden=default, explore="both"), MixGrained(2, default, explore="both")):
            assert resolve(method, CORA, preset=preset).method == expected
            assert resolve(pickle.loads(pickle.dumps(method)), CORA, preset=preset).method == expected  # noqa: S301
    assert resolve(MixGrained(hidden=8), CORA, {"hidden": 4}).method.hidden == 4
    assert resolve(MixGrained(), CORA, training=Training()).training == Training()


@pytest.mark.parametrize("method", methods.METHODS)
def test_a_name_a_class_and_an_object_without_fields_are_the_same_method(method: str) -> None:
    kind = methods.METHODS[method]
    for preset in ("default", "paper"):
        plans = [resolve(each, CORA, preset=preset) for each in (method, kind, kind())]
        assert plans[0] == plans[1] == plans[2]
        assert resolve(plans[0].method, "pubmed").method == plans[0].method, "it is resolved already"
    paper = resolve(method, CORA, preset="paper").method
    assert kind.paper("cora") == paper
    assert resolve(kind.paper("cora"), CORA).method == paper


def test_all_settings_of_a_recipe_can_be_written_and_read_again() -> None:
    for preset in ("default", "paper"):
        plan = resolve("mg-gcn", CORA, preset=preset)
        text = tomli_w.dumps(plan.settings)
        assert all(name in text for name in (*NEUTRAL, "hops", "fine_norm"))
        for other in ("default", "paper"):
            again = resolve("mg-gcn", "pubmed", plan.settings, preset=other, members=plan.tables)
            assert (again.settings, again.tables) == (plan.settings, plan.tables)


def test_the_values_that_training_uses_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert published.recipe("sgc") == {}
    assert main(["methods", "mg-gcn"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for condition, values in published.recipe("mg-gcn").items():
        for name, value in values.items():
            used = f"  {name}={written(value)}  "
            end = "" if condition == "any features" else f"for {condition} (our recipe)"
            assert any(line.startswith(used) and "our recipe" in line and line.endswith(end) for line in lines)
    hidden = MixGrained.__dataclass_fields__["hidden"].default
    assert f"  hidden=128  (a whole number; our recipe, the class has {hidden})" in lines
    assert "  layers=2  (a whole number)" in lines
    assert main(["methods", "sgc"]) == 0
    assert "our recipe" not in capsys.readouterr().out
