from pathlib import Path

import pytest

from mggcn import kernels
from mggcn.cli.doctor_kernels import check_kernels
from mggcn.kernels.pick import PickTable
from tests.gpu import GPU

FOLDER = Path(kernels.__file__).parent
PARTS_OF_KERNELS = {"hashing", "threads"}
ONLY_ON_GPU = {
    "expand",  # on a CPU, repeated rows are merged without it
    "gather_product",  # on a CPU, rows are gathered first
}


def names(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("[!_]*.py")}


def test_every_back_end_of_every_kernel_is_checked() -> None:
    checks = list(check_kernels(GPU))
    assert [check for check in checks if check.problem] == []
    on_cpu, on_gpu = ({check.kernel for check in checks if check.back_end == end} for end in ("cpu", "gpu"))
    assert on_cpu == names(FOLDER) - PARTS_OF_KERNELS - ONLY_ON_GPU
    assert on_gpu == names(FOLDER / "gpu")
    assert all(check.milliseconds > 0 for check in checks)


def test_any_exception_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise OSError("no compiler\nwas found")

    monkeypatch.setattr(PickTable, "draw", broken)
    [check] = [check for check in check_kernels() if check.problem]
    assert (check.kernel, check.back_end, check.problem) == ("pick", "cpu", "no compiler")
