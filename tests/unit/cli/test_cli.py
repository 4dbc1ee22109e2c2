"""The command line: results, files, messages and exit codes."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mggcn.cli import main
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.methods import published

TRAIN = ("train", "data", "--no-report")
PAPER = (*TRAIN, "--preset", "paper")


@pytest.fixture
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")
    return tmp_path


def npz(path: Path, **changes: object) -> Path:
    fields = {
        "num_nodes": 20,
        "edge_index": np.array([[0, 1, 2], [1, 2, 3]]),
        "x": np.ones((20, 2)),
        "y": np.arange(20) % 2,
    }
    np.savez(path, **{key: value for key, value in (fields | changes).items() if value is not None})
    return path


def test_train_ends_with_json_and_a_run_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PAPER, "--epochs", "8", "--set", "picks=3", "hidden=8", "--set", "lr=0.1", "--json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out.splitlines()[-1])
    assert result["dataset"] == "small"
    assert result["method"] == "mg-gcn"
    assert (result["seed"], result["epochs"]) == (0, 8)
    for name in ("test_accuracy", "test_macro_f1", "val_loss", "epoch_seconds", "total_seconds", "peak_memory_bytes"):
        assert result[name] > 0
    record = json.loads((folder / result["run"] / "record.json").read_text())
    assert (record["settings"]["picks"], record["settings"]["hidden"], record["settings"]["lr"]) == (3, 8, 0.1)
    assert "test accuracy" in out
    calibration = "(temperature not used: it does not lower the loss in cross-validation)"
    assert f"calibration     error {result['test_ece']:.2%} {calibration}" in out
    assert result["converged"]
    assert "not converged" not in out
    assert "per_class" not in result
    assert "run folder      runs/small-mg-gcn-seed0" in out
    assert "60 nodes" in err
    assert "epoch    1  loss" in err


def test_quiet_prints_only_the_result(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--epochs", "2", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    recipes = 3 + len(published.portfolio("mg-gcn"))  # with a header, an empty line and what was selected
    assert len(out.splitlines()) == recipes + 7


def test_runs_that_are_too_short_are_marked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--epochs", "2", "--set", "lr=0.1", "--json", "--quiet"]
    assert main([*PAPER, *short]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    result = json.loads(last)
    assert "not converged: the best epoch is the last one; raise --epochs" in lines
    assert not result["converged"]
    scaled = f"({result['test_ece_uncalibrated']:.2%} before scaling by temperature {result['temperature']:.2f})"
    assert f"calibration     error {result['test_ece']:.2%} {scaled}" in lines
    assert main([*PAPER, "--seeds", "2", *short]) == 0
    out = capsys.readouterr().out
    assert "not converged (seed 0, 1): the best epoch is the last one; raise --epochs" in out
    assert main([*PAPER, "--seeds", "2", "--epochs", "3", "--quiet"]) == 0
    assert ", not used for 1 of 2 seeds: it does not lower the loss in cross-validation)" in capsys.readouterr().out


def test_seeds_give_mean_and_deviation(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--seeds", "3", "--seed", "5", "--epochs", "4", "--json", "--out", "here"]) == 0
    out = capsys.readouterr().out
    result = json.loads(out.splitlines()[-1])
    accuracies = [run["test_accuracy"] for run in result["runs"]]
    assert [run["seed"] for run in result["runs"]] == [5, 6, 7]
    assert result["test_accuracy_mean"] == pytest.approx(np.mean(accuracies))
    assert result["test_accuracy_std"] == pytest.approx(np.std(accuracies, ddof=1))
    assert sorted(p.name for p in (folder / "here").iterdir()) == [f"small-mg-gcn-seed{s}" for s in (5, 6, 7)]
    assert "over 3 seeds" in out


def test_a_config_runs_again_and_options_override_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--epochs", "3", "--seed", "4", "--set", "picks=2", "--quiet"]) == 0
    again = ["train", "--config", "runs/small-mg-gcn-seed4/config.toml", "--no-report", "--json"]
    assert main([*again, "--quiet"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["run"] == "runs/small-mg-gcn-seed4-2"
    first, second = (folder / "runs" / f"small-mg-gcn-seed4{end}" / "weights.safetensors" for end in ("", "-2"))
    assert first.read_bytes() == second.read_bytes()
    assert main([*again, "--epochs", "2"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["epochs"] == 2


def test_the_default_is_our_recipe_and_a_preset_the_papers_settings(
    folder: Path, capsys: pytest.CaptureFixture[str], small: Dataset
) -> None:
    save(replace(small, name="cora"), folder / "cora")
    settings = {}
    for preset in ("default", "paper"):
        assert main(["train", "./cora", "--no-report", "--quiet", "--epochs", "1", "--preset", preset, "--json"]) == 0
        run = json.loads(capsys.readouterr().out.splitlines()[-1])["run"]
        settings[preset] = json.loads((folder / run / "record.json").read_text())["settings"]
    assert main(["train", "./cora", "--no-report", "--quiet", "--epochs", "1", "--out", "unnamed"]) == 0
    assert json.loads((folder / "unnamed/cora-mg-gcn-seed0/record.json").read_text())["settings"] == settings["default"]
    names = ("hidden", "picks", "explore", "averaging", "draws", "scaling")
    assert [settings["paper"][name] for name in names] == [16, 6, "both", 0, 1, "row"]
    assert settings["default"]["explore"] == "breadth"
    assert settings["default"]["scaling"] == "standard", "these features are dense"
    assert main(["train", "./cora", "--preset", "papers"]) == 2
    assert '"papers"' in capsys.readouterr().err


def test_a_config_that_names_no_newer_settings_leaves_them_neutral(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as one that an older version wrote; ``preset`` and the option of that name say otherwise."""
    config = 'dataset = "data"\nmethod = "mg-gcn"\n{}[settings]\nepochs = 1\npicks = 3\n'
    found = []
    for name, line, options in (("old", "", []), ("new", 'preset = "default"\n', []), ("told", "", ["default"])):
        (folder / f"{name}.toml").write_text(config.format(line))
        option = ["--preset", *options] if options else []
        assert main(["train", "--config", f"{name}.toml", "--no-report", "--quiet", "--out", name, *option]) == 0
        settings = json.loads((folder / name / "small-mg-gcn-seed0/record.json").read_text())["settings"]
        found.append((settings["averaging"], settings["draws"], settings["explore"], settings["picks"]))
    assert found[0] == (0.0, 1, "both", 3)
    assert found[1] == found[2] != found[0]
    assert found[1][2:] == ("breadth", 3)


