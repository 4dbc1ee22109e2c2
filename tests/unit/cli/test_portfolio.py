"""``mggcn train --set portfolio=auto``: what it prints and writes, and how it is continued and used."""

import html
import json
import re
import tomllib
from pathlib import Path

import pytest

import mggcn
from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.runs import resolve
from mggcn.runs._portfolio import Rival
from mggcn.training import _loop as loop
from mggcn.training import recipe_words

RUN = Path("runs/small-mg-gcn-seed0")
MEMBERS = resolve("mg-gcn", "small").tables
SETTINGS = ["hidden=8", "epochs=6", "portfolio=auto"]
TRAIN = ["train", "data", "--device", "cpu", "--set", *SETTINGS]


@pytest.fixture(autouse=True)
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Rival, "is_ahead_of", lambda *_: False)
    save(small, tmp_path / "data")
    return tmp_path


def test_recipes_are_printed_and_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--json"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert re.split(r" {2,}", lines[0]) == ["recipe", "val accuracy, %", "val loss", "epochs", "time"]
    words = [recipe_words(table, MEMBERS[0]) for table in MEMBERS]
    count = len(words)
    assert [line.split("  ")[1].strip() for line in lines[1 : 1 + count]] == words
    selected = lines[2 + count]
    assert re.match(r"selected        (recipe|the mean of recipes) .*the lowest validation loss, ", selected)
    assert f"small mg-gcn seed 0: recipe 2 of {count}: {words[1]}" in err
    members = json.loads(lines[-1])["portfolio"]
    assert [member["epochs"] for member in members] == [6] * count
    page = (RUN / "report.html").read_text()
    assert "<h3>Recipes</h3>" in page
    assert all(html.escape(each) in page for each in words)
    assert f"Selected: {selected.removeprefix('selected').strip()}." in page


def test_of_several_seeds_what_was_selected_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--seeds", "2", "--quiet", "--per-class"]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^selected        (seed \d), ", out, re.MULTILINE) == ["seed 0", "seed 1"]
    assert "recipe  " not in out
    assert re.search(r"^red .* 5$|^red .* 6$|^red .* 7$", out, re.MULTILINE), "18 test nodes of three classes"


def test_none_trains_one_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN[:-1], "portfolio=none", "--no-report", "--quiet"]) == 0
    assert "recipe" not in capsys.readouterr().out
    assert mggcn.load_run(RUN).record.portfolio is None


def test_its_config_trains_it_again() -> None:
    assert main([*TRAIN, "--no-report", "--quiet"]) == 0
    config = str(RUN / "config.toml")
    assert main(["train", "--config", config, "--no-report", "--quiet", "--out", "again"]) == 0
    first, again = (mggcn.load_run(path / RUN.name) for path in (Path("runs"), Path("again")))
    assert first.portfolio is not None
    assert again.portfolio is not None
    assert again.portfolio.digest == first.portfolio.digest
    assert [member.val_loss for member in again.record.portfolio or ()] == [
        member.val_loss for member in first.record.portfolio or ()
    ]
    assert main(["train", "--config", config, "--no-report", "--quiet", "--out", "b", "--set", "conv=gcn"]) == 0
    other = tomllib.loads((Path("b") / RUN.name / "config.toml").read_text())
    assert other["settings"]["conv"] == "gcn"
    assert other["members"] == resolve("mg-gcn", "small", {"portfolio": "auto", "conv": "gcn"}).tables
    assert main(["train", "--config", config, "--no-report", "--quiet", "--out", "c", "--set", "portfolio=none"]) == 0
    assert "members" not in (Path("c") / RUN.name / "config.toml").read_text()


def test_code_in_the_recipes_of_a_config_is_not_imported(capsys: pytest.CaptureFixture[str]) -> None:
    Path("config.toml").write_text(
        'dataset = "data"\nmethod = "mg-gcn"\nmembers = [{}, { conv = "os:system" }]\n[settings]\nportfolio = "auto"\n'
    )
    assert main(["train", "--config", "config.toml"]) == 2
    assert "config.toml: field conv names code to import (os:system)" in capsys.readouterr().err


def test_wrong_recipes_of_a_config_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("config.toml").write_text(
        'dataset = "data"\nmethod = "mg-gcn"\nmembers = [{}, { pics = 3 }]\n[settings]\nportfolio = "auto"\n'
    )
    assert main(["train", "--config", "config.toml"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mggcn: error: members: unknown setting")
    assert not Path("runs").exists()


def test_interrupted_it_continues(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate, calls = loop.evaluate, []

    def interrupted(*arguments: object) -> object:
        calls.append(1)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return evaluate(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "evaluate", interrupted)
    assert main([*TRAIN, "--no-report", "--quiet"]) == 130
    assert "continue with: mggcn train --resume runs/small-mg-gcn-seed0" in capsys.readouterr().err
    assert main(["train", "--resume", str(RUN), "--no-report", "--quiet", "--set", "patience=50"]) == 0
    assert len(calls) <= 9 + 3 * 6, "the first recipe is not trained again"
    assert mggcn.load_run(RUN).record.resumed == 1


def test_a_comparison_trains_and_remembers_it(capsys: pytest.CaptureFixture[str]) -> None:
    compare = ["compare", "data", "--methods", "mg-gcn,mlp", "--seeds", "1", "--set", *SETTINGS, "--device", "cpu"]
    assert main([*compare, "--quiet"]) == 0
    (ledger,) = Path().rglob("records.jsonl")
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    portfolios = [record["portfolio"] for line in lines if (record := line.get("record", line))["method"] == "mg-gcn"]
    assert [len(members) for members in portfolios] == [len(MEMBERS)]
    content = ledger.read_bytes()
    capsys.readouterr()
    assert main(compare) == 0
    assert "2 of 2 runs are done already" in capsys.readouterr().err
    assert ledger.read_bytes() == content


def test_a_search_tries_single_recipes() -> None:
    pytest.importorskip("optuna")
    assert main([*TRAIN, "--tune", "1", "--no-report", "--quiet"]) == 0
    assert mggcn.load_run(RUN).record.portfolio is None
