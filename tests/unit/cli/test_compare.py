"""``mggcn compare`` and ``mggcn ablate`` as people and scripts use them."""

import io
import json
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

import mggcn
from mggcn import experiments as records
from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.errors import InputError
from mggcn.experiments import _execution as execution
from mggcn.experiments._definition import Variant
from mggcn.experiments._report_tables import commands
from mggcn.methods import published
from mggcn.methods.mlp import FeatureMLP
from mggcn.runs import Plan

FILE = published.published()
QUICK = ["--set", "epochs=2", "hidden=4"]


@pytest.fixture
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")
    return tmp_path


def test_a_table_records_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "data", "--methods", "gcn, mlp", "--seeds", "2", *QUICK, "--json"]) == 0
    out, err = capsys.readouterr()
    *table, last = out.splitlines()
    assert [line.split(" | ")[0] for line in table[:4]] == ["| method", "| ---", "| gcn", "| mlp"]
    assert table[4:] == ["", "- not converged, the best epoch is the last one: all runs"]
    result = json.loads(last)
    assert (result["dataset"], result["seeds"], result["device"], result["interrupted"]) == ("small", 2, "cpu", False)
    assert [(one["label"], one["done"], one["reasons"]) for one in result["summaries"]] == [
        ("gcn", 2, []),
        ("mlp", 2, []),
    ]
    for name in ("accuracy", "macro_f1", "epoch_seconds", "seconds_to_best", "peak_memory_bytes", "nodes_per_batch"):
        assert result["summaries"][0]["figures"][name] > 0
    assert sorted(path.name for path in (folder / "compare" / "data").iterdir()) == ["records.jsonl", "table.md"]
    assert "\n".join(table) in (folder / "compare" / "data" / "table.md").read_text()
    assert "[1/4] gcn seed 0: test accuracy" in err


def test_the_standing_of_methods(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "data", "--methods", "gcn,mlp", "--seeds", "3", *QUICK, "--json"]) == 0
    *table, last = capsys.readouterr().out.splitlines()
    assert table[0].startswith("| method | accuracy, % | standing | ")
    assert [line.split(" | ")[2] for line in table[2:4]] == ["tied", "tied"]
    assert table[-1].startswith("- standing: first, tied with the highest accuracy ")
    assert table[-1].endswith(" for all pairs of 2 methods, with 3 seeds and 18 test nodes")
    assert [one["standing"]["word"] for one in json.loads(last)["summaries"]] == ["tied", "tied"]


def test_rankings_of_classes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "data", "--methods", "gcn,mlp", "--seeds", "2", *QUICK, "--per-class"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " | PR-AUC, % | ROC-AUC, % | " in lines[0]
    start = next(number for number, line in enumerate(lines) if line.startswith("| method | class | test nodes | "))
    rows = [tuple(line.strip("| ").split(" | ")[:2]) for line in lines[start + 2 :]]
    assert rows == [(method, name) for method in ("gcn", "mlp") for name in ("red", "green", "blue")]
    means = {}
    for record in records.Ledger(folder / "compare" / "data" / "records.jsonl").records.values():
        assert record.ranking is not None
        means.setdefault(record.method, []).append(record.ranking.pr_auc[1])
    cells = {line.split(" | ")[0]: line.split(" | ") for line in lines[start + 2 :] if " green " in line}
    assert cells["| gcn"][3] == f"{100 * statistics.fmean(means['gcn']):.1f}"