def test_predict(folder: Path, capsys: pytest.CaptureFixture[str], small: Dataset) -> None:
    main([*TRAIN, "--epochs", "2", "--quiet"])
    (folder / "ids.txt").write_text("node-7\n\nnode-3\n")
    run = "runs/small-mg-gcn-seed0"
    assert main(["predict", run, "--nodes", "ids.txt", "--out", "p.csv", "--draws", "3"]) == 0
    assert "2 predictions in p.csv" in capsys.readouterr().out
    assert [line.split(",")[0] for line in (folder / "p.csv").read_text().splitlines()] == ["id", "node-7", "node-3"]
    save(replace(small, name="unlabelled", y=np.full(60, -1), classes=(), split=None), folder / "new")
    assert main(["predict", run, "--dataset", "new", "--out", "q.parquet"]) == 0
    assert (folder / "q.parquet").stat().st_size > 0


def test_per_class_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--epochs", "5", "--seeds", "2", "--per-class", "--quiet", "--json"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    result = json.loads(last)
    assert re.split("  +", lines[-9]) == ["class", "precision, %", "recall, %", "F1, %", "test nodes"]
    assert [line.split()[0] for line in lines[-8:-5]] == ["red", "green", "blue"]
    assert sum(scores["support"] for scores in result["per_class"]) == 2 * 18
    assert f" {100 * result['per_class'][0]['recall']:.1f} " in lines[-8]
    assert lines[-4].split()[:5] == ["class", "test", "nodes", "PR-AUC,", "%"]
    areas = [ranking["pr_auc"][0] for ranking in result["rankings"]]
    assert lines[-3].split()[:3] == ["red", "7", f"{50 * sum(areas):.1f}"]


