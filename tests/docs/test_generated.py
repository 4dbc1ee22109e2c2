"""What the documentation computes about the method is true, and would not be shown if it were not."""

import json
import shlex
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from generate import (
    choice,
    committed,
    compare,
    depth,
    effort,
    ethereum,
    exact,
    experiments,
    methods,
    pictures,
    reliability,
    results,
    scale,
    wait,
)
from generate.example import PICKS, SIX, TWELVE, members
from generate.repository import ROOT, script

import mggcn
from mggcn import cli
from mggcn.data import save
from mggcn.ethereum import _stages as rules
from mggcn.experiments._records import pack
from mggcn.experiments._sections import ExperimentInfo, Row, Section
from mggcn.methods import METHODS
from mggcn.methods.graphsage import GraphSAGEPool
from mggcn.training import packed_bits
from tests.paper.algorithm1 import sequences
from tests.records import record

SIMULATED = """
name = "ethereum"
title = "As the paper's, and short"
reproduces = "a part"
datasets = ["ethereum-simulated"]
seeds = 1
settings = { epochs = 1 }

[folders]
ethereum-simulated = "make it"

[[variant]]
label = "mg-gcn 5"
method = "mg-gcn"
"""


def test_trials_follow_algorithm_1_exactly() -> None:
    graph = SIX.graph
    for target in range(graph.num_nodes):
        law = sequences(graph, graph.degrees.tolist(), target, exact.PICKS)
        assert exact.by_rejection(graph, target, exact.PICKS) == law


def test_without_the_rule_of_the_first_member_they_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "verdict", lambda _, chosen, __, w: "in S" if w in chosen else "")
    assert exact.by_rejection(SIX.graph, 0, exact.PICKS) != exact.algorithm_1()
    with pytest.raises(ValueError, match="do not follow"):
        exact.all_sequences()


def test_the_kernel_passes_the_test_that_is_shown() -> None:
    law = exact.algorithm_1()
    assert sum(law.values()) == Fraction(1)
    assert exact.kernel().total() == exact.DRAWS
    _, freedom, p = exact.chi_square(law, exact.kernel())
    assert freedom == len(law) - 1
    assert p > 0.001


def test_the_worked_pick_ends_in_the_law() -> None:
    text = exact.one_pick()
    assert text.count("**accepted**") == 2
    given, law = (text.split(mark)[1].split(".")[0].strip(" :") for mark in ("something, that is", "asks for"))
    assert given == law


def test_the_pictures_show_what_the_text_says() -> None:
    graph, chosen = TWELVE.graph, members()
    assert len(set(chosen)) == PICKS + 1
    assert all(any(node in graph.row(earlier) for earlier in chosen[:n]) for n, node in enumerate(chosen) if n)
    assert not any(node in graph.row(0) for node in chosen[-2:]), "a pick that only the skip layer can reach"
    fine, coarse, skip = pictures.three_grains().split("<figure>")[1:]
    assert fine.count("<polygon") == sum(int(graph.degrees[node]) for node in chosen)
    inside = sum(int(node in graph.row(other)) for node in chosen for other in chosen)
    assert coarse.count("<polygon") == inside
    assert skip.count("<polygon") == PICKS


def test_neighbourhoods_grow_and_picks_do_not() -> None:
    rows = [line.split("|")[2:4] for line in depth.growth().splitlines()[2:5]]
    whole, picked = ([float(row[place].replace(",", "")) for row in rows] for place in (0, 1))
    assert all(b > 2 * a for a, b in pairwise(whole))
    assert picked[1] == picked[2]


def test_settings_come_from_the_class_and_its_bases() -> None:
    table = methods.settings(GraphSAGEPool)
    assert "| `pool` | `4` | a whole number | width of the pooled rows" in table
    assert "| `hidden` | `16` | a whole number | the width of the hidden layers. |" in table


def test_every_method_has_its_modules_words() -> None:
    pages = methods.pages()
    for name in METHODS:
        title = pages[f"methods/{name}.md"].splitlines()[2]
        assert name.partition("-")[0] in title.lower().replace("random forests", "random"), title