def test_data_sets_side_by_side(folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    save(replace(small, name="other", split=Split.stratified(small.y, 3)), folder / "other")
    assert main(["compare", "data", "other", "--methods", "gcn,mlp", "--seeds", "2", *QUICK, "--out", "both"]) == 0
    lines = capsys.readouterr().out.splitlines()
    headings = lines[-4].strip("| ").split(" | ")
    assert headings[:3] == ["method", "accuracy, %: data", "accuracy, %: other"]
    assert headings[-1] == "PR-AUC, %: other"
    for line in lines[-2:]:
        method, *cells = line.strip("| ").split(" | ")
        for name, cell in zip(("data", "other"), cells, strict=False):
            book = records.Ledger(folder / "both" / name / "records.jsonl").records.values()
            accuracy = statistics.fmean(record.test_accuracy for record in book if record.method == method)
            assert cell.startswith(f"{accuracy * 100:.2f} ± ")
    assert main(["compare", "data", "other", "--methods", "mlp", "--json"]) == 2
    assert "--json: prints one line for one data set" in capsys.readouterr().err


def test_random_splits(folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    random = Split.stratified(small.y, 5, (0.5, 0.2, 0.3))
    save(replace(small, split=random, source="made up; split of seed 5"), folder / "random")
    call = ["compare", "random", "--methods", "mlp", "--seeds", "2", "--splits", "3", *QUICK]
    assert main(call) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].endswith("| nodes a batch | splits | runs |")
    assert out.splitlines()[2].endswith("| 3 | 6 |")
    assert "- ± is the standard deviation over runs on 3 random splits, with all seeds on each" in out
    assert "[2/6] mlp split 1 seed 0" in err
    lines = [json.loads(line) for line in (folder / "compare" / "random" / "records.jsonl").read_text().splitlines()]
    assert [(line["split_seed"], line["seed"]) for line in lines] == [(s, n) for n in (0, 1) for s in (0, 1, 2)]
    assert [line["dataset"]["split"] for line in lines] == [[30, 12, 18]] * 6
    assert lines[1]["dataset"]["source"] == "made up; split of seed 1"
    assert len({line["spec"] for line in lines}) == 6
    assert len({line["dataset"]["digest"] for line in lines}) == 3
    assert len({line["dataset"]["digest_without_split"] for line in lines}) == 1
    [section] = records.read_records([folder / "compare" / "random"])
    assert section.rows[0].figures.accuracy_std == statistics.stdev(line["test_accuracy"] for line in lines)
    (folder / "packed.json").write_text(records.pack([section]))
    [again] = records.read_records([folder / "packed.json"])
    assert [record.split_seed for record in again.rows[0].records] == [0, 1, 2] * 2
    assert commands(again, again.rows[0])[0].startswith(
        "mggcn compare small --methods mlp --device cpu --splits 3 --seeds 2 --preset paper "
    )
    split = execution.random_split(mggcn.load(folder / "random"), 1).split
    assert np.array_equal(split.test, Split.stratified(small.y, 1, (0.5, 0.2, 0.3)).test)
    assert main(call) == 0
    assert "6 of 6 runs are done already" in capsys.readouterr().err


def test_random_splits_are_for_data_without_a_split_of_its_own(
    folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "data", "--methods", "mlp", "--splits", "2", *QUICK]) == 2
    assert "--splits: small has a split of its own" in capsys.readouterr().err
    assert main(["compare", "data", "--methods", "mlp", "--splits", "-1", *QUICK]) == 2
    assert "splits: -1 is less than 0" in capsys.readouterr().err
    save(replace(small, split=None), folder / "none")
    assert main(["compare", "none", "--methods", "mlp", "--seeds", "1", "--splits", "2", *QUICK, "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[2].endswith("| 2 | 2 |")


def test_started_again_it_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["compare", "data", "--methods", "gcn,mlp", "--out", "here", *QUICK]
    assert main([*start, "--seeds", "1"]) == 0
    with (folder / "here" / "records.jsonl").open("a") as file:
        file.write('{"spec": "ab')
    capsys.readouterr()
    assert main([*start, "--seeds", "2"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[-3] == "2 of 4 runs are done already"
    assert [line.partition(":")[0] for line in lines[-2:]] == ["[3/4] gcn seed 1", "[4/4] mlp seed 1"]
    capsys.readouterr()
    assert main([*start, "lr=0.5", "--seeds", "2", "--quiet"]) == 0
    assert [line[-6:] for line in capsys.readouterr().out.splitlines()[2:4]] == [" | 2 |"] * 2
    assert len((folder / "here" / "records.jsonl").read_text().splitlines()) == 8


@pytest.mark.slow
def test_killed_it_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "data", "--methods", "mlp", "--seeds", "60", "--set", "epochs=30", "patience=30"]
    records = folder / "compare" / "data" / "records.jsonl"
    process = subprocess.Popen([sys.executable, "-m", "mggcn", *call], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if records.exists() and records.read_bytes().count(b"\n") >= 2:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = records.read_bytes().count(b"\n")
    assert 2 <= done < 60
    assert main([*call[:4], "--seeds", str(done + 1), *call[6:]]) == 0
    out, err = capsys.readouterr()
    assert f"{done} of {done + 1} runs are done already" in err
    assert out.splitlines()[2].endswith(f"| {done + 1} |")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "data", "--methods", "gcn,mggcn"], "unknown method 'mggcn'; did you mean mg-gcn"),
        (["compare", "data", "--methods", "gcn,mlp", "--set", "picks=3"], "unknown setting 'picks'"),
        (["compare", "data", "--methods", ","], "--methods: ',' names none"),
        (["compare", "coar"], "unknown data set 'coar'; did you mean cora"),
        (["compare", "data", "--seeds", "0"], "--seeds: 0 is less than 1"),
        (["compare", "data", "--set", "pick=3"], "unknown setting 'pick'; did you mean picks"),
        (["compare", "data", "--methods", "mlp", "--set", "lr=-1"], "mlp: lr: -1.0 is not a positive number"),
        (["compare", "data", "--out", "data/x.npy/c"], "x.npy is not a folder"),
        (["compare", "data", "--methods", "mlp", "--out", "bad"], "bad/records.jsonl: line 1: not the record of a run"),
        (["ablate", "data", "--seeds", "0"], "--seeds: 0 is less than 1"),
        (["ablate"], "DATASET"),
    ],
)
def test_bad_calls(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    (folder / "bad").mkdir()
    (folder / "bad" / "records.jsonl").write_text("{}\n")
    before = sorted(folder.rglob("*"))
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mggcn: error: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(folder.rglob("*")) == before


def failing(monkeypatch: pytest.MonkeyPatch, method: str, error: BaseException) -> None:
    fit_plan = execution.fit_plan

    def fail(dataset: Dataset, plan: Plan, *rest: object) -> object:
        if plan.name == method:
            raise error
        return fit_plan(dataset, plan, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(execution, "fit_plan", fail)


def test_a_method_that_fails_is_shown(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "gcn", InputError("gcn needs the package metis; pip install it"))
    start = ["compare", "data", "--seeds", "1", *QUICK, "--json", "--methods"]
    assert main([*start, "gcn,mlp"]) == 0
    out, err = capsys.readouterr()
    assert "| gcn | not run: gcn needs the package metis | – |" in out
    assert "\n- not run: gcn needs the package metis; pip install it\n" in out
    assert "[1/2] gcn seed 0: not run: gcn needs" in err
    assert json.loads(out.splitlines()[-1])["summaries"][0]["figures"] is None
    assert "not run: gcn needs" in (folder / "compare" / "data" / "table.md").read_text()
    assert main([*start, "gcn"]) == 2
    assert "none of the methods could be run; gcn, seed 0: gcn needs" in capsys.readouterr().err


def test_an_interrupt_leaves_the_table_so_far(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "gcn", KeyboardInterrupt())
    assert main(["compare", "data", "--methods", "mlp,gcn", "--seeds", "2", *QUICK, "--json"]) == 130
    out, err = capsys.readouterr()
    assert err.splitlines()[-1] == "mggcn: interrupted"
    assert json.loads(out.splitlines()[-1])["interrupted"] is True
    assert out.splitlines()[2].endswith("| 1 of 2 |")
    assert out.splitlines()[2] in (folder / "compare" / "data" / "table.md").read_text()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_live_table_on_a_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "140")
    assert main(["compare", "data", "--methods", "mlp", "--seeds", "2", *QUICK]) == 0
    shown = terminal.getvalue()
    assert "small on cpu" in shown
    assert "of 2 runs" in shown
    assert "mlp" in shown
    assert capsys.readouterr().out.startswith("| method | ")


def test_variants_of_mg_gcn(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    variants = (Variant("as in the paper", "mg-gcn"), Variant("once", "mg-gcn", {"redraw": "once"}))
    monkeypatch.setattr("mggcn.experiments._definition.ABLATIONS", variants)
    assert main(["ablate", "data", "--seeds", "1", *QUICK, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert [line.split(" | ")[0] for line in out.splitlines()[2:4]] == ["| as in the paper", "| once"]
    assert err == ""
    assert (folder / "ablate" / "data" / "table.md").is_file()


def test_records_of_an_older_version_are_ignored(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ["compare", "data", "--methods", "mlp", "--seeds", "2", *QUICK]
    assert main(call) == 0
    monkeypatch.setattr(FeatureMLP, "version", 2)
    capsys.readouterr()
    assert main(call) == 0
    err = capsys.readouterr().err
    assert "mlp: 2 records of version 1 are ignored; it is now version 2\n" in err
    assert "[2/2] mlp seed 1" in err


def test_a_method_of_the_users_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine_compared.py").write_text(
        "from dataclasses import dataclass\n"
        "from mggcn.methods.mlp import FeatureMLP\n"
        "@dataclass(frozen=True)\n"
        "class Mine(FeatureMLP):\n"
        "    hidden: int = 3\n"
    )
    assert main(["compare", "data", "--methods", "mlp,mine_compared:Mine", "--seeds", "1", *QUICK, "--json"]) == 0
    out = capsys.readouterr().out
    assert [line.split(" | ")[0] for line in out.splitlines()[2:4]] == ["| mlp", "| Mine"]
    assert json.loads(out.splitlines()[-1])["summaries"][1]["method"] == "mine_compared:Mine"


def test_the_papers_figure_is_of_its_own_data_and_settings(
    folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(small, name="cora", source="LINQS cora; random split")
    data = save(other, folder / "cora")
    call = [
        "compare",
        "./cora",
        "--methods",
        "mg-gcn",
        "--seeds",
        "1",
        "--quiet",
        "--preset",
        "paper",
        "--set",
        "epochs=1",
    ]
    assert main(call) == 0
    assert "paper" not in capsys.readouterr().out, "another split of the same name"
    known = {"cora": data.digest}
    monkeypatch.setattr(published, "published", lambda: msgspec.structs.replace(FILE, data=known))
    defaults = [*call[:-2], "--set", "threads=1"]
    assert main(defaults) == 0
    assert "| mg-gcn | 85.8 |" in capsys.readouterr().out
    assert main([*defaults, "picks=1"]) == 0
    assert "paper" not in capsys.readouterr().out
    train = ["train", "./cora", "--quiet", "--no-report"]
    assert main([*train, "--preset", "paper"]) == 0
    assert "(paper: 85.8%)" in capsys.readouterr().out
    for others in (["--preset", "paper", "--set", "picks=1"], ["--epochs", "2"]):
        assert main([*train, *others]) == 0
        assert "(paper, with its settings: 85.8%)" in capsys.readouterr().out