def test_predict_prints_metrics_over_known_labels(
    folder: Path, capsys: pytest.CaptureFixture[str], small: Dataset
) -> None:
    main([*TRAIN, "--epochs", "20", "--set", "portfolio=none", "--quiet", "--json"])
    trained = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert main(["predict", trained["run"], "--out", "p.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == (
        f"18 test nodes: accuracy {trained['test_accuracy']:.2%}, macro-F1 {trained['test_macro_f1']:.2%}, "
        f"expected calibration error {trained['test_ece']:.2%}"
    )
    other = ("blue", "red", "pink")  # red has another number, green is not known to the run's classes by that name
    later = np.array([f"later-{node}" for node in range(60)])
    save(replace(small, name="new", classes=other, split=None, node_ids=later), folder / "new")
    assert main(["predict", trained["run"], "--dataset", "new", "--out", "q.csv"]) == 0
    predicted = [line.split(",")[1] for line in (folder / "q.csv").read_text().splitlines()[1:]]
    truth = [other[label] for label in small.y]
    right = [a == b for a, b in zip(predicted, truth, strict=True) if b != "pink"]
    out = capsys.readouterr().out
    assert f"40 new nodes with a known label: accuracy {np.mean(right):.2%}," in out
    assert "20 nodes have a label that the run does not have and are not counted: pink" in out


def test_predict_on_a_named_data_set_scores_its_test_nodes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["train", "digits", "--method", "mlp", "--epochs", "3", "--no-report", "--quiet", "--json"])
    trained = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert main(["predict", trained["run"], "--out", "p.csv"]) == 0
    assert f"359 test nodes: accuracy {trained['test_accuracy']:.2%}," in capsys.readouterr().out


def test_label_propagation_is_not_scored_on_its_input(
    folder: Path, capsys: pytest.CaptureFixture[str], small: Dataset
) -> None:
    main([*TRAIN, "--method", "label-propagation", "--quiet", "--json"])
    run = json.loads(capsys.readouterr().out.splitlines()[-1])["run"]
    save(replace(small, name="new", split=None), folder / "new")
    assert main(["predict", run, "--dataset", "new", "--out", "p.csv", "--top", "red:3"]) == 0
    out = capsys.readouterr().out
    assert "60 labelled nodes are not scored: label-propagation reads their labels" in out
    assert "accuracy" not in out
    assert "precision" not in out
    split = Split(small.split.test, small.split.val, small.split.train)
    ids = np.array([f"other-{node}" for node in range(60)])
    other = save(replace(small, name="other", split=split, node_ids=ids), folder / "other")
    assert main(["predict", run, "--dataset", "other", "--out", "q.csv"]) == 0
    unread = np.concatenate([other.split.val, other.split.test])
    predicted = [line.split(",")[1] for line in (folder / "q.csv").read_text().splitlines()[1:]]
    right = [predicted[node] == small.classes[small.y[node]] for node in unread]
    out = capsys.readouterr().out
    assert "18 labelled nodes are not scored: label-propagation reads their labels" in out
    assert f"42 new nodes with a known label: accuracy {np.mean(right):.2%}," in out
    assert main(["predict", run, "--out", "r.csv"]) == 0
    assert "18 test nodes: accuracy" in capsys.readouterr().out


