"""Threads that wait for others sleep soon, unless the user says how they wait."""

import os
import subprocess
import sys

import pytest

from mggcn.__main__ import let_threads_sleep

NAMES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "")  # so that it is restored
        monkeypatch.delenv(name)


def test_they_sleep_soon() -> None:
    let_threads_sleep()
    assert {name: os.environ.get(name) for name in NAMES} == {
        "OMP_WAIT_POLICY": None,
        "GOMP_SPINCOUNT": "10000",
        "KMP_BLOCKTIME": "1",
    }


@pytest.mark.parametrize(("name", "value"), [("GOMP_SPINCOUNT", "7"), ("KMP_BLOCKTIME", "0")])
def test_a_number_of_the_user_stays(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    let_threads_sleep()
    assert os.environ[name] == value


def test_a_policy_of_the_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    let_threads_sleep()
    assert "GOMP_SPINCOUNT" not in os.environ
    assert "KMP_BLOCKTIME" not in os.environ


def test_a_command_says_so_before_torch_is_there() -> None:
    code = (
        "import os, sys; from mggcn import __main__ as start; from mggcn import cli; "
        "cli.main = lambda: print(os.environ['GOMP_SPINCOUNT'], 'torch' in sys.modules) or 0; start.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "10000 False\n"