def test_results_with_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = mggcn.Graph.from_edges([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3], 6)
    split = mggcn.Split(np.array([0, 3]), np.array([1, 4]), np.array([2, 5]))
    y = np.repeat([0, 1], 3)
    data = mggcn.Dataset("triangles", graph, np.eye(2, dtype=np.float32)[y], y, ("one", "two"), split)
    mggcn.fit(data, settings={"epochs": 2, "picks": 2}).save(tmp_path / "run")
    path = tmp_path / "accuracy.json"
    assert cli.main(["report", str(tmp_path / "run"), "--format", "json", "--out", str(path)]) == 0
    monkeypatch.setattr(results, "packed", lambda: [path])
    monkeypatch.setattr(methods, "packed", lambda: [path])

    made = results.pages()
    assert made["results/accuracy.html"].startswith("<!DOCTYPE html>")
    page = made["results/index.md"]
    assert "{ #accuracy }" in page
    assert "### triangles" in page
    assert '<div class="charts"><figure><svg' in page
    assert "| mg-gcn |" in page
    assert "## Commands" not in page
    assert "| triangles |" in methods.pages()["methods/mg-gcn.md"]


def test_records_of_two_devices_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [path for path in committed.packed() if committed.about(path) == "speed"]
    monkeypatch.setattr(results, "report", lambda *_: "# Results")
    monkeypatch.setattr(results, "packed", lambda: both)
    page = results.pages()["results/index.md"]
    assert "## Training and convergence speed, on a GPU { #speed }" in page
    assert "## Training and convergence speed, on a CPU { #speed-cpu }" in page
    assert "`mggcn experiment run experiments/paper/speed.toml --device cpu`" in page
    monkeypatch.setattr(experiments, "packed", lambda: both)
    assert "[speed](results/index.md#speed), [speed-cpu](results/index.md#speed-cpu)" in experiments.table()
    monkeypatch.setattr(results, "packed", lambda: both[:1])
    assert "## Training and convergence speed { #speed }" in results.pages()["results/index.md"]


def test_the_comparison_uses_the_records_that_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "packed", list)
    monkeypatch.setattr(compare, "_too_slow", lambda _: set())
    assert compare.tables().count("| not run yet | not run yet | not run yet |") == 3 * len(METHODS)
    info = ExperimentInfo("compare", "All methods", "nothing", "accuracy", 2)
    rows = (Row("gcn", "gcn", "cpu", 2, (record(),)), Row("mlp", "mlp", "cpu", 2, (record("mlp"), record("mlp", 1))))
    (tmp_path / "compare.json").write_text(pack([Section("cora", rows, info)]))
    monkeypatch.setattr(compare, "packed", lambda: [tmp_path / "compare.json"])
    page = compare.tables()
    assert page.count("| not run yet | not run yet | not run yet |") == 3 * len(METHODS) - 2
    labels = [line.split(" | ")[0].strip("| ") for line in page.splitlines() if line.startswith("| ")]
    assert labels[2 : 2 + len(METHODS)] == list(METHODS), "in the order of the methods"
    assert "(1 of 2 seeds) | not run yet |" in page


def test_the_comparison_says_which_searches_were_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "packed", list)
    cora = compare.tables().split("## ")[1].splitlines()
    assert [line.split(" | ")[0] for line in cora if "too slow" in line] == ["| graphsage-lstm"]