def test_the_nodes_with_the_highest_probability(
    folder: Path, capsys: pytest.CaptureFixture[str], small: Dataset
) -> None:
    main([*TRAIN, "--epochs", "20", "--quiet"])
    run = "runs/small-mg-gcn-seed0"
    capsys.readouterr()
    assert main(["predict", run, "--top", "green:8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines[3:11]]
    nodes = [int(row[1].removeprefix("node-")) for row in rows]
    assert not set(nodes) & set(small.split.train.tolist())
    assert [row[3] for row in rows] == [small.classes[small.y[node]] for node in nodes]
    assert [float(row[2]) for row in rows] == sorted((float(row[2]) for row in rows), reverse=True)
    right = sum(row[3] == "green" for row in rows)
    assert lines[-3] == (
        f"top 8 for green: precision {right / 8:.2%} ({right} of 8 with a known label, 0 unknown)"
        "; 30 training nodes left out"
    )
    assert lines[-2].startswith("among the 18 test nodes only, top 8 for green: precision ")
    assert main(["predict", run, "--top", "green:60", "--with-training"]) == 0
    assert "top 60 for green: precision 33.33% (20 of 60 with a known label, 0 unknown)" in capsys.readouterr().out
    save(replace(small, name="new", y=np.full(60, -1), classes=(), split=None), folder / "new")
    assert main(["predict", run, "--dataset", "new", "--top", "red:2"]) == 0
    assert "top 2 for red: no label is known (0 of 0 with a known label, 2 unknown)" in capsys.readouterr().out
    for word, message in (
        ("green", "'green' is not of the form CLASS:K"),
        ("gren:3", "did you mean green"),
        ("red:0", "K"),
    ):
        assert main(["predict", run, "--top", word]) == 2
        assert message in capsys.readouterr().err


def test_data_import_and_info(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    npz(folder / "g.npz")
    assert main(["data", "import", "g.npz", "--out", "g", "--seed", "3"]) == 0
    assert main(["data", "info", "g"]) == 0
    out = capsys.readouterr().out
    assert "20 (16 isolated, 20 labelled)" in out
    assert "3 (undirected)" in out
    assert "12 train, 4 val, 4 test" in out


def test_tables_import(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "e.csv").write_text("source,target\n" + "".join(f"u{i},u{i + 1}\n" for i in range(19)))
    (folder / "n.csv").write_text("id,label,w\n" + "".join(f"u{i},{'ab'[i % 2]},{i}\n" for i in range(20)))
    assert main(["data", "import", "e.csv", "--nodes", "n.csv", "--out", "t", "--name", "mine"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "mine: 20 nodes, 19 edges in t",
        "note        19 edges have no reverse: taken as undirected; direction 'directed' keeps directions",
    ]
    assert main(["data", "import", "e.csv", "--direction", "both", "--out", "u"]) == 0
    assert "no reverse" not in capsys.readouterr().out


def test_options_of_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(2):
        (folder / f"e{number}.csv").write_text("from,to\n" + "".join(f"u{i},u{i + 2}\n" for i in range(number, 18, 2)))
        lines = "".join(f"u{i},{'ab'[i % 2]},{i % 3},t{i % 2},\n" for i in range(number * 10, number * 10 + 10))
        (folder / f"n{number}.tsv").write_text(f"key,kind,size,word,empty\n{lines}".replace(",", "\t"))
    columns = ["--source-column", "from", "--target-column", "to"]
    nodes = ["--nodes", "n0.tsv", "n1.tsv", "--id-column", "key", "--label-column", "kind"]
    base = ["data", "import", "e0.csv", "e1.csv", *columns]
    assert main([*base, *nodes, "--features", "size,word", "--category", "size", "--out", "t"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "t: 20 nodes, 18 edges in t",
        "note        columns as categories: 'size' (3), 'word' (2)",
        "note        18 edges have no reverse: taken as undirected; direction 'directed' keeps directions",
    ]
    assert load_folder("t").feature_names == ("size=0", "size=1", "size=2", "word=t0", "word=t1")
    assert main([*base, *nodes, "--features", "none", "--out", "none"]) == 0
    assert load_folder("none").num_features == 0
    assert main(["data", "info", "none"]) == 0
    assert main(["data", "import", "e*.csv", *columns, "--out", "bare"]) == 0
    assert "note        structural features, made of the edges: log degree" in capsys.readouterr().out
    assert load_folder("bare").split is None
    npz(folder / "g.npz")
    for arguments, message in (
        ([*base, *nodes, "--out", "x", "--features", "sise"], "features: 'sise' is not one of the columns 'size'"),
        ([*base, *nodes, "--out", "x", "--split-column", "part"], "column 'part' is missing"),
        (["data", "import", "g.npz", "--nodes", "n0.tsv", "--out", "x"], "g.npz: an .npz file is a whole data set"),
        (["data", "import", "g.npz", "--memory", "1GB", "--out", "x"], "g.npz: an .npz file is a whole data set"),
        (["data", "import", "e0.csv", "--memory", "1MB", "--out", "x"], "--memory: '1MB' is too little"),
        (["data", "import", "e0.csv", "--memory", "lots", "--out", "x"], "--memory: 'lots' is not an amount of memory"),
        (["data", "import", "g.npz", "--id-column", "key", "--out", "x"], "g.npz: an .npz file is a whole data set"),
        (
            ["data", "import", "g.npz", "--features", "size", "--out", "x"],
            "g.npz: features: 'size' is not all, none or",
        ),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err


PAYMENTS = """source,target,weight,kind,note
a,b,1.5,pays,x
b,a,2,pays,x
a,b,0.25,pays,x
a,c,4,knows,x
b,c,0,pays,x
"""


def test_directions_weights_and_types_of_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "e.csv").write_text(PAYMENTS)
    base = ["data", "import", "e.csv", "--features", "none"]
    assert main([*base, "--directed", "--type-column", "kind", "--out", "t"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "t: 3 nodes, 3 directed weighted edges of 2 types in t",
        "note        edge attributes are not used: ignored note of e.csv",
        "note        weights of edges: column 'weight' of e.csv; --weight-column none leaves them out",
        "note        1 edge of weight 0 removed",
        "note        1 parallel edge joined, weights added",
    ]
    assert main(["data", "get", "t"]) == 0
    printed = capsys.readouterr().out
    assert "edges       3 (directed)\n" in printed
    assert "weights     sum 7.75, least 1.75, largest 4\n" in printed
    assert "types       knows 1, pays 2\n" in printed
    assert "3 nodes, 3 directed weighted edges of 2 types, 0 features" in repr(load_folder("t"))
    assert main([*base, "--direction", "directed", "--type-column", "kind", "--out", "again", "--name", "t"]) == 0
    assert load_folder("again").digest == load_folder("t").digest
    assert main([*base, "--weight-column", "none", "--out", "plain"]) == 0
    assert load_folder("plain").graph.schema.is_plain
    capsys.readouterr()
    assert main(["data", "get", "plain"]) == 0
    printed = capsys.readouterr().out
    assert "edges       3 (undirected)\n" in printed
    assert "weights     " not in printed
    for options, message in (
        (["--directed", "--direction", "in"], "--directed: not with --direction in"),
        (["--weight-column", "amount"], "e.csv: column 'amount' is missing (it has 'source', 'target', 'weight'"),
        (
            ["--weight-column", "kind"],
            "e.csv: line 2: column 'kind': 'pays' is not a number; --weight-column none reads",
        ),
    ):
        assert main([*base, *options, "--out", "x"]) == 2
        assert message in capsys.readouterr().err
        assert not (folder / "x").exists()


def test_weights_of_an_npz(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    npz(folder / "g.npz", edge_index=[[0, 1], [1, 2]], edge_weight=[2, 3], y=np.arange(20) % 2)
    assert main(["data", "import", "g.npz", "--out", "g"]) == 0
    assert "weights of edges: edge_weight; --weight-column none leaves them out" in capsys.readouterr().out
    assert load_folder("g").graph.schema.weighted
    assert main(["data", "import", "g.npz", "--weight-column", "none", "--out", "plain"]) == 0
    assert load_folder("plain").graph.schema.is_plain
    for options, message in (
        (["--weight-column", "w"], "--weight-column: 'w' is not edge_weight or none"),
        (["--weight-column", "none", "--id-column", "key"], "g.npz: an .npz file is a whole data set"),
    ):
        assert main(["data", "import", "g.npz", *options, "--out", "x"]) == 2
        assert message in capsys.readouterr().err


def test_what_is_not_used_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges = np.array([[0, 1, 0, 3, 5], [1, 0, 1, 3, 6]])
    npz(folder / "g.npz", edge_index=edges, edge_time=np.ones(5), y=np.zeros(20, np.int64))
    notes = [
        "edge attributes are not used: ignored edge_time of g.npz",
        "1 edge has no reverse: taken as undirected; direction 'directed' keeps directions",
        "1 self-loop and 1 duplicate edge removed",
        "all training nodes are of class 'class 0': accuracy says nothing",
    ]
    assert main(["data", "import", "g.npz", "--out", "g"]) == 0
    printed = [f"note        {note}" for note in notes]
    assert capsys.readouterr().out.splitlines()[1:] == printed
    for command in ("info", "get"):
        assert main(["data", command, "g"]) == 0
        assert capsys.readouterr().out.splitlines()[-4:] == printed
    assert main(["train", "g", "--no-report", "--epochs", "1"]) == 0
    assert [line for line in capsys.readouterr().err.splitlines() if "note" in line] == [f"note: {x}" for x in notes]
    assert main(["report", "runs/g-mg-gcn-seed0", "--format", "md", "--out", "r.md"]) == 0
    report = (folder / "r.md").read_text()
    assert ". ".join(notes) in report
    assert "- not converged, the best epoch is the last one: all runs" in report


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "coar"], "unknown data set 'coar'; did you mean cora"),
        (["train", "data", "--method", "mggcn"], "unknown method 'mggcn'; did you mean mg-gcn"),
        (["train", "data", "--sed", "1"], "Unknown option: --sed. Did you mean --seed?"),
        (["train", "data", "--set", "pick=3"], "unknown setting 'pick'; did you mean picks"),
        (["train", "data", "--set", "picks=0"], "picks: 0 is less than 1"),
        (["train", "data", "--set", "picks"], "--set: 'picks' is not of the form key=value"),
        (["train", "data", "--seeds", "0"], 'Invalid value "0" for --seeds. Must be > 0.'),
        (["train", "data", "--seed", "-1"], "--seed: -1 is not from 0 to 4,611,686,018,427,387,904"),
        (["train", "data", "--seed", "x"], "--seed"),
        (["train", "data", "--epochs", "0"], "epochs: 0 is less than 1"),
        (["train"], "name a data set"),
        (["train", "--config", "none.toml"], "none.toml: cannot be read (No such file or directory)"),
        (["train", "data", "--out", "data/x.npy/runs"], "x.npy is not a folder"),
        (["train", "."], "meta.json"),
        (["predict", "data", "--out", "p.csv"], "data: not a run folder (record.json is missing)"),
        (["predict", "data", "--out", "p.txt"], "p.txt: predictions are written as .csv, .jsonl or .parquet, not .txt"),
        (["predict", "data"], "--out"),
        (["data", "import", "none.npz", "--out", "d"], "none.npz"),
        (["data", "import", "g.npz", "--out", "data"], "data: already exists"),
        (["tran", "data"], 'Unknown command "tran". Did you mean "train"?'),
    ],
)
def test_bad_calls(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    before = sorted(folder.rglob("*"))
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[-1].startswith("mggcn: error: ")
    assert message in lines[-1]
    assert sorted(folder.rglob("*")) == before, "nothing is half-written"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edge_index": np.array([[0, 1], [1, 20]])}, "edge_index"),
        ({"edge_index": np.array([[0, -1], [1, 2]])}, "edge_index"),
        ({"edge_index": np.array([0, 1])}, "edge_index"),
        ({"edge_index": None}, "edge_index"),
        ({"x": np.full((20, 2), np.nan)}, "nan"),
        ({"x": np.full((20, 2), np.inf)}, "inf"),
        ({"x": np.ones((19, 2))}, "19"),
        ({"y": np.full(20, -2)}, "-2"),
        ({"y": np.full(20, -1), "train_idx": [0], "val_idx": [1], "test_idx": [2]}, "label"),
        ({"train_idx": [0, 1], "val_idx": [1], "test_idx": [2]}, "overlap"),
        ({"train_idx": [0, 1], "val_idx": np.array([], np.int64), "test_idx": [2]}, "empty"),
    ],
)
def test_bad_files(folder: Path, capsys: pytest.CaptureFixture[str], changes: dict, message: str) -> None:
    npz(folder / "bad.npz", **changes)
    assert main(["data", "import", "bad.npz", "--out", "d"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("mggcn: error: bad.npz: ")
    assert err.count("\n") == 1
    assert message in err
    assert not (folder / "d").exists()


def test_a_truncated_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = npz(folder / "g.npz").read_bytes()
    (folder / "bad.npz").write_bytes(whole[: len(whole) // 2])
    assert main(["data", "import", "bad.npz", "--out", "d"]) == 2
    assert capsys.readouterr().err.startswith("mggcn: error: bad.npz: ")


def test_a_run_that_does_not_match_the_data(folder: Path, capsys: pytest.CaptureFixture[str], small: Dataset) -> None:
    main([*TRAIN, "--epochs", "1", "--quiet"])
    save(replace(small, x=np.ones((60, 9), np.float32)), folder / "wide")
    assert main(["predict", "runs/small-mg-gcn-seed0", "--dataset", "wide", "--out", "p.csv"]) == 2
    assert "9 features, but the run was trained on 3" in capsys.readouterr().err
    (folder / "ids.txt").write_text("node-99\n")
    assert main(["predict", "runs/small-mg-gcn-seed0", "--nodes", "ids.txt", "--out", "p.csv"]) == 2
    assert "ids.txt: 1 of 1 ids are not in small: node-99" in capsys.readouterr().err
    assert not (folder / "p.csv").exists()


def test_a_gpu_that_does_not_exist(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["train", "data", "--device", "cuda"]) == 2
    assert capsys.readouterr().err == "mggcn: error: --device: cuda is not available, there is no usable GPU\n"


def test_an_interrupt_is_no_traceback(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mggcn.runs._run_folder.fit_plan", interrupt)
    assert main(["train", "data"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "mggcn: interrupted"


def test_the_installed_command_and_the_module_agree(folder: Path) -> None:
    command = str(Path(sys.executable).with_name("mggcn"))
    for start in ([command], [sys.executable, "-m", "mggcn"]):
        done = subprocess.run([*start, "data", "info", "nowhere"], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith("mggcn: error: unknown data set 'nowhere'")
        assert "Traceback" not in done.stderr


def test_a_closed_pipe_is_no_error_message() -> None:
    command = [sys.executable, "-u", "-m", "mggcn", "ethereum", "build", "t", "--engine", "sql"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        started.stdout.close()
        assert started.stderr.read() == ""
    assert started.returncode == 1


def test_help_does_not_import_torch() -> None:
    script = "import sys; from mggcn.cli import main; main(['--help']); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0
