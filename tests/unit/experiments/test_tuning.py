"""``mggcn tune``: the searched settings, the stored trials, and that a killed search continues."""

import fcntl
import io
import json
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import mggcn
from mggcn import methods
from mggcn._io.files import checksummed
from mggcn.cli import main
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.experiments import Ledger
from mggcn.experiments import _tuning as tuning
from mggcn.experiments._tuning import SPACE, Choice, Range, Search, Trial, Tuning
from mggcn.runs import Plan, resolve
from mggcn.runs._run_folder import load_run
from mggcn.training import _environment as environment
from mggcn.training._loop import Silent
from mggcn.training._record import Epoch
from mggcn.training._training import Training

pytest.importorskip("optuna", reason="needs the extra tune")
OF_TRAINING = {"scaling", "input_dropout", "label_smoothing", "consistency", "averaging"}
QUICK = {"epochs": 5, "patience": 3}
COMMAND = ["tune", "data", "--method", "mlp", "--set", "epochs=5", "patience=3", "--out", "out"]


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip measuring memory and describing the machine, which take longer than these short runs."""
    monkeypatch.setattr(environment, "reset_peak", lambda _: None)
    monkeypatch.setattr(environment, "describe", dict)


@pytest.fixture
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")
    return tmp_path


def silent(trial: Trial) -> Silent:
    return Silent()


def search(data: Dataset, folder: Path, trials: int, **changes: Any) -> list[Trial]:
    tuned = Tuning(Search(data, "mlp", **({"fixed": QUICK} | changes)), folder)
    with tuned.opened():
        list(tuned.run(trials, silent))
        return tuned.trials


def test_the_best_trial_is_trained_again_bit_for_bit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--trials", "3", "--seeds", "2", "--json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out.splitlines()[-1])
    best = result["best"]
    assert [trial["number"] for trial in result["trials"]] == [1, 2, 3]
    assert best["value"] == max(trial["value"] for trial in result["trials"] if trial["value"] is not None)
    assert best["value"] >= result["trials"][0]["value"], "the best trial is never worse than the first"
    assert "\n1 (default settings) " in out
    assert "best settings in out/best.toml" in out
    assert "[1/3]" in err
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["best.toml", "records.jsonl", "trials.jsonl"]
    assert main(["train", "--config", "out/best.toml", "--quiet", "--no-report"]) == 0
    (trained,) = (folder / "runs").iterdir()
    again = load_run(trained).record
    kept = [record for record in Ledger(folder / "out" / "records.jsonl").records.values() if record.seed == 0]
    (same,) = [record for record in kept if record.settings == again.settings]
    assert [replace(epoch, train_seconds=0, eval_seconds=0) for epoch in again.curve] == [
        replace(epoch, train_seconds=0, eval_seconds=0) for epoch in same.curve
    ]
    assert all(again.settings[name] == value for name, value in best["settings"].items() if value != "auto")


def test_the_first_trial_is_the_method_as_it_is(small: Dataset, tmp_path: Path) -> None:
    first = search(small, tmp_path, 1)[0]
    plain = resolve("mlp", "small", {}).settings
    assert first.settings == {name: plain[name] for name in first.settings}
    assert set(first.settings) == {"lr", "weight_decay", "batch_size", "layers", "hidden", "dropout", *OF_TRAINING}


def test_the_first_trial_is_of_the_preset(small: Dataset) -> None:
    for preset in ("default", "paper"):
        start = Search(small, "mg-gcn", preset=preset).start
        plain = resolve("mg-gcn", small, preset=preset).settings
        assert start == {name: plain[name] for name in start}
        assert {"picks", "hops", "hidden", "fine_norm", "explore", "pick_by", *OF_TRAINING} < set(start)
        space = Search(small, "mg-gcn", preset=preset).space
        for name, value in start.items():
            values = space[name]
            assert value in values.values if isinstance(values, Choice) else values.low <= value <= values.high
    ours, papers = (Search(small, "mg-gcn", preset=preset) for preset in ("default", "paper"))
    assert ours.identity != papers.identity, "a search goes on with the preset that it began with"


def test_a_preset_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["tune", "data", "--trials", "1", "--set", "epochs=1", "--quiet", "--json"]
    for preset, explore in (("paper", "both"), ("default", "breadth")):
        assert main([*call, "--preset", preset, "--out", preset]) == 0
        (trial,) = json.loads(capsys.readouterr().out.splitlines()[-1])["trials"]
        assert trial["settings"]["explore"] == explore
    assert main([*call, "--preset", "paper", "--out", "default"]) == 2
    assert "belongs to another search" in capsys.readouterr().err


def test_what_is_fixed_is_not_searched_and_what_is_not_trained_has_no_learning_rate(small: Dataset) -> None:
    assert "lr" not in Search(small, "mlp", fixed={"lr": 0.2}).start
    assert set(Search(small, "label-propagation").start) == {"alpha", "iterations"}
    assert set(Search(small, "sgc").start) == {"lr", "weight_decay", "batch_size", "hops", *OF_TRAINING}
    assert {"fanouts", "hidden"} < set(Search(small, "graphsage-mean").start)
    assert set(Search(small, "random-forest").start) == {"trees", "max_depth", "min_leaf"}
    assert set(Search(small, "lightgbm").start) == {"trees", "max_depth", "min_leaf", "leaves", "shrinkage"}
    assert all(Search(small, method).start for method in methods.METHODS)
    assert "class_weights" in Search(small, "mlp", target="macro-f1").start, "which do not help accuracy"
    with pytest.raises(InputError, match="no setting is left to be searched"):
        _ = Search(small, "label-propagation", fixed={"alpha": 0.5, "iterations": 3}).start


def test_settings_that_a_method_cannot_use_are_not_searched(small: Dataset) -> None:
    for method in ("cluster-gcn", "graphsaint"):
        assert "consistency" not in Search(small, method).start, "draws of its batches have different targets"
    assert "scaling" not in Search(small, "deepwalk").start
    for data, auto, others in ((small, "standard", {"root"}), (sparse(small), "row", {"root", "tfidf"})):
        assert set(Search(data, "mlp", preset="paper").space["scaling"].values) == {"auto", *others}
        fixed = Search(data, "mg-gcn", preset="paper", fixed={"scaling": auto})
        assert "scaling" not in fixed.start
    assert set(Search(sparse(small), "mg-gcn").space["scaling"].values) == {"row", "root", "tfidf"}


def sparse(data: Dataset) -> Dataset:
    return replace(data, x=csr_array(np.maximum(data.x - 1, 0)))


def test_a_method_that_redraws_targets_cannot_be_trained_for_consistency(small: Dataset) -> None:
    batches = {"graphsaint": {"roots": 5}, "cluster-gcn": {"parts": 6, "parts_per_batch": 2}}
    assert {name for name, kind in methods.METHODS.items() if kind.redraws_targets} == set(batches)
    if find_spec("pymetis") is None:
        del batches["cluster-gcn"]
    for method, settings in batches.items():
        with pytest.raises(InputError, match="consistency: needs a method whose batches have the same targets"):
            mggcn.fit(small, method, settings={**QUICK, **settings, "consistency": 1.0})


def test_every_searched_value_belongs_to_a_setting_and_is_valid(small: Dataset) -> None:
    for name, space in SPACE.items():
        owners = [
            method
            for method, kind_of_method in methods.METHODS.items()
            if name in {field.name for kind in (kind_of_method, Training) for field in fields(kind)}
        ]
        assert owners, f"{name} is a setting of no method"
        values = space.values if isinstance(space, Choice) else (space.low, space.high)
        for value in values:
            resolve(owners[0], "small", {name: value})


def test_a_start_outside_the_space_widens_it(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "mggcn.experiments._tuning.SPACE", {**SPACE, "hidden": Choice((3, 5)), "lr": Range(0.02, 0.1, log=True)}
    )
    trials = search(small, tmp_path, 3)
    assert (trials[0].settings["hidden"], trials[0].settings["lr"]) == (128, 0.003)
    assert {trial.settings["hidden"] for trial in trials} <= {128, 3, 5}


def test_the_value_is_the_mean_validation_metric_over_seeds(small: Dataset, tmp_path: Path) -> None:
    by_f1 = search(small, tmp_path, 2, seeds=2, target="macro-f1")
    records = list(Ledger(tmp_path / "records.jsonl").records.values())
    assert [record.seed for record in records] == [0, 1, 0, 1]
    assert by_f1[0].value == pytest.approx((records[0].val_macro_f1 + records[1].val_macro_f1) / 2)


@pytest.mark.slow
def test_a_killed_search_continues_as_if_it_had_not_been_killed(folder: Path, small: Dataset) -> None:
    journal = folder / "out" / "trials.jsonl"
    command = [sys.executable, "-m", "mggcn", *COMMAND, "--trials", "500", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if journal.exists() and journal.read_bytes().count(b"\n") >= 3:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "it was still at work"
    with journal.open("ab") as file:
        file.write(b'{"checksum": "4')
    data = load_folder(folder / "data")
    done = search(data, folder / "out", 0, fixed=strings(QUICK))
    assert len(done) >= 2
    continued = search(data, folder / "out", len(done) + 2, fixed=strings(QUICK))
    assert continued[: len(done)] == done
    assert continued == search(data, folder / "other", len(done) + 2)


def strings(values: dict[str, int]) -> dict[str, object]:
    """Settings as the command line gives them."""
    return {name: str(value) for name, value in values.items()}


def test_trials_are_not_repeated_and_best_is_repaired(small: Dataset, tmp_path: Path) -> None:
    search(small, tmp_path, 3)
    (tmp_path / "best.toml").write_text("stale")
    lines = (tmp_path / "records.jsonl").read_text()
    assert len(search(small, tmp_path, 3)) == 3
    assert (tmp_path / "records.jsonl").read_text() == lines
    assert 'method = "mlp"' in (tmp_path / "best.toml").read_text()


def test_runs_of_an_unfinished_trial_are_not_repeated(small: Dataset, tmp_path: Path) -> None:
    search(small, tmp_path, 2, seeds=2)
    lines = (tmp_path / "records.jsonl").read_text().splitlines()
    (tmp_path / "trials.jsonl").unlink()
    (tmp_path / "records.jsonl").write_text("\n".join(lines[:3]) + "\n")
    again = search(small, tmp_path, 2, seeds=2)
    after = (tmp_path / "records.jsonl").read_text().splitlines()
    assert after[:3] == lines[:3]
    assert [json.loads(line)["spec"] for line in after] == [json.loads(line)["spec"] for line in lines]
    assert len(again) == 2


def test_another_search_in_the_same_folder_is_refused(small: Dataset, tmp_path: Path) -> None:
    search(small, tmp_path, 1)
    with pytest.raises(InputError, match=r"belongs to another search \(seeds 1, now 2\)"):
        search(small, tmp_path, 1, seeds=2)
    with pytest.raises(InputError, match=r"\(hidden 128, now 8\)"):
        search(small, tmp_path, 1, fixed={**QUICK, "hidden": 8})
    with (tmp_path / "trials.jsonl").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process is writing to it"):
            search(small, tmp_path, 1)
    (tmp_path / "trials.jsonl").write_text("[]\n{}\n")
    with pytest.raises(InputError, match=r"trials\.jsonl: line 1: not a line of trials"):
        search(small, tmp_path, 1)


def test_a_changed_trial_is_noticed(small: Dataset, tmp_path: Path) -> None:
    search(small, tmp_path, 1)
    log = tmp_path / "trials.jsonl"
    changed = log.read_text().replace('"value": 0.', '"value": 1.')
    assert changed != log.read_text()
    log.write_text(changed)
    with pytest.raises(InputError, match=r"trials\.jsonl: line 2: not a line of trials .*wrong checksum"):
        search(small, tmp_path, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settings": {"lr": 0.1}}, "settings: averaging is only in"),
        ({"changed": {"lr": 7.0}}, "The value 7.0 of parameter 'lr' isn't contained"),
        ({"changed": {"hidden": 17}}, "'17' not in"),
        ({"changed": {"conv": "evil:conv"}}, "settings: conv is only in the trial"),
        ({"settings": ["lr"]}, "field settings: expected object, got array"),
        ({"value": "0.9"}, "field value: expected float | null, got str ('0.9')"),
        ({"value": float("nan")}, "field value"),
        ({"reason": 7}, "field reason: expected str, got int (7)"),
    ],
)
def test_a_trial_that_the_search_cannot_have_written_is_named(
    small: Dataset, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    search(small, tmp_path, 1)
    log = tmp_path / "trials.jsonl"
    header, line = log.read_bytes().splitlines(keepends=True)
    fields = {name: value for name, value in json.loads(line).items() if name != "checksum"}
    fields["settings"] |= changes.pop("changed", {})
    log.write_bytes(header + checksummed(json.dumps(fields | changes), " ") + b"\n")
    with pytest.raises(InputError, match=r"trials\.jsonl: trial 1: ") as error:
        search(small, tmp_path, 2)
    assert message in str(error.value)


def test_a_trial_that_cannot_be_trained_is_given_up_but_not_the_first(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, calls = tuning.fit_plan, []

    def failing(*args: Any, **options: Any) -> Any:
        calls.append(options)
        if len(calls) == 2:
            raise InputError("lr: training diverged")
        return fit(*args, **options)

    monkeypatch.setattr(tuning, "fit_plan", failing)
    trials = search(small, tmp_path, 3)
    assert [(trial.value is None, trial.reason) for trial in trials] == [
        (False, ""),
        (True, "lr: training diverged"),
        (False, ""),
    ]
    calls[:] = [{}]
    with pytest.raises(InputError, match="training diverged"):
        search(small, tmp_path / "new", 1)


def test_a_hopeless_trial_is_given_up_early(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials receive made-up epochs: five good trials, then one that is worse at epoch 20."""
    finished: list[int] = []

    def fit(dataset: Dataset, plan: Plan, progress: Any, *rest: Any) -> Any:
        accuracy = 0.9 if len(finished) < 5 else 0.2
        curve = [Epoch(number, 1.0, 1.0, accuracy, 0.0, 0.0) for number in range(1, 31)]
        for epoch in curve:
            progress.epoch(epoch)
        finished.append(1)
        return SimpleNamespace(record=replace(kept, curve=curve))

    tuned = Tuning(Search(small, "mlp", fixed=QUICK), tmp_path)
    kept = mggcn.fit(small, "mlp", settings=QUICK).record
    monkeypatch.setattr(tuning, "fit_plan", fit)
    with tuned.opened():
        trials = list(tuned.run(6, silent))
    assert [trial.value is None for trial in trials] == [False] * 5 + [True]
    assert trials[-1].reason == "given up at epoch 20 with validation accuracy 20.00%"


