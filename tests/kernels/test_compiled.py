import numpy as np
import pytest

from mggcn.kernels import compiled as module
from mggcn.kernels.compiled import compiled


def test_a_long_first_compile_is_announced_once(monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.0)

    @compiled
    def double(values, out, start, stop):
        for i in range(start, stop):
            out[i] = 2 * values[i]

    values, out = np.arange(4.0), np.zeros(4)
    double(values, out, 0, 4)
    assert out.tolist() == [0, 2, 4, 6]
    assert capfd.readouterr().err == "compiling the kernel 'double', once on this machine ...\n"
    double(values, out, 0, 4)
    assert capfd.readouterr().err == ""
