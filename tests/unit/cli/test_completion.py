"""Shell completion: what the generated bash script proposes, and where it is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from mggcn.cli import app, main

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_mggcn mggcn "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("typed", "proposed"),
    [
        (["tr"], ["train"]),
        (["do"], ["doctor"]),
        (["ethereum", "si"], ["simulate"]),
        (["train", "--see"], ["--seed", "--seeds"]),
        (["train", "--log"], ["--log-level"]),
        (["--log-level", "d"], ["debug"]),
        (["train", "digits", "--device", "c"], ["cpu", "cuda"]),
    ],
)
def test_bash_completes(typed: list[str], proposed: list[str], tmp_path: Path) -> None:
    script = tmp_path / "mggcn.bash"
    script.write_text(app.generate_completion(shell="bash"))  # noqa: S604
    command = ["bash", "-c", ASK, "bash", str(script), "mggcn", *typed]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == proposed, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_installed(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    script = tmp_path / "script"
    assert main(["--install-completion", "--shell", shell, "--output", str(script)]) == 0
    assert str(script) in capsys.readouterr().out
    for word in ("train", "doctor", "log-level"):
        assert word in script.read_text()
