"""Messages outside the command line name parameters; only the command line has flags."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "mggcn"
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
ALONE = re.compile(r"--[a-z][a-z-]*(=\S*)?")


def flags_in(code: str) -> Iterator[str]:
    """Texts that name a flag, without docstrings and the single words of other programs' command lines."""
    tree = ast.parse(code)
    left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple):
            words = node.elts
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "git":
            words = node.args
        else:
            continue
        left_out |= {id(word) for word in words if isinstance(word, ast.Constant) and ALONE.fullmatch(str(word.value))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield from [node.value] if FLAG.search(node.value) else []


def test_messages_of_the_library_name_no_flags() -> None:
    files = [path for path in SOURCE.rglob("*.py") if not path.is_relative_to(SOURCE / "cli")]
    assert len(files) > 100
    named = {str(path.relative_to(SOURCE)): list(flags_in(path.read_text())) for path in files}
    assert {path: texts for path, texts in named.items() if texts} == {}


def test_a_message_with_a_flag_is_found_and_a_command_is_none() -> None:
    code = '"""A --doc."""\nraise InputError(f"--jobs: {jobs} is wrong")\nsubprocess.run(["git", "--quiet"])\n'
    assert list(flags_in(code)) == ["--jobs: "]
    assert list(flags_in('check(folder, "--out")')) == ["--out"]
