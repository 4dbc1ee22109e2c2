"""What the documentation shows is run."""

import doctest
import re
from pathlib import Path

import pytest

import mggcn

README = Path(__file__).resolve().parents[2] / "README.md"


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(python_blocks())))
def test_readme_python_runs(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(python_blocks()[number], f"README.md, block {number}", "exec"), {})  # noqa: S102


def test_the_readme_has_examples() -> None:
    assert len(python_blocks()) >= 2


def test_package_docstring() -> None:
    assert doctest.testmod(mggcn, optionflags=doctest.ELLIPSIS).failed == 0


def test_the_public_names_exist() -> None:
    for name in mggcn.__all__:
        assert getattr(mggcn, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = mggcn.nothing
    assert set(dir(mggcn)) == set(mggcn.__all__)
