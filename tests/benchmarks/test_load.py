"""The load of the machine during a measurement, and the medians of several runs of it."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.speed import load
from benchmarks.speed.load import Load, busy_seconds
from benchmarks.speed.options import Options, parse
from benchmarks.speed.page import page
from benchmarks.speed.timing import Measurements


@pytest.mark.skipif(busy_seconds() is None, reason="the system does not count it")
def test_a_busy_process_is_counted_as_another_one() -> None:
    measured = Load()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        time.sleep(1.0)
        others = measured.facts()["others"]
        busy.kill()
    assert others > 0.1
    assert measured.facts()["load_before"] >= 0


def test_own_work_is_not_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"busy": 100.0, "own": 40.0, "time": 0.0}
    monkeypatch.setattr(load, "busy_seconds", lambda: now["busy"])
    monkeypatch.setattr(load, "_own_seconds", lambda: now["own"])
    monkeypatch.setattr(load.time, "perf_counter", lambda: now["time"])
    measured = Load()
    now |= {"busy": 130.0, "own": 55.0, "time": 20.0}
    assert measured.facts()["others"] == pytest.approx(0.75)
    monkeypatch.setattr(load, "busy_seconds", lambda: None)
    assert "others" not in measured.facts()


def test_the_columns_of_the_system_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "stat"
    monkeypatch.setattr(load, "_STAT", path)
    monkeypatch.setattr(load.os, "sysconf", lambda _: 100)
    assert busy_seconds() is None
    path.write_text("cpu  100 20 30 5000 600 7 8 9 11 12\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    assert busy_seconds() == pytest.approx(1.74)


def of_run(epoch: float, floor: float, note: str) -> Measurements:
    measured = Measurements(facts={"settings": {}}, notes=["always", note])
    measured.add("epoch", "training epoch", [epoch, epoch + 1, epoch + 2], factor=2, basis="half")
    measured.add("floor", "bare products", [floor])
    measured.add_ratio("floor", "the epoch over its bare products", "epoch", "floor")
    return measured


def test_several_runs_have_the_median_of_their_medians() -> None:
    runs = [of_run(1, 4, "a"), of_run(9, 4, "b"), of_run(3, 1, "a")]
    assert Measurements.median_of(runs[:1]) is runs[0]
    whole = Measurements.median_of(runs)
    expected = {"median": 8.0, "min": 4.0, "max": 20.0, "repeats": 3, "unit": "s", "scaled": 2, "basis": "half"}
    assert whole.figures["epoch"] == {"label": "training epoch", **expected}
    assert whole.ratios["floor"] == runs[0].ratios["floor"] | {"value": 5.0, "min": 1.0, "max": 8.0, "runs": 3}
    assert whole.facts == {"settings": {}, "runs": 3}
    assert whole.notes == ["always", "a", "b"]


def test_settings_are_on_the_page_and_have_aims_of_their_own() -> None:
    whole = Measurements.median_of([of_run(1, 2, "a"), of_run(2, 2, "a"), of_run(1, 1, "a")])
    record = {
        "what": "epoch",
        "command": "python -m benchmarks.speed epoch",
        "variant": "recipe",
        "dataset": {"name": "pubmed", "scale": 1, "source": "", "num_nodes": 3, "num_stored": 4, "num_features": 5}
        | {"num_train": 2},
        "device": "cpu",
        "machine": {"processor": "P", "packages": {"torch": "2"}, "commit": None, "load_before": 0.5, "others": 0.25},
        "threads": {"torch": 2},
        **vars(whole),
    }
    text = page([record])
    machine = "P, 2 threads (torch 2, commit unknown, load before 0.5, other processes on 0.2 cores)"
    assert f"### pubmed, default recipe, {machine}" in text
    assert "| the epoch over its bare products | 3 × (2 × – 4 × in 3 runs) |" in text
    aim = "| the epoch over its bare products | pubmed, default recipe | 2 cores | at most 1.5 × | 3.00 × | missed |"
    assert aim in text


@pytest.mark.parametrize(
    ("words", "variant"),
    [
        (["epoch"], "paper"),
        (["wait"], "paper"),
        (["epoch", "--preset", "default"], "recipe"),
        (["wait", "--preset", "default"], "default"),
        (["wait", "--preset", "default", "--set", "portfolio=none"], "recipe"),
    ],
)
def test_a_command_says_which_settings_it_measures(words: list[str], variant: str) -> None:
    options = parse(words)
    assert options.variant == variant
    assert parse(options.command.split()[3:]) == options
    assert ("--batch-size" in options.command) == (options == Options(what="epoch"))
