"""Each section at a small scale: what its record contains and how its figures are related."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.speed import wait, wait_runner
from benchmarks.speed.__main__ import path_of, run
from benchmarks.speed.options import Options
from mggcn.errors import InputError


@pytest.fixture
def measured(generated: Path, tmp_path: Path) -> Any:
    def measure(what: str, **changes: Any) -> dict[str, Any]:
        options = Options(
            **({"what": what, "scale": 0.005, "repeats": 1, "out": tmp_path, "root": generated} | changes)
        )
        return run(options)[what]

    return measure


def check(record: dict[str, Any]) -> None:
    for figure in record["figures"].values():
        assert 0 < figure["min"] <= figure["median"] <= figure["max"]
        assert figure["repeats"] >= 1
    for ratio in record["ratios"].values():
        over, under = (record["figures"][ratio[side]]["median"] for side in ("over", "under"))
        assert ratio["value"] == pytest.approx(over / under)
    assert record["command"].startswith("python -m benchmarks.speed ")
    assert {"processor", "cores", "packages", "commit", "load_before"} <= record["machine"].keys()
    assert min(record["threads"].values()) >= 1


def test_picks(measured: Any) -> None:
    record = measured("pick")
    check(record)
    assert record["facts"]["targets"] == record["dataset"]["num_train"] == 762
    assert record["facts"]["picks"] == 4
    assert record["facts"]["same_for_any_threads"]
    assert record["facts"]["picks_made"] <= 4 * 762
    assert "762 of 762 targets" in record["figures"]["enumeration"]["basis"]
    assert {"threads", "enumeration", "kept", "search", "growth", "cached"} == record["ratios"].keys()
    degrees = record["facts"]["mean_degrees"]
    assert degrees[-1] == record["dataset"]["num_stored"] / record["dataset"]["num_nodes"]
    assert [round(degrees[-1] / degree) for degree in degrees] == [8, 4, 2, 1]


def test_preparation(measured: Any) -> None:
    record = measured("prepare")
    check(record)
    figures, gathered = record["figures"], record["facts"]["gathered_bytes"]
    assert gathered == record["dataset"]["num_stored"] * 602 * 4
    assert figures["rate"]["median"] == pytest.approx(gathered / figures["mean"]["median"])
    assert figures["read"]["median"] == pytest.approx(gathered / figures["memory"]["median"])


def test_epochs(measured: Any) -> None:
    record = measured("epoch")
    check(record)
    assert record["facts"]["settings"]["hidden"] == 128
    assert record["facts"]["settings"]["batch_size"] == 256
    assert record["facts"]["rows"] == 762 * 5
    assert record["facts"]["gathered_bytes"] == 762 * 5 * 1204 * 4
    assert record["facts"]["operations"] == 4 * 762 * 5 * 1204 * 128
    assert record["figures"]["rows"]["max"] == 256 * 5
    assert record["figures"]["distinct"]["max"] <= 256 * 5
    assert record["facts"]["profile"]
    assert {"floor"} == record["ratios"].keys()
    assert record["notes"] == []


def test_epochs_of_the_default_recipe(measured: Any, tmp_path: Path) -> None:
    record = measured("epoch", preset="default", runs=2)
    assert record["variant"] == "recipe"
    assert record["figures"]["epoch"]["repeats"] == record["ratios"]["floor"]["runs"] == 2
    assert record["ratios"]["floor"]["min"] <= record["ratios"]["floor"]["value"] <= record["ratios"]["floor"]["max"]
    assert record["machine"]["others"] >= 0
    assert [path.name for path in tmp_path.iterdir()] == ["epoch-reddit-like-0.005-cpu-recipe.json"]


@pytest.mark.slow
def test_the_whole_wait(measured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "CACHES", ())
    record = measured("wait", settings={"epochs": 2})
    check(record)
    figures = {name: figure["median"] for name, figure in record["figures"].items()}
    for which in ("first", "later"):
        phases = [value for name, value in figures.items() if name.startswith(f"{which}_")]
        assert sum(phases) == pytest.approx(figures[which])
    assert figures["beyond"] == pytest.approx(figures["later"] - figures["later_torch"])
    expected = {"python", "torch", "load", "prepare", "epochs", "evaluation", "test", "page", "other"}
    assert expected <= {name.removeprefix("later_") for name in figures}


def test_a_training_that_fails_is_named(measured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "CACHES", ())
    with pytest.raises(InputError, match=r"^mggcn train reddit-like:0.005 .*: exit code 2: .*hidden"):
        measured("wait", settings={"hidden": "many"})


def test_phases_inside_others_are_not_counted_twice() -> None:
    spans = [("compile", 2.0, 5.0), ("epochs", 1.0, 9.0), ("evaluation", 9.0, 10.0), ("epochs", 10.0, 12.0)]
    assert wait_runner.exclusive(spans) == {"epochs": 7.0, "compile": 3.0, "evaluation": 1.0}


def test_some_steps_are_scaled_to_an_epoch(measured: Any) -> None:
    figure = measured("epoch", steps=2)["figures"]["epoch"]
    assert figure["basis"] == "2 steps of 256 targets"
    assert figure["median"] > 0
    assert figure["scaled"] <= 762 / 512


def test_all_writes_a_record_for_each_section(generated: Path, tmp_path: Path) -> None:
    options = Options(scale=0.005, repeats=1, out=tmp_path / "new", root=generated, batch_size=512)
    shown: list[dict[str, Any]] = []
    records = run(options, shown.append)
    assert list(records) == ["pick", "prepare", "epoch"]
    assert shown == list(records.values())
    for what, record in records.items():
        assert path_of(what, options).name == f"{what}-reddit-like-0.005-cpu.json"
        assert json.loads(path_of(what, options).read_text())["figures"] == record["figures"]


def test_sparse_features_are_compared_with_their_dense_form(data_root: Path, tmp_path: Path) -> None:
    options = Options(what="all", dataset="cora", repeats=1, out=tmp_path, root=data_root)
    records = run(options)
    for record in records.values():
        check(record)
    assert records["epoch"]["facts"]["inputs"] == "sparse"
    assert {"floor", "dense"} == records["epoch"]["ratios"].keys()
    assert "too thin" in records["pick"]["notes"][0]
    assert records["prepare"]["facts"]["gathered_bytes"] > 0
