import pytest

from mggcn.cli.doctor_kernels import check_kernels
from mggcn.kernels.pick import PickTable
from tests.gpu import GPU

KERNELS = {"adam", "aggregate", "combine", "gather_sum", "induce", "loss", "pick", "product"}


def test_every_back_end_of_the_kernels_of_the_default_method_is_checked() -> None:
    checks = list(check_kernels(GPU))
    assert [check for check in checks if check["problem"]] == []
    on_cpu, on_gpu = ({check["kernel"] for check in checks if check["back_end"] == end} for end in ("cpu", "gpu"))
    assert on_cpu == KERNELS
    assert on_gpu == KERNELS
    assert all(check["milliseconds"] > 0 for check in checks)


def test_any_exception_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise OSError("no compiler\nwas found")

    monkeypatch.setattr(PickTable, "draw", broken)
    [check] = [check for check in check_kernels() if check["problem"]]
    assert (check["kernel"], check["back_end"], check["problem"]) == ("pick", "cpu", "no compiler")
