from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from mggcn.kernels._compiled import compiled

MESSAGE = "compiling the kernel 'double', once on this machine ...\n"


def make(patience: float = 0.0) -> Callable[..., Any]:
    @partial(compiled, patience=patience)
    def double(values, out, start, stop):
        for i in range(start, stop):
            out[i] = 2 * values[i]

    return double


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


def call(kernel: Callable[..., Any], dtype: type = float) -> None:
    out = np.zeros(4, dtype)
    kernel(np.arange(4, dtype=dtype), out, 0, 4)
    assert out.tolist() == [0, 2, 4, 6]


def test_a_compilation_is_announced_once(capfd) -> None:
    double = make()
    call(double)
    assert capfd.readouterr().err == MESSAGE
    call(double)
    call(double, np.int64)
    assert capfd.readouterr().err == "", "a second type compiles again but is not announced again"


def test_a_kernel_from_the_cache_is_not_announced(capfd) -> None:
    call(make())
    assert capfd.readouterr().err == MESSAGE
    double = make()
    call(double)
    assert sum(double.stats.cache_hits.values()) == 1
    assert capfd.readouterr().err == ""


def test_threads_that_wait_for_one_compilation_announce_it_once(capfd) -> None:
    double = make()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(call, [double] * 4))
    assert capfd.readouterr().err == MESSAGE


def test_a_short_compilation_is_silent(capfd) -> None:
    call(make(patience=600.0))
    assert capfd.readouterr().err == ""
