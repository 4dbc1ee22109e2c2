from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mggcn
from mggcn.cli import main
from mggcn.data._dataset import Dataset
from mggcn.data._folder import save
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.methods.label_propagation import spread
from mggcn.runs._run_folder import load_run


def test_it_nears_zhous_closed_form() -> None:
    ends = np.random.default_rng(0).integers(0, 12, (2, 30))
    graph = Graph.from_edges(*ends, 12)
    known = np.full(12, -1)
    known[[0, 3, 7]] = [0, 1, 2]
    adjacency = np.zeros((12, 12))
    adjacency[graph.edges()] = 1
    scale = np.diag(adjacency.sum(1) ** -0.5)
    y = np.zeros((12, 3))
    y[[0, 3, 7], [0, 1, 2]] = 1
    limit = np.linalg.solve(np.eye(12) - 0.8 * scale @ adjacency @ scale, y)
    found = spread(graph, known, 3, 0.8, 200)
    np.testing.assert_allclose(found, limit / limit.sum(1, keepdims=True), atol=1e-5)


def test_a_node_no_label_reaches_takes_the_shares_of_the_classes() -> None:
    graph = Graph.from_edges([0, 1, 3], [1, 2, 4], 5)
    found = spread(graph, np.array([1, -1, 1, -1, -1]), 2, 0.9, 10)
    assert found[1].argmax() == 1
    np.testing.assert_allclose(found[3:], [[0.25, 0.75]] * 2)
    assert (found > 0).all()


def test_labels_travel_one_edge_an_iteration() -> None:
    graph = Graph.from_edges(range(5), range(1, 6), 6)
    found = spread(graph, np.array([0, -1, -1, -1, -1, 1]), 2, 0.5, 1)
    assert found[1].tolist() == pytest.approx([1, 0], abs=1e-6)
    assert found[2].tolist() == pytest.approx([0.5, 0.5])


def test_labels_are_needed() -> None:
    with pytest.raises(InputError, match="no labels to spread"):
        spread(Graph.from_edges([0], [1], 2), np.array([-1, -1]), 2, 0.9, 5)


def test_only_training_labels_are_read(small: Dataset) -> None:
    y = small.y.copy()
    hidden = np.concatenate([small.split.val, small.split.test])
    y[hidden] = (y[hidden] + 1) % 3
    runs = [mggcn.fit(d, "label-propagation", device="cpu") for d in (small, replace(small, y=y))]
    one, other = (run.predict(calibrated=False) for run in runs)
    assert np.array_equal(one.probabilities, other.probabilities)


def test_a_run_without_epochs_is_saved_loaded_and_told(
    small: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = mggcn.fit(small, "label-propagation", device="cpu")
    assert run.record.epochs == 0
    assert run.record.test_accuracy >= 0.6  # a third by chance; the graph alone, two nodes of it isolated
    run.save(tmp_path / "run")
    again = load_run(tmp_path / "run").predict(small, device="cpu")
    assert np.array_equal(again.probabilities, run.predict(device="cpu").probabilities)
    save(small, tmp_path / "small")
    out = ["--out", str(tmp_path / "runs"), "--device", "cpu", "--seeds", "2"]
    assert main(["train", str(tmp_path / "small"), "--method", "label-propagation", *out]) == 0
    told = capsys.readouterr()
    assert "no epochs (nothing to train)" in told.out
    assert "no epochs (nothing to train)" in told.err


@pytest.mark.parametrize("change", [{"alpha": 1.0}, {"alpha": 0}, {"iterations": 0}])
def test_settings_are_checked(small: Dataset, change: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(change))):
        mggcn.fit(small, "label-propagation", settings=change)
