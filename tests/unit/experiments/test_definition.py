"""Experiments read from TOML."""

from dataclasses import replace
from pathlib import Path

import pytest

from mggcn import experiments as experiment
from mggcn import storage
from mggcn.dataset import Dataset
from mggcn.errors import InputError
from mggcn.experiments import ablation, schedule
from mggcn.experiments.schedule import Variant
from mggcn.methods import paper
from mggcn.records import spec

PAPER = Path(__file__).parents[2] / "experiments" / "paper"
GOOD = """
name = "tiny"
title = "A title"
reproduces = "nothing"
datasets = ["digits", "cora"]
seeds = 2
settings = { epochs = 2 }

[[variant]]
label = "plain"
method = "mlp"
settings = { hidden = 4 }
on.cora = { hidden = 8 }

[[variant]]
label = "graph"
method = "gcn"

grows = "O(b d^L)"

[paper.cora]
graph = 0.5
plain = { accuracy = 0.25, total_seconds = 3 }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(GOOD)
    return path


def test_what_a_file_says(file: Path) -> None:
    found = experiment.read(file)
    assert (found.name, found.datasets, found.seeds, found.num_runs) == ("tiny", ("digits", "cora"), 2, 8)
    assert found.variants("digits") == [Variant("plain", "mlp", {"hidden": 4}), Variant("graph", "gcn")]
    assert found.variants("cora")[0].settings == {"hidden": 8}
    assert found.paper == {"cora": {"graph": {"accuracy": 0.5}, "plain": {"accuracy": 0.25, "total_seconds": 3}}}
    assert [line.grows for line in found.lines] == ["", "O(b d^L)"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "tiny"', "name = ", "not valid TOML"),
        ('title = "A title"', "", "field title is missing"),
        ('title = "A title"', 'titel = "A title"', "unknown field 'titel'; did you mean title"),
        ('name = "tiny"', 'name = "a/b"', "name: 'a/b' cannot be the name of a folder"),
        ('name = "tiny"', 'name = ".."', "name: '..' cannot be the name of a folder"),
        ('name = "tiny"', 'name = "."', "name: '.' cannot be the name of a folder"),
        ('name = "tiny"', 'name = ""', "name: '' cannot be the name of a folder"),
        ('name = "tiny"', r'name = "a\u0007"', r"name: 'a\x07' is not one line of letters that can be printed"),
        ('"A title"', r'"A\ntitle"', r"title: 'A\ntitle' is not one line of letters that can be printed"),
        ('label = "plain"', r'label = "a\u001b"', r"variant 1: label: 'a\x1b' is not one line of letters"),
        ('["digits", "cora"]', '["", "cora"]', "datasets: '' is not a name"),
        ('["digits", "cora"]', '[7, "cora"]', "datasets: 7 is not a name"),
        ("seeds = 2", 'seeds = "2"', "seeds: '2' is not a whole number"),
        ("seeds = 2", "seeds = true", "seeds: True is not a whole number"),
        ("seeds = 2", "seeds = 0", "seeds: 0 is less than 1"),
        ("seeds = 2", 'seeds = 2\nmeasure = "F1"', "measure: 'F1' is not one of accuracy"),
        ('["digits", "cora"]', '["digits", "coar"]', "datasets: unknown data set 'coar'; did you mean cora"),
        ('["digits", "cora"]', '["cora", "cora"]', "datasets: 'cora' is there twice"),
        ('["digits", "cora"]', "[]", "datasets: there is none"),
        ('method = "gcn"', 'method = "gnc"', "variant 'graph': unknown method 'gnc'; did you mean sgc or gcn"),
        ('method = "gcn"', "", "variant 2: field method is missing"),
        ('label = "graph"', 'label = "plain"', "variant: label 'plain' is there twice"),
        ("{ hidden = 4 }", "{ hiden = 4 }", "plain: unknown setting 'hiden'; did you mean hidden"),
        ("{ hidden = 4 }", "{ hidden = 0 }", "plain: hidden: 0 is less than 1"),
        ("on.cora", "on.pubmed", "variant 'plain': on: unknown data set 'pubmed'"),
        ("{ hidden = 8 }", '{ hidden = "x" }', "plain: hidden: 'x' is not a whole number"),
        ("{ epochs = 2 }", "{ epoch = 2 }", "unknown setting 'epoch'; did you mean epochs"),
        ("[paper.cora]", "[paper.pubmed]", "paper: unknown data set 'pubmed'"),
        ("graph = 0.5", "grap = 0.5", "paper.cora: unknown label 'grap'; did you mean graph"),
        ("graph = 0.5", "graph = 86.8", "paper.cora.graph: 86.8 is not an accuracy between 0 and 1"),
        ("total_seconds = 3", "total_seconds = 0", "paper.cora.plain.total_seconds: 0 is not a positive number"),
        ("total_seconds = 3", "total_seconds = inf", "paper.cora.plain.total_seconds: inf is not a positive number"),
        ("accuracy = 0.25", "accuracy = 25", "paper.cora.plain.accuracy: 25 is not an accuracy between 0 and 1"),
        ("total_seconds", "seconds", "paper.cora.plain.seconds: unknown measure 'seconds'; did you mean"),
        ('"O(b d^L)"', '"bd^L"', "variant 'graph': grows: 'bd^L' is not an order of growth"),
        ('"O(b d^L)"', "3", "variant 2: grows: 3 is not text"),
        ("graph = 0.5", "graph = true", "paper.cora.graph: True is not a positive number"),
    ],
)
def test_errors_name_file_field_and_value(file: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        experiment.read(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: cannot be read"):
        experiment.read(tmp_path / "none.toml")
    with pytest.raises(InputError, match="none: no such folder"):
        experiment.read_folder(tmp_path / "none")


def test_only_is_part_of_a_data_set_or_a_label(file: Path) -> None:
    found = experiment.read(file)
    assert found.selected(None) == {"digits": {"plain", "graph"}, "cora": {"plain", "graph"}}
    assert found.selected("COR") == {"cora": {"plain", "graph"}}
    assert found.selected("gra") == {"digits": {"graph"}, "cora": {"graph"}}
    with pytest.raises(InputError, match="--only: 'x' is in no data set and no label"):
        found.selected("x")


@pytest.mark.parametrize("path", sorted(PAPER.parent.rglob("*.toml")), ids=lambda path: path.stem)
def test_the_experiments_of_the_repository_resolve(path: Path) -> None:
    found = experiment.read(path)
    assert found.name == (path.stem if path.parent == PAPER else f"{path.parent.name}-{path.stem}")
    for dataset in found.datasets:
        identity = {"name": dataset}
        assert len(found.plan(dataset, identity, "cpu")) * len(found.datasets) == found.num_runs


def test_the_papers_numbers() -> None:
    found = {one.name: one for one in experiment.read_folder(PAPER)}
    assert set(found) == {"accuracy", "depth", "picks", "ablations", "speed", "memory", "ethereum"}
    accuracies = {
        (one.name, dataset): {label: numbers["accuracy"] for label, numbers in lines.items()}
        for one in found.values()
        if one.measure == "accuracy"
        for dataset, lines in one.paper.items()
    }
    for dataset in ("cora", "citeseer", "pubmed", "reddit"):
        assert accuracies["accuracy", dataset] == {name: known[dataset] for name, known in paper.ACCURACY.items()}
    for dataset, published in paper.DEPTH.items():
        assert tuple(accuracies["depth", dataset].values()) == published
        best = {f"{paper.picks(dataset)} picks": paper.ACCURACY["mg-gcn"][dataset]}
        assert accuracies["picks", dataset] == best
    sizes = [accuracy for by_size in paper.ETHEREUM.values() for accuracy in by_size.values()]
    assert sorted(accuracies["ethereum", "ethereum"].values()) == sorted(sizes)
    assert ("ethereum", "ethereum-simulated") not in accuracies, "the paper has no number of a simulation"


def test_the_papers_seconds_and_orders_of_growth() -> None:
    speed = experiment.read(PAPER / "speed.toml")
    totals = {name: [numbers["total_seconds"] for numbers in lines.values()] for name, lines in speed.paper.items()}
    assert totals == {
        "reddit-like": [5608.2, 575.34, 1138.33, 401.53],
        "ethereum-like": [43.03, 24.64, 49.80, 14.20],
        "pubmed": [44.72, 40.15, 42.36, 19.38],
    }
    assert all(
        set(numbers) == {"epoch_seconds", "total_seconds"} for one in speed.paper.values() for numbers in one.values()
    )
    memory = experiment.read(PAPER / "memory.toml")
    assert {line.variant.method: line.grows for line in memory.lines} == {
        "gcn": "O(b d^L)",
        "sgc": "O(b d^L)",
        "graphsage-mean": "O(b s^L)",
        "fastgcn": "O(s L)",
        "mg-gcn": "O(b s L)",
    }


def test_the_ablations_are_those_of_the_command() -> None:
    found = experiment.read(PAPER / "ablations.toml")
    assert all(found.variants(dataset) == ablation.VARIANTS for dataset in found.datasets)


def test_a_data_set_that_the_user_makes(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = experiment.read(PAPER / "ethereum.toml")
    assert found.missing(tmp_path) == ["ethereum", "ethereum-simulated"]
    with pytest.raises(
        InputError, match=r"the authors' graph is not public; .* mggcn data import .*; there is no folder .*/ethereum"
    ):
        found.load("ethereum", tmp_path)
    storage.save(small, tmp_path / "ethereum")
    assert found.missing(tmp_path) == ["ethereum-simulated"]
    assert found.load("ethereum", tmp_path).num_nodes == small.num_nodes


@pytest.mark.parametrize("name", ["ethereum:simulated", "ethereum:behaviour", "ethereum:xblock-phishing"])
def test_data_sets_of_accounts_have_the_papers_settings(small: Dataset, tmp_path: Path, name: str) -> None:
    storage.save(replace(small, name=name), tmp_path / "ethereum-simulated")
    found = experiment.read(PAPER / "ethereum.toml")
    identity = spec.identity(found.load("ethereum-simulated", tmp_path))
    settings = {job.variant.label: job.spec.settings for job in found.plan("ethereum-simulated", identity, "cpu")}
    for own in settings.values():
        assert (own.get("hidden", 16), own["batch_size"], own["scaling"]) == (16, 128, "standard")
    assert settings["mg-gcn 5"]["weight_decay"] == 0.0005
    assert settings["mg-gcn 5"] == schedule.resolve(found.variants("ethereum"), "ethereum", {})[-1].settings