def test_the_comparison_says_where_mg_gcn_is_not_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tuned(ours: float) -> str:
        info = ExperimentInfo("tuned-towns", "Tuned", "", "accuracy", 2)
        accuracies = {"mg-gcn": (ours, ours - 0.02), "gcn": (0.82, 0.80), "mlp": (0.6, 0.6)}
        rows = tuple(
            Row(name, name, "cpu", 2, tuple(record(name, seed, test_accuracy=each) for seed, each in enumerate(both)))
            for name, both in accuracies.items()
        )
        path = tmp_path / f"tuned-{ours}.json"
        path.write_text(pack([Section("towns", rows, info)]))
        monkeypatch.setattr(compare, "packed", lambda: [path])
        return compare.tables()

    behind = tuned(0.80)
    assert "**MG-GCN is not first here.** Tuned, gcn has 2.00 points more, 1.4 standard errors" in behind
    assert "MG-GCN is number 2 of 3." in behind
    assert "| mg-gcn | – | – | not run yet | not run yet | 79.00 ± 1.41 |" in behind.partition("## Towns")[2]
    assert "<svg" in behind
    assert "| towns | not run yet | not run yet | 79.00 ± 1.41 | gcn 81.00 |" in compare.summary()
    assert "Tuned, MG-GCN is first of 3 methods." in tuned(0.9)


def test_the_comparison_says_where_mg_gcn_is_tied() -> None:
    def row(name: str, right: int) -> Row:
        bits = packed_bits(np.arange(1000) < right)
        records = [
            record(
                name,
                seed,
                dataset={"name": "towns", "digest": "d"},
                test_accuracy=right / 1000,
                test_confusion=[[right, 1000 - right], [0, 0]],
                test_right=bits,
            )
            for seed in range(3)
        ]
        return Row(name, name, "cpu", 3, tuple(records))

    rows = {name: row(name, right) for name, right in (("mg-gcn", 900), ("gcn", 902), ("mlp", 800))}
    assert compare._first(rows).startswith(
        "Tuned, MG-GCN is tied with gcn, which has 0.20 points more: chance may explain the difference. (standing: "
    )
    assert compare._first({**rows, "gcn": row("gcn", 880)}) == "Tuned, MG-GCN is first of 3 methods."
    clear = compare._first({**rows, "gcn": row("gcn", 950)})
    assert clear.startswith(
        "**MG-GCN is not first here.** Tuned, gcn has 5.00 points more; MG-GCN is number 2 of 3. (sta"
    )


def test_the_phases_of_trainings_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "RESULTS", tmp_path)
    assert wait.chart() == "Not measured yet: `python -m benchmarks.speed wait`."
    figures = {
        "first": {"label": "first run, all", "median": 9.0},
        "first_load": {"label": "first run: loading the data", "median": 2.0},
        "later_load": {"label": "later run: loading the data", "median": 1.0},
    }
    record = {"machine": {}, "threads": {"torch": 2}, "dataset": {"name": "towns"}, "figures": figures}
    (tmp_path / "wait-towns-1-cpu.json").write_text(json.dumps(record))
    drawn = wait.chart()
    assert "towns, 2 cores: first run" in drawn
    assert "towns, 2 cores: later run" in drawn
    assert "loading the data" in drawn


def test_results_without_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "packed", list)
    assert list(results.pages()) == ["results/index.md"]
    assert "No records are committed yet" in results.pages()["results/index.md"]


def test_a_broken_file_of_records_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "accuracy.json").write_text("{}")
    with pytest.raises(ValueError, match=r"accuracy\.json"):
        results.report(tmp_path / "accuracy.json", "md")


def test_experiments_whose_data_are_made_first_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "packed", list)
    rows = {line.split("`")[1]: line for line in experiments.table().splitlines()[2:]}
    own = {name for name, line in rows.items() if "made first" in line}
    computers = {"tuned/coauthor-cs.toml", "tuned/amazon-computers.toml"}
    assert own == {"default.toml", *computers, *(name for name in rows if "ethereum" in name)}
    assert len(own) == 9
    needed = experiments.needed()
    assert (
        "`ethereum`: the authors' graph is not public; who has it makes the folder with: `mggcn data import" in needed
    )
    assert "`ethereum-simulated`: a simulated chain" in needed


def test_the_commands_that_make_a_data_set_exist() -> None:
    commands = [part for line in experiments.needed().splitlines() for part in line.split("`")[3].split(" && ")]
    assert len(commands) == 8
    for command in commands:
        _, *arguments = shlex.split(command)
        cli.app.parse_args(arguments, exit_on_error=False, print_error=False)


