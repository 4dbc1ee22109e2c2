"""``mggcn predict`` with several runs, and on graphs that contain nodes of the run's split."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from mggcn import fit
from mggcn.cli import main
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.graph import Graph
from mggcn.runs._predictions import separability
from mggcn.runs._run import Ensemble
from mggcn.runs._run_folder import load_run
from tests import checksums

RUNS = ("runs/small-mlp-seed0", "runs/small-mlp-seed1")


@pytest.fixture
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")
    return tmp_path


def train(*options: str) -> None:
    assert main(["train", "data", "--method", "mlp", "--no-report", "--quiet", "--epochs", "3", *options]) == 0


def test_the_mean_of_two_runs(folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    train("--seeds", "2")
    capsys.readouterr()
    assert main(["predict", *RUNS, "--out", "p.csv", "--top", "red:2"]) == 0
    out = capsys.readouterr().out
    together = Ensemble([load_run(run) for run in RUNS]).predict()
    test = small.split.test
    accuracy = (together.class_index[test] == small.y[test]).mean()
    assert f"18 test nodes: accuracy {accuracy:.2%}, macro-F1 " in out
    assert "(mean probabilities of 2 runs)" in out
    assert "top 2 for red" in out
    rows = [line.split(",") for line in Path("p.csv").read_text().splitlines()[1:]]
    np.testing.assert_allclose([[float(p) for p in row[3:6]] for row in rows], together.probabilities, rtol=1e-6)


def test_runs_that_do_not_match(folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    train()
    save(replace(small, classes=("a", "b", "c"), name="other"), folder / "other")
    assert main(["train", "other", "--method", "mlp", "--no-report", "--quiet", "--epochs", "1"]) == 0
    capsys.readouterr()
    assert main(["predict", RUNS[0], "runs/other-mlp-seed0", "--out", "p.csv"]) == 2
    assert "other-mlp-seed0: classes a, b, c, but " in capsys.readouterr().err
    assert main(["predict", RUNS[0], RUNS[0], "--embeddings", "e.npy"]) == 2
    assert capsys.readouterr().err == ("mggcn: error: --embeddings: those of 2 runs cannot be averaged; name one run\n")
    assert main(["predict", RUNS[0], "nowhere", "--out", "p.csv"]) == 2
    assert "nowhere: not a run folder" in capsys.readouterr().err
    assert not Path("p.csv").exists()


@pytest.fixture
def later(folder: Path, small: Dataset) -> Dataset:
    """The graph in reverse order, half of its nodes under other ids, and the labels of all training nodes changed."""
    ids = np.where(np.arange(60) % 2, small.node_ids, [f"later-{node}" for node in range(60)])[::-1]
    y = small.y.copy()
    y[small.split.train] = (y[small.split.train] + 1) % 3
    return save(replace(small, name="later", y=y[::-1].copy(), split=None, node_ids=ids), folder / "later")


def test_nodes_of_the_split_are_recognised_in_another_graph(
    later: Dataset, small: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    train()
    capsys.readouterr()
    run = load_run(RUNS[0])
    part_of = {small.node_ids[node]: part for part, nodes in small.split.parts().items() for node in nodes}
    parts = np.array([part_of.get(name, "new") for name in later.ids_of(np.arange(60))])
    assert set(parts) == {"train", "val", "test", "new"}
    predictions = run.predict(later)
    assert predictions.parts.tolist() == parts.tolist()
    assert main(["predict", str(run.path), "--dataset", "later", "--out", "p.csv", "--top", "red:60"]) == 0
    out = capsys.readouterr().out
    assert [line.split(",")[2] for line in Path("p.csv").read_text().splitlines()[1:]] == parts.tolist()
    for part, name in (("test", "test nodes"), ("new", "new nodes with a known label")):
        accuracy = (predictions.class_index == later.y)[parts == part].mean()
        assert f"{(parts == part).sum()} {name}: accuracy {accuracy:.2%}, macro-F1 " in out
    train_count, val_count = ((parts == part).sum() for part in ("train", "val"))
    assert f"{train_count} training and {val_count} validation nodes of the run have a known label and are" in out
    ranked = [line.split() for line in out.splitlines() if line.split()[-1:] and line.split()[-1] in set(parts)]
    assert len(ranked) == 60 - train_count
    assert all(part == part_of.get(name, "new") != "train" for _, name, _, _, part in ranked)
    assert f"; {train_count} training nodes left out" in out
    counted = ((parts == "test") | (parts == "new")).sum()
    assert f"among the {counted} nodes with a known label that the run was not fitted to only, top " in out
    assert main(["predict", str(run.path), "--dataset", "later", "--top", "red:60", "--with-training"]) == 0
    assert "left out" not in capsys.readouterr().out


def test_a_split_of_the_users_own_is_the_split_of_the_run(
    folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = load_folder(folder / "data")
    other = Split(small.split.test, small.split.val, small.split.train)
    fit(stored.with_split(other), "mlp", settings={"epochs": 1}).save("run")
    assert main(["predict", "run", "--out", "p.csv"]) == 2
    assert "run: trained on data 'small', which are in no folder; give --dataset (" in capsys.readouterr().err
    assert main(["predict", "run", "--dataset", "data", "--out", "p.csv"]) == 0
    assert "\n30 test nodes: accuracy" in capsys.readouterr().out


def test_node_numbers_mean_nothing_in_another_graph(folder: Path, small: Dataset) -> None:
    numbered = replace(small, node_ids=None)
    run = fit(numbered, "mlp", settings={"epochs": 1}).save("run")
    assert sorted(zip(*np.unique(load_run("run").predict(numbered).parts, return_counts=True), strict=True)) == [
        ("test", 18),
        ("train", 30),
        ("val", 12),
    ]
    another = replace(numbered, x=small.x + 1)
    assert set(run.predict(another).parts) == {"new"}
    assert set(run.predict(replace(small, node_ids=np.arange(60))).parts) == {"new"}


def test_a_training_node_of_any_run_is_one_of_the_ensemble(folder: Path, small: Dataset) -> None:
    splits = (small.split, Split(small.split.test, small.split.val, small.split.train[:9]))
    runs = [fit(small.with_split(split), "mlp", settings={"epochs": 1}) for split in splits]
    parts = Ensemble(runs).predict(small).parts
    for nodes, part in (
        (small.split.train, "train"),
        (small.split.test, "train"),
        (small.split.val, "val"),
    ):
        assert set(parts[nodes]) == {part}


def test_a_split_that_cannot_be_read(later: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    train()
    folder, command = Path(RUNS[0]), ["predict", RUNS[0], "--dataset", "later", "--out", "p.csv"]
    (folder / "split.npz").write_bytes(b"PK")
    checksums.update_run(folder)
    capsys.readouterr()
    assert main(command) == 2
    assert "split.npz: not a readable .npz file" in capsys.readouterr().err
    (folder / "split.npz").unlink()
    assert main(command) == 2
    assert f"{RUNS[0]}/split.npz: missing, though record.json lists it" in capsys.readouterr().err


def test_a_list_of_addresses_in_any_case_with_unknown_ones(
    folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    addresses = np.array([f"0x{node + 0xABC000:040x}" for node in range(60)])
    save(replace(small, node_ids=addresses, id_name="address"), folder / "data", overwrite=True)
    train()
    capsys.readouterr()
    unknown = [f"0x{node:040x}" for node in range(7)]
    Path("list.txt").write_text("\n".join([addresses[3], "0x" + addresses[5][2:].upper(), *unknown, "0X9"]))
    assert main(["predict", RUNS[0], "--nodes", "list.txt", "--out", "p.csv"]) == 0
    out = capsys.readouterr().out
    assert f"list.txt: 8 of 10 ids are not in small and have no prediction: {', '.join(unknown[:5])} and 3 more" in out
    assert [line.split(",")[0] for line in Path("p.csv").read_text().splitlines()] == [
        "address",
        addresses[3],
        addresses[5],
    ]
    Path("list.txt").write_text(unknown[0])
    assert main(["predict", RUNS[0], "--nodes", "list.txt", "--out", "q.csv"]) == 2
    error = capsys.readouterr().err
    assert error == f"mggcn: error: list.txt: 1 of 1 ids are not in small: {unknown[0]}\n"
    assert not Path("q.csv").exists()


@pytest.fixture
def crowd(folder: Path) -> Dataset:
    """A graph of 1,200 nodes: two labelled classes of 100 nodes, and others whose features are of a third kind."""
    rng = np.random.default_rng(3)
    kinds = np.repeat([0, 1, 2], [100, 100, 1000])
    x = (np.eye(3)[kinds] * 6 + rng.normal(0, 1, (1200, 3))).astype(np.float32)
    y = np.where(kinds < 2, kinds, -1)
    graph = Graph.from_edges(rng.integers(0, 1200, 3000), rng.integers(0, 1200, 3000), 1200)
    ids = np.array([f"n{node}" for node in range(1200)])
    return Dataset("crowd", graph, x, y, ("Phish", "Exchange"), Split.stratified(y, 0), ids)


def test_labelled_nodes_that_do_not_resemble_the_others_are_a_warning(
    crowd: Dataset, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(crowd, folder / "data", overwrite=True)
    train()
    run = "runs/crowd-mlp-seed0"
    capsys.readouterr()
    assert main(["predict", run, "--out", "p.csv"]) == 0
    shown = capsys.readouterr()
    assert re.search(r"40 test nodes: accuracy \S+, macro-F1 \S+; probabilities are not calibrated for this", shown.out)
    assert "crowd: the labelled nodes do not resemble the others (a classifier tells them apart with ROC" in shown.err
    assert separability(load_run(run), crowd) > 0.95
    later = replace(crowd, name="later", node_ids=np.array([f"m{node}" for node in range(1200)]), split=None)
    assert separability(load_run(run), later) > 0.7, "the same nodes are among the others under other ids"
    alike = replace(crowd, name="alike", x=np.tile(crowd.x[:200], (6, 1)), node_ids=later.node_ids, split=None)
    assert separability(load_run(run), alike) < 0.6


def test_a_run_with_a_background_class_knows_the_others(
    crowd: Dataset, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    y = crowd.y.copy()
    y[200:500] = 2
    classes = (*crowd.classes, "Background")
    save(replace(crowd, y=y, classes=classes, split=Split.stratified(y, 0)), folder / "data", overwrite=True)
    train("--set", "epochs=30")
    capsys.readouterr()
    assert main(["predict", "runs/crowd-mlp-seed0", "--out", "p.csv", "--top", "Phish:300"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "expected calibration error" in shown.out
    best = [line.split() for line in shown.out.splitlines() if re.match(" *[0-9]+ +n[0-9]+ ", line)]
    assert len(best) == 300
    assert "Background" in {row[3] for row in best}
    assert (
        "among the 100 test nodes only, top 100 for Phish: precision 20.00% (20 of 100 with a known label or in "
        "Background, 0 unknown; Background counts as wrong)" in shown.out
    )
    assert re.search(r"precision at 1: .*, 100: 20\.00%\n", shown.out), "one definition of precision"


def test_background_nodes_that_do_not_resemble_the_others_are_a_warning(
    crowd: Dataset, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    y, x = crowd.y.copy(), crowd.x.copy()
    y[200:300], x[300:] = 2, -x[300:]
    classes = (*crowd.classes, "Background")
    unlike = replace(crowd, x=x, y=y, classes=classes, split=Split.stratified(y, 0))
    save(unlike, folder / "data", overwrite=True)
    train("--set", "epochs=30")
    capsys.readouterr()
    assert main(["predict", "runs/crowd-mlp-seed0", "--out", "p.csv"]) == 0
    shown = capsys.readouterr()
    assert "crowd: the labelled nodes and those of Background do not resemble the others" in shown.err
    assert "probabilities are not calibrated for this graph" in shown.out


def test_without_enough_labelled_nodes_there_is_no_warning(folder: Path, small: Dataset) -> None:
    assert separability(fit(small, "mlp", settings={"epochs": 1}), small) is None


def test_alerts_have_the_required_precision_on_validation_nodes(
    folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    train()
    capsys.readouterr()
    assert main(["predict", RUNS[0], "--at-precision", "0.6", "--out", "p.csv"]) == 0
    out = capsys.readouterr().out
    assert "thresholds for a precision of 60.00% on the validation nodes" in out
    run = load_run(RUNS[0])
    p, (val, test) = run.predict().probabilities, (small.split.val, small.split.test)
    expected = np.full(60, "", object)
    best = np.zeros(60)
    for label, name in enumerate(small.classes):
        reached = [t for t in p[val, label] if (small.y[val] == label)[p[val, label] >= t].mean() >= 0.6]
        line = next(line.split() for line in out.splitlines() if line.startswith(f"{name} "))
        if not reached:
            assert line[1] == "–"
            continue
        is_alert = p[:, label] >= min(reached)
        is_first = is_alert & (p[:, label] > best)
        expected[is_first], best[is_first] = name, p[is_first, label]
        assert line[1:3] == [f"{min(reached):.4f}", f"{is_alert[val].sum()}"]
        correct = (is_alert[test] & (small.y[test] == label)).sum()
        assert line[4] == f"{is_alert[test].sum()}"
        assert line[6] == f"{correct / (small.y[test] == label).sum():.2%}"
    rows = [line.split(",") for line in Path("p.csv").read_text().splitlines()]
    column = rows[0].index("alert")
    assert [row[column] for row in rows[1:]] == expected.tolist()


def test_a_precision_that_cannot_be_required(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train()
    capsys.readouterr()
    for word in ("0", "1.5"):
        assert main(["predict", RUNS[0], "--at-precision", word, "--out", "p.csv"]) == 2
        message = f"mggcn: error: --at-precision: {word} is not a share above 0 and at most 1\n"
        assert capsys.readouterr().err == message
    save(replace(load_folder(folder / "data"), name="new"), folder / "new")
    shutil.rmtree(folder / "data")
    assert main(["predict", RUNS[0], "--dataset", "new", "--at-precision", "0.9", "--out", "p.csv"]) == 2
    assert "--at-precision: needs the validation nodes of the training data" in capsys.readouterr().err
    assert not Path("p.csv").exists()


def test_a_ranking_is_measured_on_test_nodes(folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    train()
    capsys.readouterr()
    assert main(["predict", RUNS[0], "--top", "green:10"]) == 0
    out = capsys.readouterr().out
    ranking = load_run(RUNS[0]).record.ranking
    assert ranking is not None
    label = small.classes.index("green")
    areas = f"PR-AUC {ranking.pr_auc[label]:.2%}; ROC-AUC {ranking.roc_auc[label]:.2%}"
    curve = ", ".join(
        f"{k}: {share:.2%}" for k, share in zip(ranking.ks, ranking.precision_at[label], strict=True) if k <= 10
    )
    assert f"green among them: {areas}; precision at {curve}\n" in out


def test_the_table_says_what_is_known_and_who_scored(folder: Path, small: Dataset) -> None:
    named = replace(small, feature_names=("age", "size", "tone"), name="named")
    save(named, folder / "named")
    assert main(["train", "named", "--method", "mlp", "--no-report", "--quiet", "--epochs", "20"]) == 0
    run = "runs/named-mlp-seed0"
    assert main(["predict", run, "--out", "p.jsonl", "--reasons", "4"]) == 0
    rows = [json.loads(line) for line in Path("p.jsonl").read_text().splitlines()]
    assert [row["label"] for row in rows] == [small.classes[label] for label in small.y]
    for name in small.classes:
        ranked = sorted((row for row in rows if row["class"] == name), key=lambda row: row["position_in_class"])
        assert [row["position_in_class"] for row in ranked] == list(range(1, len(ranked) + 1))
        probabilities = [row[f"p_{name}"] for row in ranked]
        assert probabilities == sorted(probabilities, reverse=True)
        assert all((row["reason_1"] is not None) == (row["position_in_class"] <= 4) for row in ranked)
    reasons = [row[f"reason_{number}"] for row in rows for number in (1, 2, 3) if row[f"reason_{number}"]]
    assert {reason.split()[0] for reason in reasons} <= {"age", "size", "tone"}
    assert {row["model"] for row in rows} == {"named-mlp-seed0"}
    assert {row["data"] for row in rows} == {f"named {load_folder(folder / 'named').digest[:12]}"}
    assert len({row["scored_at"] for row in rows}) == 1


def test_reasons_need_names_of_features(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train()
    capsys.readouterr()
    assert main(["predict", RUNS[0], "--out", "p.csv", "--reasons", "4"]) == 2
    assert capsys.readouterr().err == "mggcn: error: small: no reasons from its features: they have no names\n"
    assert not Path("p.csv").exists()
    assert main(["predict", RUNS[0], "--out", "p.csv"]) == 0


def test_a_list_of_nodes_that_is_no_text_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train()
    capsys.readouterr()
    (folder / "ids.txt").write_bytes(b"a\xff")
    assert main(["predict", RUNS[0], "--nodes", "ids.txt", "--out", "p.csv"]) == 2
    assert capsys.readouterr().err == "mggcn: error: ids.txt: not UTF-8 text (byte 1)\n"
    assert not (folder / "p.csv").exists()


def test_unlabelled_nodes_count_as_wrong_in_the_lower_bound(
    crowd: Dataset, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(crowd, folder / "data", overwrite=True)
    train("--set", "epochs=30")
    capsys.readouterr()
    assert main(["predict", "runs/crowd-mlp-seed0", "--top", "Phish:100"]) == 0
    out = capsys.readouterr().out
    data = load_folder(folder / "data")
    predictions, label = load_run("runs/crowd-mlp-seed0").predict(), data.classes.index("Phish")
    is_open = (data.y < 0) | np.isin(np.arange(data.num_nodes), data.split.test)
    p, is_member = predictions.probabilities[is_open, label], data.y[is_open] == label
    best = np.argsort(-p, kind="stable")
    bound = average_precision_score(is_member, p)
    assert f"at least, among all {is_open.sum():,} nodes of the same period, if none of the 1,000 without" in out
    assert f" is Phish ({is_member.mean():.1%} are known to be): PR-AUC {bound:.2%}; " in out
    if np.unique(p).size == p.size:
        assert f", 100: {is_member[best[:100]].mean():.2%}\n" in out


def test_a_base_rate_raises_thresholds_and_the_table_has_the_precision_there(
    crowd: Dataset, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noise = np.random.default_rng(5).normal(0, 3, crowd.x.shape).astype(np.float32)
    save(replace(crowd, x=crowd.x + noise), folder / "data", overwrite=True)
    train("--set", "epochs=30")
    capsys.readouterr()
    run, data = "runs/crowd-mlp-seed0", load_folder(folder / "data")
    label = data.classes.index("Phish")
    assert main(["predict", run, "--at-precision", "0.6", "--base-rate", "Phish:0.05"]) == 0
    out = capsys.readouterr().out
    assert "for Phish where 5.00% of all nodes are Phish" in out
    line = next(line.split() for line in out.splitlines() if line.startswith("Phish "))
    p = load_run(run).predict().probabilities[:, label]
    rates = {}
    for part in ("val", "test"):
        nodes = getattr(data.split, part)
        is_member = data.y[nodes] == label
        bounds = np.unique(p[nodes]) if part == "val" else [float(line[1])]
        for bound in bounds:
            reached = p[nodes] >= (bound if part == "val" else bound - 5e-5)
            right, wrong = 0.05 * reached[is_member].mean(), 0.95 * reached[~is_member].mean()
            rates[part, float(bound)] = right / (right + wrong)
    wanted = min(bound for (part, bound), rate in rates.items() if part == "val" and rate >= 0.6)
    assert line[1] == f"{wanted:.4f}"
    assert line[7] == f"{rates['test', float(line[1])]:.2%}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--at-precision", "0.9", "--base-rate", "0.01"), "unknown class ''; valid: "),
        (("--at-precision", "0.9", "--base-rate", "red:x"), "--base-rate: 'red:x' is not of the form CLASS:SHARE"),
        (("--at-precision", "0.9", "--base-rate", "red:1"), "1 of red is not a share above 0 and below 1"),
        (("--top", "red:3", "--base-rate", "red:0.1"), "only thresholds of --at-precision depend on them"),
    ],
)
def test_base_rates_that_cannot_be_used(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    train()
    capsys.readouterr()
    assert main(["predict", RUNS[0], *words]) == 2
    assert message in capsys.readouterr().err
