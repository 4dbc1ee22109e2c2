"""Experiments read from TOML."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mggcn import experiments, methods
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.experiments import Schedule
from mggcn.experiments._definition import ABLATIONS, Reference, Variant, variants_of
from mggcn.experiments._sections import Section
from mggcn.methods.published import published
from mggcn.runs import DataIdentity, resolve

REPOSITORY = Path(__file__).parents[3]
PAPER = REPOSITORY / "experiments" / "paper"
GOOD = """
name = "tiny"
title = "A title"
reproduces = "nothing"
datasets = ["digits", "cora"]
seeds = 2
settings = { epochs = 2 }
reference = { table = "accuracy", heading = "paper, other data", datasets = { digits = "cora" } }

[[variant]]
label = "plain"
method = "mlp"
settings = { hidden = 4 }
on.cora = { hidden = 8 }

[[variant]]
label = "graph"
method = "gcn"

grows = "O(b d^L)"
"""

NAME = r"field name: expected str matching regex '^\\w[\\w.-]*$' "


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(GOOD)
    return path


def section(path: Path, dataset: str) -> Section:
    """The table of an experiment on the paper's data before any run."""
    data = DataIdentity(dataset, published().data.get(dataset, ""))
    return Schedule(experiments.read(path), dataset, data).section([], torch.device("cpu"))


def test_what_a_file_says(file: Path) -> None:
    tiny = experiments.read(file)
    assert (tiny.name, tiny.datasets, tiny.seeds, tiny.num_runs) == ("tiny", ("digits", "cora"), 2, 8)
    assert tiny.variants == (
        Variant("plain", "mlp", {"hidden": 4}, {"cora": {"hidden": 8}}),
        Variant("graph", "gcn", grows="O(b d^L)"),
    )
    assert [tiny.plans(dataset)[0].settings["hidden"] for dataset in tiny.datasets] == [4, 8]
    assert tiny.reference == Reference("accuracy", "paper, other data", {"digits": "cora"})


def test_a_preset_of_all_variants(file: Path, small: Dataset) -> None:
    text = GOOD.replace('method = "gcn"', 'method = "mg-gcn"')
    plans = {}
    for preset in ("default", "paper"):
        file.write_text(f'preset = "{preset}"\n{text}')
        assert experiments.read(file).preset == preset
        plans[preset] = experiments.read(file).plans("cora")[1].settings
    file.write_text(text)
    assert experiments.read(file).plans("cora")[1].settings == plans["default"]
    assert (plans["paper"]["picks"], plans["paper"]["hidden"], plans["paper"]["draws"]) == (6, 16, 1)
    assert plans["default"]["explore"] == "breadth"
    assert plans["default"]["epochs"] == plans["paper"]["epochs"] == 2
    file.write_text(f'preset = "papers"\n{text}')
    with pytest.raises(InputError, match=r"tiny\.toml: field preset: invalid enum value 'papers'"):
        experiments.read(file)


def test_the_recipe_goes_by_the_features_of_the_data(small: Dataset) -> None:
    sparse = replace(small, x=np.maximum(small.x - 1, 0))
    found = []
    for data in (small, sparse):
        experiment = experiments.comparison("small", ["mg-gcn"])
        (plan,) = Schedule(experiment, "small", DataIdentity.of(data)).plans
        assert plan.settings == resolve("mg-gcn", data).settings
        found.append(plan.settings)
        (paper,) = experiments.comparison("small", ["mg-gcn"], preset="paper").plans(DataIdentity.of(data))
        assert paper.settings == resolve("mg-gcn", "small", preset="paper").settings
    assert found[0] != found[1]


def test_the_papers_experiments_start_from_the_papers_settings() -> None:
    files = [*PAPER.glob("*.toml"), REPOSITORY / "experiments" / "compare.toml"]
    assert len(files) > 5
    assert {experiments.read(path).preset for path in files} == {"paper"}
    assert experiments.ablation("cora").preset == "paper"


def test_methods_stand_for_variants(file: Path) -> None:
    without = GOOD[: GOOD.index("[[variant]]")]
    file.write_text('methods = ["sgc", "mlp"]\n' + without)
    assert experiments.read(file).variants == (Variant("sgc", "sgc"), Variant("mlp", "mlp"))
    file.write_text('methods = "all"\n' + without)
    assert [variant.method for variant in experiments.read(file).variants] == list(methods.METHODS)
    file.write_text(without)
    with pytest.raises(InputError, match=r"tiny\.toml: variant: there is none"):
        experiments.read(file)


