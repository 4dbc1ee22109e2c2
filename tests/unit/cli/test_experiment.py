"""``mggcn experiment`` as people and scripts use it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.experiments import Job, Ledger, Outcome
from mggcn.experiments import _execution as execution
from mggcn.experiments import _schedule as running
from mggcn.experiments._definition import folder_name
from mggcn.experiments._records import read_json
from mggcn.experiments._sections import ExperimentInfo, Section
from mggcn.runs import Plan
from mggcn.training._loop import Silent

TOML = """
name = "tiny"
title = "A title"
reproduces = "nothing"
datasets = ["one", "two"]
seeds = 2
settings = { epochs = 2 }
reference = { table = "accuracy", heading = "paper, Cora", datasets = { one = "cora" } }

[[variant]]
label = "plain"
method = "mlp"

[[variant]]
label = "graph"
method = "gcn"
settings = { hidden = 4 }
"""
RUN = ["experiment", "run", "tiny.toml", "--device", "cpu"]
STATUS = ["experiment", "status", "tiny.toml", "--device", "cpu"]


@pytest.fixture
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "one")
    save(replace(small, name="other"), tmp_path / "two")
    (tmp_path / "tiny.toml").write_text(TOML)
    return tmp_path


def lines_of(folder: Path) -> int:
    return len((folder / "experiments-runs" / "tiny" / "records.jsonl").read_bytes().splitlines())


def counts(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    capsys.readouterr()
    assert main(STATUS) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()[1:]]


def test_tables_records_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tiny.toml").write_text(TOML.replace('["one", "two"]', '["one"]'))
    assert main([*RUN, "--quiet", "--json"]) == 0
    *table, last = capsys.readouterr().out.splitlines()
    assert table[0].startswith("| method | paper, Cora, % | accuracy, % |")
    assert [line.split(" | ")[:2] for line in table[2:4]] == [["| plain", "–"], ["| graph", "86.8"]]
    result = json.loads(last)
    assert (result["experiment"], result["seeds"], result["interrupted"]) == ("tiny", 2, False)
    assert [(one["dataset"], [row["done"] for row in one["summaries"]]) for one in result["tables"]] == [
        ("one", [2, 2])
    ]
    page = (folder / "experiments-runs" / "tiny" / "one" / "table.md").read_text()
    assert "\n".join(table) in page
    assert "## A title: one\n" in page
    assert "Of the paper: nothing\n" in page
    assert lines_of(folder) == 4


def test_the_papers_seconds_stand_beside_ours(folder: Path) -> None:
    timed = TOML.replace("seeds = 2", 'seeds = 1\nmeasure = "epoch_seconds"').replace('"accuracy"', '"speed"')
    timed = timed.replace('"paper, Cora"', '"paper, Reddit"').replace('"cora"', '"reddit"')
    (folder / "tiny.toml").write_text(timed)
    assert main([*RUN, "--only", "one", "--out", "here", "--quiet"]) == 0
    page = (folder / "here" / "one" / "table.md").read_text()
    assert "| epoch (paper, Reddit, s) | epoch |" in page
    assert "| 93.47 |" in page
    assert "on its own hardware" in page
    shares = ("accuracy, %", "macro-F1, %", "PR-AUC, %", "ROC-AUC, %")
    assert page.count(", %") == sum(page.count(share) for share in shares)


def described(folder: Path) -> list[Section]:
    return read_json(folder / "experiments-runs" / "tiny" / "experiment.json", {})[0]


def test_what_a_report_needs_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--only", "one", "--quiet"]) == 0
    [one] = before = described(folder)
    assert one.experiment == ExperimentInfo("tiny", "A title", "nothing", "accuracy", 2, "paper, Cora")
    assert one.dataset == "one", "what was not tried is not there"
    assert [(row.label, row.method, row.reference) for row in one.rows] == [
        ("plain", "mlp", {}),
        ("graph", "gcn", {"accuracy": 0.868}),
    ]
    ledger = Ledger(folder / "experiments-runs" / "tiny" / "records.jsonl")
    assert {spec for row in one.rows for spec in row.specs} == set(ledger.records)
    (folder / "experiments-runs" / "tiny" / "experiment.json").unlink()
    assert main([*RUN, "--only", "one", "--quiet"]) == 0
    assert described(folder) == before, "written also when everything was done"
    assert main([*RUN, "--only", "two", "--seeds", "1", "--quiet"]) == 0
    assert [section.dataset for section in described(folder)] == ["one", "two"]
    assert described(folder)[0].rows[0].specs == one.rows[0].specs, (
        "runs of more seeds than are asked for now stay named"
    )
    capsys.readouterr()
    assert main(["report", "experiments-runs", "--out", "report.md", "--format", "md"]) == 0
    text = (folder / "report.md").read_text()
    assert [line for line in text.splitlines() if line.startswith("## A")] == ["## A title: one", "## A title: two"]
    assert "| graph | 86.8 |" in text


def test_a_data_set_that_is_not_available_does_not_stop_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = TOML.replace('"one", "two"', '"mine", "one"').replace("{ one =", "{ mine =")
    lacking = lacking.replace("[[var", '[folders]\nmine = "it is not public; ask for it"\n\n[[var', 1)
    (folder / "tiny.toml").write_text(lacking)
    assert main([*RUN, "--quiet", "--root", "."]) == 2
    out, err = capsys.readouterr()
    assert err == "mggcn: error: tiny.toml: data set mine: it is not public; ask for it; there is no folder mine\n"
    assert "| graph | 86.8 | not run: it is not public |" in out
    assert lines_of(folder) == 4
    page = (folder / "experiments-runs" / "tiny" / "mine" / "table.md").read_text()
    assert "\n- not run: it is not public; ask for it; there is no folder mine\n" in page
    assert [section.dataset for section in described(folder)] == ["mine", "one"]
    assert main(["report", "experiments-runs", "--out", "report.md", "--format", "md"]) == 0
    assert "| graph | 86.8 | not run: it is not public |" in (folder / "report.md").read_text()
    assert main([*RUN, "--quiet", "--only", "one"]) == 0
    assert described(folder)[0].rows[0].reasons == ("mine: it is not public; ask for it; there is no folder mine",)


def test_runs_of_a_data_set_that_is_gone_stay_in_its_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--quiet", "--only", "one", "--seeds", "1"]) == 0
    (folder / "one" / "y.npy").unlink()
    capsys.readouterr()
    assert main([*RUN, "--quiet", "--only", "one"]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("mggcn: error: tiny.toml: data set one: ")
    assert err.count("\n") == 1
    assert out.count("| 1 of 2 |") == 2
    assert "- plain, one: " in out


def test_the_results_of_a_data_set_lie_in_the_folder_of_results(folder: Path) -> None:
    assert folder_name("two/..") == folder_name(".") == folder.name
    assert folder_name("one/") == "one"


def test_a_bad_record_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--quiet", "--only", "one", "--seeds", "1"]) == 0
    path = folder / "experiments-runs" / "tiny" / "records.jsonl"
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 1', 1))
    capsys.readouterr()
    assert main([*RUN, "--quiet", "--only", "one"]) == 2
    message = "line 1: not the record of a run (wrong checksum)"
    assert capsys.readouterr().err == f"mggcn: error: experiments-runs/tiny/records.jsonl: {message}\n"


def test_a_record_of_a_far_seed_is_no_burden(folder: Path) -> None:
    arguments = [*RUN, "--quiet", "--only", "one", "--seeds", "1"]
    assert main(arguments) == 0
    ledger = Ledger(folder / "experiments-runs" / "tiny" / "records.jsonl")
    ledger.add("far", replace(next(iter(ledger.records.values())), seed=10**15))
    assert main(arguments) == 0
    assert [len(row.specs) for row in described(folder)[0].rows] == [2, 2]


def test_only_and_status(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert counts(capsys)[-1] == ["0", "of", "8", "runs", "on", "cpu", "are", "done"]
    assert sorted(path.name for path in folder.iterdir()) == ["one", "tiny.toml", "two"], "status writes nothing"
    (folder / "two" / "y.npy").rename(folder / "hidden")
    assert main([*RUN, "--only", "one", "--seeds", "1"]) == 0
    (folder / "hidden").rename(folder / "two" / "y.npy")
    assert main([*RUN, "--only", "graph", "--quiet"]) == 0
    assert counts(capsys) == [
        ["one", "plain", "1", "1"],
        ["one", "graph", "2", "0"],
        ["two", "plain", "0", "2"],
        ["two", "graph", "2", "0"],
        ["5", "of", "8", "runs", "on", "cpu", "are", "done"],
    ]
    page = (folder / "experiments-runs" / "tiny" / "one" / "table.md").read_text()
    assert "| 1 of 2 |" in page, "a table has all variants, also those that --only left out"


def test_interrupted_it_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fit_plan = execution.fit_plan
    with monkeypatch.context() as patch:

        def interrupt(dataset: Dataset, plan: Plan, *rest: object) -> object:
            if plan.seed == 1:
                raise KeyboardInterrupt
            return fit_plan(dataset, plan, *rest)  # type: ignore[arg-type]

        patch.setattr(execution, "fit_plan", interrupt)
        assert main([*RUN, "--json"]) == 130
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[-1])["interrupted"] is True
    assert err.splitlines()[-1] == "mggcn: interrupted"
    assert lines_of(folder) == 2
    assert main(RUN) == 0
    err = capsys.readouterr().err
    assert "2 of 4 runs are done already" in err
    assert "[3/4] plain seed 1" in err
    whole = lines_of(folder)
    assert main(RUN) == 0
    assert "seed" not in capsys.readouterr().err
    assert lines_of(folder) == whole


def test_in_parallel(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def execute(load: execution.Load, jobs: list[Job], ledger: Ledger, processes: int) -> Iterator[Outcome]:
        asked.append(processes)
        return execution.execute(load(), jobs, ledger, lambda _: Silent())

    monkeypatch.setattr(running, "execute_in_processes", execute)
    assert main([*RUN, "--only", "one", "--jobs", "2"]) == 0
    assert asked == [2]
    assert "[4/4]" in capsys.readouterr().err
    assert counts(capsys)[:2] == [["one", "plain", "2", "0"], ["one", "graph", "2", "0"]]


def test_the_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "list", "."]) == 0
    assert capsys.readouterr().out.split() == ["tiny.toml", "8", "runs", "A", "title"]
    lacking = TOML.replace('"one", "two"', '"one", "mine"').replace("[[var", '[folders]\nmine = "make it"\n\n[[var', 1)
    (folder / "tiny.toml").write_text(lacking)
    assert main(["experiment", "list", "."]) == 0
    assert "A title (data yet to be made here: mine)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["experiment", "run", "none.toml"], "none.toml: cannot be read"),
        (["experiment", "run", "bad.toml"], "bad.toml: graph: hidden: 'x' is not a whole number"),
        (["experiment", "status", "bad.toml"], "bad.toml: graph: hidden: 'x' is not a whole number"),
        (["experiment", "list", "."], "bad.toml: graph: hidden"),
        (["experiment", "list", "nowhere"], "nowhere: no such folder"),
        (["experiment", "list", "one"], "one: holds no .toml file"),
        ([*RUN, "--only", "three"], "--only: 'three' is in no data set and no label of tiny.toml"),
        ([*RUN, "--seeds", "0"], "--seeds: 0 is less than 1"),
        ([*RUN, "--jobs", "0"], "--jobs: 0 is less than 1"),
        (["experiment", "run", "timed.toml", "--jobs", "2"], "--jobs: the runs of timed.toml are timed"),
        ([*RUN, "--out", "tiny.toml/x"], "tiny.toml is not a folder"),
        (["experiment", "run", "twice.toml"], "twice.toml: datasets: 'one' and 'two/../one' would leave their results"),
        (["experiment", "status", "twice.toml"], "twice.toml: datasets: 'one' and 'two/../one' would leave"),
    ],
)
def test_bad_calls(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    (folder / "bad.toml").write_text(TOML.replace("hidden = 4", 'hidden = "x"'))
    (folder / "timed.toml").write_text(TOML.replace("seeds = 2", "seeds = 2\nalone = true"))
    (folder / "twice.toml").write_text(TOML.replace('"two"', '"two/../one"'))
    before = sorted(folder.rglob("*"))
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mggcn: error: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(folder.rglob("*")) == before
