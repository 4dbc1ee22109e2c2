"""The baselines section: what other libraries are asked for, which of their answers counts, and how it is shown."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.speed import __main__ as speed
from benchmarks.speed import others, page, timing
from benchmarks.speed.options import BASELINES, Options
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError

ANSWER: dict[str, Any] = {"steps_an_epoch": 2, "nodes": [7, 9], "peak_memory_bytes": 9, "versions": {"fake": "1"}}
SECONDS = {"edge_index": 3.0, "torch CSR": 2.0, "": 4.0, "windows": 5.0, "DeepWalk": 6.0}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "SHORT", 0.0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the other libraries were asked for; they answer with fixed times, and DGL has no GraphSAINT."""
    requests: list[dict[str, Any]] = []

    def answer(python: str, library: str, method: str, folder: Path, request: dict[str, Any]) -> dict[str, Any]:
        requests.append({**request, "library": library, "method": method, "python": python, "folder": folder})
        json.dumps(request)
        if (library, method) == ("dgl", "graphsaint"):
            return {"absent": "no walks", "is_missing": True}
        if request["variant"] == "SparseTensor":
            return {"absent": "SparseTensor needs torch-sparse", "is_missing": True}
        return {**ANSWER, "library": library, "step_seconds": [SECONDS[request["variant"]]] * 2}

    monkeypatch.setattr(others, "run_worker", answer)
    return requests


@pytest.fixture
def stored(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.setattr(speed, "load", lambda *_, **__: small)
    return small


def run(out: Path, **changes: Any) -> dict[str, Any]:
    options = Options("baselines", dataset="small", repeats=2, out=out, batch_size=8, **changes)
    return speed.run(options)["baselines"]


def test_every_baseline_is_measured_beside_other_libraries(asked: Any, stored: Dataset, tmp_path: Path) -> None:
    record = run(tmp_path, libraries=("pyg", "dgl"), settings={"hidden": 5, "walks": 2, "length": 12, "parts": 4})
    assert list(record["facts"]["baselines"]) == list(BASELINES)
    assert (tmp_path / "baselines-small-1-cpu.json").is_file()
    for name in BASELINES:
        facts = record["facts"]["baselines"][name]
        assert record["figures"][name]["median"] > 0
        if name != "graphsaint":
            seconds = record["figures"][f"{name}_dgl"]["median"]
            assert record["ratios"][f"{name}_dgl"]["value"] == seconds / record["figures"][name]["median"]
            assert facts["libraries"]["dgl"]["nodes_a_batch"] == 8
    assert record["notes"] == ["GraphSAINT: DGL: absent: no walks"]


def test_the_fastest_way_to_write_a_method_counts(asked: Any, stored: Dataset, tmp_path: Path) -> None:
    record = run(tmp_path, libraries=("pyg",), methods=("gcn",))
    answer = record["facts"]["baselines"]["gcn"]["libraries"]["pyg"]
    assert answer["variant"] == "torch CSR"
    tried = {"edge_index": 6.0, "torch CSR": 4.0, "SparseTensor": "SparseTensor needs torch-sparse"}
    assert answer["variants"] == tried
    assert record["figures"]["gcn_pyg"]["median"] == 4.0
    assert "step_seconds" not in answer
    assert [request["variant"] for request in asked] == list(tried)


def test_other_libraries_are_asked_for_our_sizes(asked: Any, stored: Dataset, tmp_path: Path) -> None:
    settings = {"hidden": 5, "walks": 2, "length": 12, "parts": 4, "parts_per_batch": 3, "fanouts": "4", "roots": 6}
    record = run(tmp_path, libraries=("dgl",), settings=settings, library_steps=11)
    requests = {request["method"]: request for request in asked}
    for request in requests.values():
        assert request["batch_size"] == 8
        assert request["steps"] == 11
        assert request["threads"] == record["facts"]["baselines"][request["method"]]["settings"]["threads"]
        assert request.get("hidden", 5) == 5
    assert requests["graphsage-mean"]["fanout"] == (4, 4)
    assert requests["cluster-gcn"]["num_parts"] == 4
    assert requests["cluster-gcn"]["parts_a_step"] == 3
    assert requests["graphsaint"]["roots"] == 6
    assert requests["graphsaint"]["steps_an_epoch"] == record["facts"]["baselines"]["graphsaint"]["steps"]
    assert requests["sign"]["hops"] == 2
    assert requests["node2vec"]["walks_per_step"] == 128
    assert requests["node2vec"]["length"] == 12
    assert record["figures"]["node2vec"]["basis"] == "1 of 2 walks from every node"
    assert len({request["folder"] for request in requests.values()}) == 1


def test_our_steps_are_extrapolated_where_they_have_targets(asked: Any, stored: Dataset, tmp_path: Path) -> None:
    record = run(tmp_path, steps=2, methods=("sgc", "gcn"))
    assert record["figures"]["sgc"]["basis"] == "2 steps of 8 targets"
    assert "basis" not in record["figures"]["gcn"]
    assert list(record["figures"]) == ["gcn", "sgc"]


def test_a_baseline_that_cannot_run_here_is_noted(
    asked: Any, stored: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    record = run(tmp_path, libraries=("dgl",), methods=("cluster-gcn", "sgc"))
    assert record["notes"] == ["Cluster-GCN: not measured: cluster-gcn needs pymetis: pip install 'mggcn[cluster]'"]
    assert list(record["facts"]["baselines"]) == ["sgc"]


def test_settings_that_no_baseline_has(stored: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^unknown setting 'hiden'; did you mean hidden"):
        run(tmp_path, settings={"hiden": 3})
    with pytest.raises(InputError, match=r"^layers: the other libraries' networks have 2 layers$"):
        run(tmp_path, settings={"layers": 3})


def test_a_record_is_shown_as_a_table(asked: Any, stored: Dataset, tmp_path: Path) -> None:
    record = run(tmp_path, libraries=("dgl",), methods=("graphsaint", "sgc"))
    head, saint, sgc = page.baseline_rows(record)
    assert head == ("baseline", "ours", "PyG", "DGL", "faster library over ours")
    assert saint[0] == "GraphSAINT"
    assert saint[2:] == ("–", "absent", "–")
    assert sgc[3] == "8 s"
    assert sgc[4].endswith(" ×")


@pytest.mark.slow
def test_the_real_worker_answers(generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch_geometric")
    words = ["baselines", "--scale", "0.005", "--libraries", "pyg", "--methods", "sgc", "--repeats", "1"]
    words += ["--batch-size", "256", "--library-steps", "2", "--out", str(tmp_path), "--root", str(generated)]
    assert speed.main(words) == 0
    record = json.loads((tmp_path / "baselines-reddit-like-0.005-cpu.json").read_text())
    assert record["notes"] == []
    assert record["ratios"]["sgc_pyg"]["value"] > 0
    answer = record["facts"]["baselines"]["sgc"]["libraries"]["pyg"]
    assert answer["steps_an_epoch"] == record["facts"]["baselines"]["sgc"]["steps"] == 3
    assert answer["nodes_a_batch"] == 256
    assert "--methods sgc --batch-size 256" in record["command"]
    assert "| baseline | ours | PyG | DGL | faster library over ours |" in capsys.readouterr().out
