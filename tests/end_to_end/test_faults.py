"""A few faults of every promise of ``docs/reliability.md``; ``python -m benchmarks.faults`` runs all of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SHARE = "0.004"
for library in ("duckdb", "ibis", "optuna", "altair", "uvicorn", "httpx", "stamina", "pandas"):
    pytest.importorskip(library)


@pytest.fixture(scope="module")
def promises(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("faults") / "faults.json"
    command = [sys.executable, "-m", "benchmarks.faults", "all", "--share", SHARE, "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert out.exists(), done.stderr
    results: dict[str, Any] = json.loads(out.read_text())["promises"]
    return results


@pytest.mark.parametrize("name", ["kills", "corruptions", "inputs", "attacks", "races", "signals", "shortages", "soak"])
def test_the_promise_holds(promises: dict[str, Any], name: str) -> None:
    assert promises[name]["failed"] == {}
    assert promises[name]["held"] != []
