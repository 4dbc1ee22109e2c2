"""Other libraries: how missing ones are reported, and how the times of the others are used."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.speed import others
from benchmarks.speed.__main__ import run
from benchmarks.speed.options import Options
from benchmarks.speed.timing import Measurements
from mggcn.data._dataset import Dataset

REQUEST = {"threads": 1, "batch_size": 8, "hidden": 4, "fanout": [2, 2], "steps": 2, "device": "cpu"}
REQUEST |= {"num_parts": 2, "parts_a_step": 1}


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """An interpreter with numpy and torch as here, but without mggcn and the other libraries."""
    script = tmp_path / "python"
    blocked = "import sys; sys.modules.update(dict.fromkeys(['dgl', 'mggcn', 'torch_geometric'])); "
    run = "import runpy; sys.argv = sys.argv[2:]; runpy.run_module(sys.argv[0], run_name='__main__')"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{blocked}{run}" "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_missing_libraries_are_reported(generated: Path, tmp_path: Path, bare_python: str) -> None:
    python = {"pyg": bare_python, "dgl": bare_python}
    options = Options("epoch", scale=0.005, repeats=1, libraries=("pyg", "dgl"), library_python=python, out=tmp_path)
    record = run(Options(**(vars(options) | {"root": generated})))["epoch"]
    assert len(record["notes"]) == 3
    for note, answer in zip(record["notes"], record["facts"]["libraries"].values(), strict=True):
        assert "not measured" in note
        assert note.count("\n") == 0
        assert answer["absent"] in note
        assert "mggcn" not in answer["absent"]
    assert not {"pyg", "dgl"} & record["figures"].keys()
    assert bare_python not in json.dumps(record)


def test_a_broken_interpreter_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho first >&2\necho cannot start >&2\nexit 3\n")
    script.chmod(0o755)
    assert others.run_worker(str(script), "dgl", "gcn", tmp_path, REQUEST)["absent"] == "cannot start"
    script.chmod(0o644)
    assert "cannot be run" in others.run_worker(str(script), "dgl", "gcn", tmp_path, REQUEST)["absent"]


def test_steps_are_scaled_to_an_epoch(monkeypatch: pytest.MonkeyPatch, small: Dataset, tmp_path: Path) -> None:
    result = {"step_seconds": [1.0, 2.0, 3.0], "nodes": [5, 6, 7], "steps_an_epoch": 100, "peak_memory_bytes": 9}
    seen: dict[str, Any] = {}

    def answer(python: str, library: str, method: str, folder: Path, request: dict[str, Any]) -> dict[str, Any]:
        assert method == "graphsage-mean"
        seen[library] = {"python": python, **{name: np.load(folder / f"{name}.npy") for name in ("indptr", "train")}}
        return result

    monkeypatch.setattr(others, "run_worker", answer)
    measured = Measurements()
    measured.add("epoch", "ours", [2.0])
    others.measure(measured, Options("epoch", libraries=("dgl",), out=tmp_path), small, hidden=4)
    assert seen["dgl"]["python"] == sys.executable
    assert np.array_equal(seen["dgl"]["indptr"], small.graph.indptr)
    assert measured.figures["dgl"]["median"] == 200
    assert measured.figures["dgl"]["basis"] == "3 of 100 steps, in 3 groups"
    assert measured.ratios["dgl"]["value"] == 100


def test_other_libraries_train_on_the_training_graph(small: Dataset, tmp_path: Path) -> None:
    assert small.split is not None
    nodes = small.split.train
    parts = {name: getattr(small, name) for name in ("name", "x", "y", "classes", "split")}
    inductive = Dataset(**parts, graph=small.graph.subgraph(nodes), inductive=True)
    folder = others.training_folder(inductive, tmp_path)
    indptr, indices, y = (np.load(folder / f"{name}.npy") for name in ("indptr", "indices", "y"))
    assert np.array_equal(y, small.y[nodes])
    for row, node in enumerate(nodes):
        assert np.array_equal(nodes[indices[indptr[row] : indptr[row + 1]]], inductive.graph.row(int(node)))
