"""Build a wheel and a source distribution, and run ``mggcn train digits`` from each in an environment of its own.

To be quick, an environment installs the built file alone; the packages that it requires, and no others, are links to
those of the environment that runs this. A module that an extra installs is missing there, as it is for a user.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def required(name: str, known: set[str]) -> set[str]:
    """The names of a distribution's requirements without extras, and of theirs."""
    for requirement in metadata.requires(name) or []:
        other = re.match(r"[\w.-]+", requirement)
        if other and other[0] not in known and "extra ==" not in requirement:
            try:
                metadata.distribution(other[0])
            except metadata.PackageNotFoundError:
                continue  # for another platform
            known.add(other[0])
            required(other[0], known)
    return known


def link(name: str, target: Path) -> None:
    """Link the files and folders of an installed distribution into another environment."""
    for top in {Path(file.parts[0]) for file in metadata.distribution(name).files or [] if file.parts[0] != ".."}:
        if top.name != "__pycache__" and not (target / top).exists():
            (target / top).symlink_to(metadata.distribution(name).locate_file(top))  # type: ignore[arg-type]


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command and return what it prints; ends this program if it fails."""
    result = subprocess.run(command, cwd=cwd, text=True, capture_output=True, check=False)  # noqa: S603
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def check(archive: Path, folder: Path) -> None:
    """Install a built file in a new environment and train with it, in an empty folder."""
    environment, work = folder / "environment", folder / "work"
    venv.create(environment, with_pip=False)
    work.mkdir()
    packages = Path(
        run(environment / "bin/python", "-c", "import site; print(site.getsitepackages()[0])", cwd=work).strip()
    )
    pip = (sys.executable, "-m", "pip", "--quiet")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, archive, cwd=work)
    run(*pip, "--python", environment, "install", "--no-deps", *folder.glob("*.whl"), cwd=work)
    for name in required("mggcn", set()):
        link(name, packages)
    location = run(environment / "bin/python", "-c", "import mggcn; print(mggcn.__file__)", cwd=work).strip()
    if not Path(location).is_relative_to(packages):
        sys.exit(f"{archive.name}: imported from {location}")
    print(run(environment / "bin/mggcn", "train", "digits", "--epochs", "5", "--quiet", cwd=work), end="")  # noqa: T201
    if not (work / "runs/digits-mg-gcn-seed0/record.json").is_file():
        sys.exit(f"{archive.name}: mggcn train digits left no record")
    print(f"{archive.name}: mggcn train digits, 1 passed")  # noqa: T201


def main() -> None:
    """Build both and check both."""
    with tempfile.TemporaryDirectory() as name:
        built = Path(name) / "dist"
        run(sys.executable, "-m", "hatchling", "build", "--directory", built, cwd=ROOT)
        for pattern in ("*.whl", "*.tar.gz"):
            (archive,) = built.glob(pattern)
            folder = Path(name) / archive.name.partition("-")[0]
            folder.mkdir()
            check(archive, folder)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
