"""What the documentation shows is run; the rules are in :mod:`tests.docs.snippets`."""

import doctest
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mggcn
from benchmarks.speed import __main__ as speed
from benchmarks.speed.options import parse
from mggcn.cli import app, main
from tests.docs.reader import possessions
from tests.docs.snippets import KINDS, ROOT, Snippet, prints, snippets
from tests.ranks import finished

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
MADE_BY_SCRIPTS = {"speed.md": "the commands of measurements that took minutes each, some of them on a GPU"}
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
SPEED = "python -m benchmarks.speed "
TARGETS = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


def of(page: Path) -> list[Snippet]:
    return snippets(page.read_text())


def runs(page: Path, snippet: Snippet) -> bool:
    if snippet.kind == "python":
        return not snippet.saved
    return snippet.kind == "console" and not snippet.reason and page.name not in MADE_BY_SCRIPTS


def named(pages: list[Path]) -> list[object]:
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages]


@pytest.mark.parametrize("page", named([page for page in PAGES if any(runs(page, one) for one in of(page))]))
def test_snippets_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with possessions(page, tmp_path, monkeypatch):
        run_page(page, tmp_path, capsys)


def run_page(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the snippets of a page in order; their commands and their Python share one folder."""
    names: dict[str, object] = {}
    for snippet in of(page):
        where = f"{page.name}, line {snippet.line}"
        assert snippet.saved or snippet.kind != "toml", f"{where}: the page does not say under which name it is saved"
        if snippet.saved:
            (folder / snippet.saved).write_text(snippet.body)
        if not runs(page, snippet):
            continue
        capsys.readouterr()
        if snippet.kind == "python":
            exec(compile(snippet.body, where, "exec"), names)  # noqa: S102
        else:
            for command in snippet.commands:
                program, *arguments = shlex.split(command)
                if program == "torchrun":
                    done = finished([sys.executable, "-m", "torch.distributed.run", *arguments])
                    assert done.returncode == 0, f"{where}: {command!r}: {done.stderr}"
                    sys.stdout.write(done.stdout)
                    continue
                is_speed = command.startswith(SPEED)
                assert program == "mggcn" or is_speed, f"{where}: {command!r} cannot be run here; say why above it"
                code = speed.main(arguments[2:]) if is_speed else main(arguments)
                assert code == 0, f"{where}: {command!r} ended with {code}: {capsys.readouterr().err}"
        printed = capsys.readouterr().out
        assert not snippet.output or prints(snippet.output, printed), f"{where} printed\n{printed}"


@pytest.mark.parametrize("page", named(PAGES))
def test_commands_exist(page: Path) -> None:
    for snippet in of(page):
        for command in snippet.commands if snippet.kind == "console" else []:
            program, *arguments = shlex.split(command)
            if program in ("torchrun", "srun"):
                if "mggcn" not in arguments:
                    continue  # a script of the page
                program, *arguments = arguments[arguments.index("mggcn") :]
            if program == "mggcn":
                _, outer, _ = app.meta.parse_args(arguments, exit_on_error=False, print_error=False)
                function, bound, _ = app.parse_args(outer.args, exit_on_error=False, print_error=False)
                assert callable(function)
                assert bound is not None
            elif command.startswith(SPEED):
                assert parse(arguments[2:]).what
            elif program == "make":
                assert set(arguments) <= set(TARGETS), command
            elif program == "pip":
                wanted = re.findall(r"\[([\w,]+)\]", command)
                assert {name for group in wanted for name in group.split(",")} <= set(EXTRAS), command
            else:
                raise AssertionError(f"{page.name}, line {snippet.line}: what is {program!r}?")


@pytest.mark.parametrize("page", named([page for page in PAGES if page.name not in MADE_BY_SCRIPTS]))
def test_every_block_has_a_rule(page: Path) -> None:
    blocks = [one for one in of(page) if one.kind or page.name != "CONTRIBUTING.md"]
    assert {one.kind for one in blocks} <= set(KINDS)
    assert page.read_text().count("<!-- not run:") == sum(bool(one.reason) for one in blocks)
    assert all(one.kind == "console" for one in blocks if one.reason)


def test_a_wrong_option_is_noticed() -> None:
    from cyclopts import CycloptsError

    with pytest.raises(CycloptsError):
        app.parse_args(["train", "cora", "--pick", "3"], exit_on_error=False, print_error=False)


@pytest.mark.parametrize(
    ("told", "printed", "alike"),
    [
        ("accuracy 97.49%\n", "epoch 1\naccuracy 97.60%\n", True),
        ("accuracy 97.49%\n", "accuracy 88.00%\n", False),
        ("training … s, best epoch … of 30\n", "training 1.2 s, best epoch 28 of 30\n", True),
        ("training … s, best epoch … of 30\n", "training 1.2 s, best epoch 28 of 60\n", False),
        ("two\nlines\n", "lines\n", False),
        ("first\n…\nlast 3\n", "first\nsecond\nthird\nlast 3\n", True),
        ("first\n…\nlast 3\n", "first\nsecond\nthird\nlast 4\n", False),
        ("[3, 14] 15\n", "[3, 14] 15\n", True),
    ],
)
def test_outputs_are_compared(told: str, printed: str, alike: bool) -> None:
    assert prints(told, printed) is alike


def test_nearly_all_of_the_readme_runs() -> None:
    blocks = [one for one in of(ROOT / "README.md") if one.kind in ("python", "console")]
    assert sum(one.kind == "python" for one in blocks) >= 1
    assert [one.commands[0].split()[:2] for one in blocks if one.reason] == [["pip", "install"], ["mggcn", "explore"]]


def test_package_docstring() -> None:
    assert doctest.testmod(mggcn, optionflags=doctest.ELLIPSIS).failed == 0


def test_the_public_names_exist() -> None:
    for name in mggcn.__all__:
        assert getattr(mggcn, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = mggcn.nothing
    assert set(dir(mggcn)) == set(mggcn.__all__)


def test_packages_are_imported_when_they_are_used() -> None:
    code = "import sys, mggcn; print(*(name for name in sys.modules if name.startswith(('mggcn.', 'importlib.meta'))))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["mggcn._io", "mggcn._io.lazy"]
    code = "import mggcn; print(mggcn.nn.__name__, mggcn.methods.METHODS['gcn'].__name__, mggcn.__version__.count('.'))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "mggcn.nn GCN 2"
