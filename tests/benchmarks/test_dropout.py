"""``benchmarks/dropout.py``: a line for each kind of rows."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_it_prints_times_of_the_kernel_and_of_torch() -> None:
    command = [sys.executable, "-m", "benchmarks.dropout", "--rows", "7", "--repeats", "1", "--threads", "1"]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    line = re.compile(r"(\w+) +kernel +([\d.]+) ms +torch +([\d.]+) ms +([\d.]+) x")
    assert [line.fullmatch(text)[1] for text in lines] == ["dense", "sparse", "hidden"]
