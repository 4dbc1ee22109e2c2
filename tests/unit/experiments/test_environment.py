import re
import subprocess
import sys
from typing import NoReturn

import numpy as np
import pytest

from mggcn.training import _environment as environment

SCRIPT = """
import numpy as np
import torch
from mggcn.training import environment
cpu = torch.device("cpu")
first = np.ones(200 << 20, np.uint8)
large = environment.peak(cpu)
del first
environment.reset_peak(cpu)
small = environment.peak(cpu)
second = np.ones(100 << 20, np.uint8)
print(large, small, environment.peak(cpu))
"""


def test_peak_memory_sees_a_large_array_and_forgets_it_when_told() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    large, small, grown = (int(number) for number in done.stdout.split())
    assert large > 200 << 20
    assert small < large - (150 << 20)
    assert small + (90 << 20) < grown < large


def test_the_description_names_versions_and_machine() -> None:
    found = environment.describe()
    assert found["packages"]["numpy"] == np.__version__
    assert found["cores"] >= 1
    assert found["commit"] is None or re.fullmatch(r"[0-9a-f]{40}\+?", found["commit"])


def test_reading_the_commit_takes_no_lock_that_a_killed_process_would_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = []

    def run(command: list[str], **_: object) -> NoReturn:
        commands.append(command)
        raise OSError("git is not run here")

    monkeypatch.setattr(environment.subprocess, "run", run)
    environment.commit.cache_clear()
    assert environment.commit() is None
    environment.commit.cache_clear()
    assert all("--no-optional-locks" in command for command in commands)
    assert commands