def test_an_interrupted_search_can_be_continued(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, calls = tuning.fit_plan, []

    def interrupted(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit(*args, **options)

    monkeypatch.setattr(tuning, "fit_plan", interrupted)
    assert main([*COMMAND, "--trials", "4"]) == 130
    assert "best settings in" in capsys.readouterr().out
    assert main([*COMMAND, "--trials", "4"]) == 0
    assert "2 of 4 trials are done already" in capsys.readouterr().err


def test_time_runs_out(small: Dataset, tmp_path: Path) -> None:
    tuned = Tuning(Search(small, "mlp", fixed=QUICK), tmp_path)
    with tuned.opened():
        assert list(tuned.run(5, silent, timeout=0)) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--trials", "0"], 'Invalid value "0" for --trials. Must be > 0.'),
        (["--trials", "2", "--seeds", "0"], 'Invalid value "0" for --seeds. Must be > 0.'),
        (["--timeout", "0"], 'Invalid value "0.0" for --timeout. Must be > 0.'),
        (["--timeout", "-0.5"], 'Invalid value "-0.5" for --timeout. Must be > 0.'),
        (["--timeout", "nan"], 'Invalid value "nan" for --timeout. Must be > 0.'),
        (["--trials", "2", "--set", "lrr=1"], "unknown setting 'lrr'"),
        (["--trials", "2", "--method", "mlpp"], "unknown method 'mlpp'"),
    ],
)
def test_bad_calls(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["tune", "data", "--out", "out", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_seeds_are_checked_before_data_are_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "nowhere", "--seeds", "0"]) == 2
    assert capsys.readouterr().err == 'mggcn: error: Invalid value "0" for --seeds. Must be > 0.\n'


def test_without_optuna(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main([*COMMAND, "--trials", "1"]) == 2
    assert "pip install 'mggcn[tune]'" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_one_live_line_on_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "140")
    assert main([*COMMAND, "--trials", "2"]) == 0
    assert "small mlp" in terminal.getvalue()
    assert "best" in terminal.getvalue()
    assert "2/2" in terminal.getvalue()
