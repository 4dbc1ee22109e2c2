from pathlib import Path

import pytest

from mggcn import kernels
from mggcn.doctor import check_kernels
from mggcn.kernels.pick import PickTable
from tests.gpu import GPU

FOLDERS = [path.parent for path in sorted(Path(kernels.__file__).parent.glob("*/reference.py"))]


def test_every_back_end_of_every_kernel_is_checked() -> None:
    checks = list(check_kernels(GPU))
    assert [check for check in checks if check.problem] == []
    assert {check.kernel for check in checks} == {folder.name for folder in FOLDERS}
    on_gpu = {check.kernel for check in checks if check.back_end == "gpu"}
    assert on_gpu == {folder.name for folder in FOLDERS if (folder / "gpu.py").is_file()}
    assert {check.kernel for check in checks if check.back_end == "cpu"} == {folder.name for folder in FOLDERS} - {
        "expand",  # on a CPU, repeated rows are merged without it
        "gather_product",  # on a CPU, rows are gathered first
    }
    assert all(check.milliseconds > 0 for check in checks)


def test_any_exception_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = PickTable.draw

    def broken(*arguments: object, **options: object) -> object:
        if options:
            raise OSError("no compiler\nwas found")
        return draw(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(PickTable, "draw", broken)
    [check] = [check for check in check_kernels() if check.problem]
    assert (check.kernel, check.back_end, check.problem) == ("pick", "cpu", "no compiler")
