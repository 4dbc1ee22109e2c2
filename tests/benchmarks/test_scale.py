"""``benchmarks/scale.py``: generates the same graph every time, and records an import of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "scale.py"


def run(*arguments: object) -> list[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scale") / "G"
    run("generate", folder, "--nodes", 5000)
    return folder


def test_the_graph_depends_on_size_and_seed_only(graph: Path, tmp_path: Path) -> None:
    run("generate", tmp_path / "again", "--nodes", 5000)
    run("generate", tmp_path / "other", "--nodes", 5000, "--seed", 1)
    edges = parquet.read_table(graph / "edges-0000.parquet")
    assert edges.equals(parquet.read_table(tmp_path / "again" / "edges-0000.parquet"))
    assert not edges.equals(parquet.read_table(tmp_path / "other" / "edges-0000.parquet"))
    nodes = parquet.read_table(graph / "nodes-0000.parquet")
    assert nodes.equals(parquet.read_table(tmp_path / "again" / "nodes-0000.parquet"))
    assert nodes["id"].to_pylist() == list(range(5000))
    assert edges.num_rows == 50_000


def test_an_import_is_measured(graph: Path, tmp_path: Path) -> None:
    printed = run("import", graph, "--memory", "500MB", "--record", tmp_path / "record.json")
    record = json.loads((tmp_path / "record.json").read_text())
    assert any(line.startswith(f"import: 5,000 nodes, {record['edges']:,} edges in ") for line in printed)
    assert 45_000 < record["edges"] < 50_000
    assert record["resident"] >= record["anonymous"] > 2**20
    assert record["disk"] >= record["details"]["folder"] > 5000 * 64 * 4
    assert record["machine"]
    assert sorted(path.suffix for path in graph.iterdir()) == [".parquet", ".parquet"]


def test_preparing_training_and_scoring_are_measured(graph: Path, tmp_path: Path) -> None:
    data, cache, runs = (tmp_path / name for name in ("data", "cache", "runs"))
    run("import", graph, "--memory", "500MB", "--keep", data, "--record", tmp_path / "import.json")
    places = {"prepare": ["--cache", cache]}
    places["epoch"] = [*places["prepare"], "--runs", runs, "--epochs", 2, "--batch-size", 64]
    places["predict"] = [*places["prepare"], "--runs", runs]
    records = {}
    for what, options in places.items():
        run(what, data, *options, "--record", tmp_path / f"{what}.json")
        records[what] = json.loads((tmp_path / f"{what}.json").read_text())
        assert (records[what]["what"], records[what]["nodes"], records[what]["features"]) == (what, 5000, 64)
        assert records[what]["resident"] >= records[what]["anonymous"] > 2**20
        assert records[what]["seconds"] > 0
    assert records["prepare"]["disk"] >= records["prepare"]["details"]["folder"] > 5000 * 64 * 4 * 2
    assert len(records["epoch"]["details"]["epochs"]) == 2
    split = parquet.read_table(graph / "nodes-0000.parquet")["split"].to_pylist()
    assert records["epoch"]["details"]["targets"] == split.count("train")
    assert records["predict"]["details"]["file"] > 5000 * 8
    with pytest.raises(subprocess.CalledProcessError):
        run("prepare", data, "--cache", cache)