def test_rules_features_and_formats_are_those_of_the_package() -> None:
    assert ethereum.dropped().splitlines()[2:3] == [f"| no time | {rules.DROPPED['no_time']} |"]
    assert len(ethereum.dropped().splitlines()) == 2 + len(rules.DROPPED)
    assert len(ethereum.changed().splitlines()) == 2 + len(rules.CHANGED)
    assert len(ethereum.feature_formulas().splitlines()) == 2 + 15
    assert "| 15 | `never_sent` | 1 if out_tx is 0, else 0 |" in ethereum.feature_formulas()
    assert "| 13 | `tx_freq` | (in_tx + out_tx) / (active_days + 1) |" in ethereum.feature_formulas()
    assert ethereum.known_formats().count("| cryo |") == 1
    assert "several inputs" not in ethereum.known_formats()


@pytest.mark.parametrize(
    "table",
    [
        ethereum.known_formats,
        ethereum.roles,
        ethereum.feature_formulas,
        ethereum.dropped,
        ethereum.changed,
        ethereum.alerts,
        ethereum.accounts_and_edges,
    ],
)
def test_the_ethereum_page_has_the_tables_of_code_and_records(table: Callable[[], str]) -> None:
    assert f"\n\n{table()}\n\n" in (ROOT / "docs" / "ethereum.md").read_text(), f"docs/ethereum.md needs\n{table()}"


def test_results_on_ethereum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ethereum, "packed", list)
    assert ethereum.results().count("Not run yet.") == 4
    graph = mggcn.Graph.from_edges([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3], 6)
    split = mggcn.Split(np.array([0, 3]), np.array([1, 4]), np.array([2, 5]))
    y = np.repeat([0, 1], 3)
    x = np.eye(2, dtype=np.float32)[y]
    data = mggcn.Dataset("ethereum:simulated", graph, x, y, ("one", "two"), split, source="SIMULATED: triangles")
    save(data, tmp_path / "ethereum-simulated")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file, records, path = tmp_path / "ethereum.toml", tmp_path / "records", tmp_path / "any.json"
    file.write_text(SIMULATED)
    run = ["experiment", "run", str(file), "--root", str(tmp_path), "--quiet"]
    assert cli.main([*run, "--out", str(records)]) == 0
    assert cli.main(["report", str(records), "--format", "json", "--out", str(path)]) == 0
    monkeypatch.setattr(ethereum, "packed", lambda: [path])
    told = ethereum.results()
    assert told.count("Not run yet.") == 3
    assert "**ethereum-simulated.** 6 nodes" in told
    assert "SIMULATED: triangles" in told
    assert "| mg-gcn 5 | – |" in told


def test_the_readme_has_the_accuracies_of_the_records() -> None:
    readme = (ROOT / "README.md").read_text()
    [path] = [one for one in committed.packed() if one.stem == "accuracy"]
    ours = [(one.dataset, line) for one in committed.sections(path) for line in one.measured if line.label == "mg-gcn"]
    assert [dataset for dataset, _ in ours] == ["cora", "citeseer", "pubmed"]
    for dataset, line in ours:
        mean, deviation = line.figures.accuracy, line.figures.accuracy_std or 0
        row = f"{line.published['accuracy']:.1%} | {mean * 100:.1f} ± {deviation:.1%}".replace("%", " %")
        assert f"| {dataset.capitalize()} | {row} |" in readme


def test_methods_are_ranked_by_their_distance_to_the_best_of_each_data_set() -> None:
    def row(method: str, accuracy: float, seconds: float) -> Row:
        run = record(method, test_accuracy=accuracy, seconds_to_best=seconds)
        return Row(method, method, "cpu", 1, (run,))

    rows = {
        "first": {one.method: one for one in (row("mg-gcn", 0.90, 1.0), row("gcn", 0.92, 4.0))},
        "second": {one.method: one for one in (row("mg-gcn", 0.80, 2.0), row("mlp", 0.75, 3.0))},
    }
    lines = choice.table(["mg-gcn", "gcn"], ["first", "second"], {}, rows).splitlines()
    assert lines[2:] == ["| mg-gcn | – | – | 1.0 | 1.5 s |", "| gcn | – | – | – | – |"]


