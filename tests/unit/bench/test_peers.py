"""Peers: what the bench says where they are absent, and what it makes of what they tell."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mggcn.bench import Options, bench, peers
from mggcn.bench.sheet import Sheet
from mggcn.dataset import Dataset

ASKED = {"threads": 1, "batch_size": 8, "hidden": 4, "fanout": [2, 2], "steps": 2, "device": "cpu"}
ASKED |= {"num_parts": 2, "parts_a_step": 1}


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """An interpreter with numpy and torch as here, but none of the peers."""
    script = tmp_path / "python"
    blocked = "import sys; sys.modules.update(dict.fromkeys(['dgl', 'torch_geometric'])); "
    run = "import runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{blocked}{run}" "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_absent_peers_are_said_to_be_absent(generated: Path, tmp_path: Path, bare_python: str) -> None:
    python = {"pyg": bare_python, "dgl": bare_python}
    options = Options("epoch", scale=0.005, repeats=1, peers=("pyg", "dgl"), peer_python=python, out=tmp_path)
    record = bench(Options(**(vars(options) | {"root": generated})))["epoch"]
    assert len(record["notes"]) == 3
    for note, told in zip(record["notes"], record["facts"]["peers"].values(), strict=True):
        assert "not measured" in note
        assert note.count("\n") == 0
        assert told["absent"] in note
    assert not {"pyg", "dgl"} & record["figures"].keys()
    assert bare_python not in json.dumps(record)


def test_a_broken_interpreter_is_said_to_be_broken(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho first >&2\necho cannot start >&2\nexit 3\n")
    script.chmod(0o755)
    assert peers.ask(str(script), "dgl", tmp_path, ASKED)["absent"] == "cannot start"
    script.chmod(0o644)
    assert "cannot be run" in peers.ask(str(script), "dgl", tmp_path, ASKED)["absent"]


def test_steps_are_scaled_to_an_epoch(monkeypatch: pytest.MonkeyPatch, small: Dataset, tmp_path: Path) -> None:
    told = {"step_seconds": [1.0, 2.0, 3.0], "nodes": [5, 6, 7], "steps_an_epoch": 100, "peak_memory_bytes": 9}
    seen: dict[str, Any] = {}

    def answer(python: str, run: str, folder: Path, asked: dict[str, Any]) -> dict[str, Any]:
        seen[run] = {"python": python, **{name: np.load(folder / f"{name}.npy") for name in ("indptr", "train")}}
        return told

    monkeypatch.setattr(peers, "ask", answer)
    sheet = Sheet()
    sheet.put("epoch", "ours", [2.0])
    peers.measure(sheet, Options("epoch", peers=("dgl",), out=tmp_path), small, hidden=4)
    assert seen["dgl"]["python"] == sys.executable
    assert np.array_equal(seen["dgl"]["indptr"], small.graph.indptr)
    assert sheet.figures["dgl"]["median"] == 200
    assert sheet.figures["dgl"]["basis"] == "3 of 100 steps, in 3 groups"
    assert sheet.ratios["dgl"]["value"] == 100


def test_peers_train_on_the_graph_that_training_sees(small: Dataset, tmp_path: Path) -> None:
    assert small.split is not None
    nodes = small.split.train
    parts = {name: getattr(small, name) for name in ("name", "x", "y", "classes", "split")}
    inductive = Dataset(**parts, graph=small.graph.subgraph(nodes), inductive=True)
    folder = peers._folder(inductive, tmp_path)
    indptr, indices, y = (np.load(folder / f"{name}.npy") for name in ("indptr", "indices", "y"))
    assert np.array_equal(y, small.y[nodes])
    for place, node in enumerate(nodes):
        assert np.array_equal(nodes[indices[indptr[place] : indptr[place + 1]]], inductive.graph.row(int(node)))