def test_all_stands_for_every_method() -> None:
    first, *others = variants_of(["mlp", "all"])
    assert first.method == "mlp"
    assert {variant.method for variant in others} == set(methods.METHODS) - {"mlp"}
    with pytest.raises(InputError, match="unknown method 'mggcn'; did you mean mg-gcn"):
        variants_of(["mlp", "mggcn"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "tiny"', "name = ", "not valid TOML"),
        ('name = "tiny"', "", "field 'name' is missing"),
        ('title = "A title"', 'titel = "A title"', "unknown field 'titel'"),
        ('name = "tiny"', 'name = "a/b"', NAME + "('a/b')"),
        ('name = "tiny"', 'name = ".."', NAME + "('..')"),
        ('name = "tiny"', 'name = "."', NAME + "('.')"),
        ('name = "tiny"', 'name = ""', NAME + "('')"),
        ('name = "tiny"', r'name = "a\u0007"', NAME + r"('a\x07')"),
        ('"A title"', r'"A\ntitle"', r"field title: expected str matching regex '^[^\\x00-\\x1f\\x7f]*$' ('A\ntitle')"),
        ('label = "plain"', r'label = "a\u001b"', "field variant[0].label: expected str matching regex "),
        ('["digits", "cora"]', '["", "cora"]', "datasets: unknown data set ''"),
        ('["digits", "cora"]', '[7, "cora"]', "field datasets[0]: expected str, got int (7)"),
        ("seeds = 2", 'seeds = "2"', "field seeds: expected int, got str ('2')"),
        ("seeds = 2", "seeds = true", "field seeds: expected int, got bool (True)"),
        ("seeds = 2", "seeds = 0", "seeds: 0 is less than 1"),
        ("seeds = 2", 'seeds = 2\npath = "x"', "field path: expected Path, got str ('x')"),
        ("seeds = 2", 'seeds = 2\nmeasure = "F1"', "field measure: invalid enum value 'F1'"),
        ('["digits", "cora"]', '["digits", "coar"]', "datasets: unknown data set 'coar'; did you mean cora"),
        ('["digits", "cora"]', '["cora", "cora", "digits"]', "datasets: 'cora' is there twice"),
        ('["digits", "cora"]', "[]", "datasets: there is none"),
        ('method = "gcn"', 'method = "gnc"', "graph: unknown method 'gnc'; did you mean sgc or gcn"),
        ('method = "gcn"', "", "field 'variant[1].method' is missing"),
        ('method = "gcn"', 'method = "gcn"\nsetting = 1', "unknown field 'variant[1].setting'"),
        ('label = "graph"', 'label = "plain"', "variant: 'plain' is there twice"),
        ("{ hidden = 4 }", "{ hiden = 4 }", "plain: unknown setting 'hiden'; did you mean hidden"),
        ("{ hidden = 4 }", "{ hidden = 0 }", "plain: hidden: 0 is less than 1"),
        ("on.cora", "on.pubmed", "variant 'plain': on: unknown data set 'pubmed'"),
        ("{ hidden = 8 }", '{ hidden = "x" }', "plain: hidden: 'x' is not a whole number"),
        ("{ epochs = 2 }", "{ epoch = 2 }", "unknown setting 'epoch'; did you mean epochs"),
        ('table = "accuracy"', 'table = "acuracy"', "reference.table: unknown table 'acuracy'; did you mean accuracy"),
        ('"paper, other data"', '"paper"', "reference.heading: 'paper' does not say how the results differ"),
        ("{ digits = ", "{ pubmed = ", "reference.datasets: unknown data set 'pubmed'"),
        ('digits = "cora"', "digits = 7", "field reference.datasets[...]: expected str, got int ({'digits': 7})"),
        ('"O(b d^L)"', "3", "field variant[1].grows: expected str, got int (3)"),
    ],
)
def test_errors_name_file_field_and_value(file: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        experiments.read(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: cannot be read"):
        experiments.read(tmp_path / "none.toml")
    with pytest.raises(InputError, match="none: no such folder"):
        experiments.read_folder(tmp_path / "none")


def test_only_is_part_of_a_data_set_or_a_label(file: Path) -> None:
    tiny = experiments.read(file)
    assert tiny.selected(None) == {"digits": {"plain", "graph"}, "cora": {"plain", "graph"}}
    assert tiny.selected("COR") == {"cora": {"plain", "graph"}}
    assert tiny.selected("gra") == {"digits": {"graph"}, "cora": {"graph"}}
    with pytest.raises(InputError, match="only: 'x' is in no data set and no label"):
        tiny.selected("x")


@pytest.mark.parametrize("path", sorted(PAPER.parent.rglob("*.toml")), ids=lambda path: path.stem)
def test_the_experiments_of_the_repository_resolve(path: Path) -> None:
    one = experiments.read(path)
    prefix = f"{path.parent.name}-" if path.parent.name in ("ethereum", "strongest", "tuned") else ""
    assert one.name == prefix + path.stem
    for dataset in one.datasets:
        jobs = Schedule(one, dataset, DataIdentity(dataset)).jobs(torch.device("cpu"))
        assert len(jobs) * len(one.datasets) == one.num_runs


def test_the_papers_experiments_show_its_numbers() -> None:
    assert len(experiments.read_folder(PAPER)) == 7
    tables = {table.name: table.rows for table in published().tables}
    for dataset in ("cora", "citeseer", "pubmed"):
        expected = {one.method: one.accuracy for one in tables["accuracy"] if one.dataset == dataset}
        rows = section(PAPER / "accuracy.toml", dataset).rows
        assert {row.label: row.published["accuracy"] for row in rows} == expected
        depths = section(PAPER / "depth.toml", dataset)
        assert [row.reference["accuracy"] for row in depths.rows] == [
            one.accuracy for one in tables["depth"] if one.dataset == dataset
        ]
        assert depths.experiment is not None
        assert depths.experiment.reference == "paper, full batches"
        picks = resolve("mg-gcn", dataset, preset="paper").settings["picks"]
        shown = {
            row.label: row.published["accuracy"] for row in section(PAPER / "picks.toml", dataset).rows if row.published
        }
        assert shown == {f"{picks} picks": expected["mg-gcn"]}
        ablations = section(PAPER / "ablations.toml", dataset).rows
        assert [row.published.get("accuracy") for row in ablations] == [expected["mg-gcn"]] + [None] * 6
    reddit = section(PAPER / "accuracy.toml", "reddit").rows
    assert [row.published for row in reddit] == [{}] * 6, "its digest is not known"
    assert {row.label: row.reference["accuracy"] for row in reddit} == {
        one.method: one.accuracy for one in tables["accuracy"] if one.dataset == "reddit"
    }
    ethereum = section(PAPER / "ethereum.toml", "ethereum").rows
    assert [row.reference["accuracy"] for row in ethereum] == [one.accuracy for one in tables["ethereum"]]
    simulated = section(PAPER / "ethereum.toml", "ethereum-simulated").rows
    assert all(not row.published and not row.reference for row in simulated), "the paper has no simulated graph"


def test_the_papers_seconds_and_orders_of_growth() -> None:
    totals = {
        dataset: [row.reference.get("total_seconds") for row in section(PAPER / "speed.toml", dataset).rows]
        for dataset in ("reddit-like", "ethereum-like", "pubmed")
    }
    assert totals == {
        "reddit-like": [5608.2, 575.34, 1138.33, 401.53],
        "ethereum-like": [43.03, 24.64, 49.80, 14.20],
        "pubmed": [None] * 4,
    }
    pubmed = section(PAPER / "speed.toml", "pubmed").rows
    assert [row.published.get("total_seconds") for row in pubmed] == [44.72, 40.15, 42.36, 19.38]
    memory = experiments.read(PAPER / "memory.toml")
    assert {variant.method: variant.grows for variant in memory.variants} == {
        "gcn": "O(b d^L)",
        "sgc": "O(b d^L)",
        "graphsage-mean": "O(b s^L)",
        "fastgcn": "O(s L)",
        "mg-gcn": "O(b s L)",
    }


def test_the_ablations_are_those_of_the_command() -> None:
    assert experiments.read(PAPER / "ablations.toml").variants == ABLATIONS


def test_all_methods_are_compared() -> None:
    compare = experiments.read(REPOSITORY / "experiments" / "compare.toml")
    assert [variant.method for variant in compare.variants] == list(methods.METHODS)


def test_a_data_set_that_the_user_makes(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ethereum = experiments.read(PAPER / "ethereum.toml")
    assert ethereum.missing(tmp_path) == ["ethereum", "ethereum-simulated"]
    with pytest.raises(
        InputError, match=r"the authors' graph is not public; .* mggcn data import .*; there is no folder .*/ethereum"
    ):
        ethereum.load("ethereum", tmp_path)
    save(small, tmp_path / "ethereum")
    assert ethereum.missing(tmp_path) == ["ethereum-simulated"]
    assert ethereum.load("ethereum", tmp_path).num_nodes == small.num_nodes


@pytest.mark.parametrize("name", ["ethereum:simulated", "ethereum:behaviour", "ethereum:xblock-phishing"])
def test_data_sets_of_accounts_have_the_papers_settings(small: Dataset, tmp_path: Path, name: str) -> None:
    save(replace(small, name=name), tmp_path / "ethereum-simulated")
    ethereum = experiments.read(PAPER / "ethereum.toml")
    known = DataIdentity.of(ethereum.load("ethereum-simulated", tmp_path))
    jobs = Schedule(ethereum, "ethereum-simulated", known).jobs(torch.device("cpu"))
    settings = {job.label: job.plan.settings for job in jobs}
    for values in settings.values():
        assert (values.get("hidden", 16), values["batch_size"], values["scaling"]) == (16, 128, "standard")
    assert settings["mg-gcn 5"]["weight_decay"] == 0.0005
    assert settings["mg-gcn 5"] == ethereum.plans("ethereum")[-1].settings