def test_every_data_set_of_the_searches_is_of_one_kind() -> None:
    of_a_kind = [dataset for datasets in choice.KINDS.values() for dataset in datasets]
    assert sorted(of_a_kind) == sorted(compare.rows_of("tuned-"))
    text = choice.tables()
    assert all(f"### {kind}" in text for kind in choice.KINDS)
    assert "cora, citeseer, pubmed, coauthor-cs. Tuned, within a point of the best on each of them: [mg-gcn]" in text


def test_promises_show_what_was_run_and_what_failed() -> None:
    machine = {"processor": "P", "cores": 2, "python": "3", "packages": {"torch": "2"}}
    kills: dict[str, object] = {
        "held": [[0, 2], [4, 5]],
        "failed": {"3": "mggcn train: torn"},
        "seconds": 90.0,
        "machine": machine,
    }
    kills["commits"] = ["0123456789", "abcdef0123+"]
    text = reliability.table({"kills": kills})
    (row,) = (line for line in text.splitlines() if "(`kills`)" in line)
    assert row.endswith("| 500 | 6 | 5 | 2 min |")
    (other,) = (line for line in text.splitlines() if "(`soak`)" in line)
    assert other.endswith("| 30 minutes | 0 | 0 | – |")
    assert "- `kills --first 3`: mggcn train: torn" in text
    assert "`kills`: P, 2 cores, Python 3, torch 2, commit 01234567 and abcdef01+." in text


def test_every_promise_has_results() -> None:
    promises = script("benchmarks/faults/promises.py").PROMISES
    assert set(json.loads(reliability.RECORD.read_text())["promises"]) == set(promises)


def test_what_was_not_measured_says_so_and_what_was_is_shown() -> None:
    parts = (scale.measurements, scale.per_target, scale.derived)
    assert all(scale.NOT_RUN in part({}) for part in parts)
    common = {"nodes": 20_000_000, "edges": 200_000_000, "features": 64, "anonymous": 2**30, "resident": 2**31}
    names = {
        f"import-{common['nodes']}": 300.0,
        f"prepare-{common['nodes']}": 200.0,
        f"predict-{common['nodes']}": 400.0,
    }
    names |= {f"epoch-{nodes}": 40.0 for nodes in (1_250_000, 5_000_000, 20_000_000)}
    names |= {"epoch-20000000-leave-6GiB": 100.0, "epoch-20000000-cuda": 0.2, "epoch-20000000-cuda-leave-4GiB": 5.0}
    held = {
        name: {**common, "seconds": seconds, "disk": 2 * 10**10, "details": {"targets": 1_000_000, "epochs": [9.0]}}
        for name, seconds in names.items()
    }
    assert not any(scale.NOT_RUN in part(held) for part in parts)
    assert scale.NOT_RUN in scale.spark({})
    assert "for 240,746 and 1,000,143 rows, grows 4.1%" in scale.spark()
    assert "50,000 nodes/s, anonymous 1 GiB" in scale.measurements(held)
    assert "| < 0.3 s | 0.20 s; the first, which also compiles kernels and loads rows, 9 s |" in scale.measurements(
        held
    )
    assert "1,207,179 × 40.0 µs = 48 s" in scale.derived(held)
    assert "7.2 M" in scale.derived(held)


def test_the_effort_of_searches_is_that_of_their_file() -> None:
    counts = effort.counted()
    assert max(recipes for recipes, _ in counts["mg-gcn"].values()) > 10 * max(r for r, _ in counts["gcn"].values())
    lines = {line.split(" | ")[0].strip("| "): line.strip("| ").split(" | ") for line in effort.table().splitlines()}
    assert lines["mg-gcn"][1] == str(len(counts["mg-gcn"]))
    assert lines["mg-gcn"][-1] == "4"
    assert lines["gcn"][-1] == "1"
    assert "mlp" in lines
