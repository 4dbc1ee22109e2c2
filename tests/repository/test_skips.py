"""Which skipped tests fail a run with ``--strict-skips``."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.skips import NO_DATA, NO_GPU, summary

ROOT = Path(__file__).resolve().parents[2]


def test_tests_of_a_gpu_are_counted_and_those_of_real_data_named() -> None:
    skipped = [("a", NO_GPU), ("b", f"{NO_DATA}: set MGGCN_DATA"), ("c", NO_GPU)]
    lines, is_allowed = summary(skipped)
    assert is_allowed
    assert lines[0] == "not run: 2 tests that need a GPU"
    assert lines[1] == "not run: 1 tests of real data, because MGGCN_DATA names none:"
    assert lines[2] == "  b"


def test_every_other_skip_is_a_failure() -> None:
    lines, is_allowed = summary([("a", NO_GPU), ("b", "no browser")])
    assert not is_allowed
    assert lines[-2:] == ["failed: 1 tests were skipped that must run:", "  b: no browser"]


@pytest.mark.parametrize(("reason", "code"), [("no browser", 1), (NO_GPU, 0)])
def test_the_exit_code_says_it(tmp_path: Path, reason: str, code: int) -> None:
    (tmp_path / "test_one.py").write_text(f"import pytest\ndef test_a(): pytest.skip({reason!r})\ndef test_b(): pass\n")
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_addoption, pytest_sessionfinish\n")
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "--strict-skips",
        "--rootdir",
        tmp_path,
        "--confcutdir",
        tmp_path,
        tmp_path,
    ]
    command = [sys.executable, "-m", "pytest", *options]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == code, result.stdout
    assert ("failed: 1 tests" in result.stdout) == bool(code)
