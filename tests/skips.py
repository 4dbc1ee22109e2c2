"""Which tests may be skipped: those of a GPU, and those of real data files where there are none.

A test says why it is skipped, and its reason decides. ``--strict-skips`` makes every other skip a failure: CI installs
what tests need, so a skip there is a test that is silently not run.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

NO_GPU = "no GPU"
NO_DATA = "no real data"

_NAMED = os.environ.get("MGGCN_DATA")
DATA = Path(_NAMED) if _NAMED else Path(__file__).resolve().parents[2] / "shared" / "data"
"""The folder of real data files: $MGGCN_DATA, else ``shared/data`` beside the checkout."""


def real_data(name: str) -> Path:
    """The path of a real data file or folder; skips the test without it."""
    if not DATA.is_dir():
        pytest.skip(f"{NO_DATA}: set MGGCN_DATA to a folder that has {name}")
    if not (DATA / name).exists():
        pytest.skip(f"{DATA / name}: missing among the real data")
    return DATA / name


def summary(skipped: list[tuple[str, str]]) -> tuple[list[str], bool]:
    """Lines about skipped tests, and whether all of them may be.

    Args:
        skipped: the name and the reason of each.
    """
    counts = Counter(reason.startswith(NO_GPU) for _, reason in skipped)
    lines = [f"not run: {counts[True]} tests that need a GPU"]
    without_data = [name for name, reason in skipped if reason.startswith(NO_DATA)]
    if without_data:
        lines += [f"not run: {len(without_data)} tests of real data, because MGGCN_DATA names none:"]
        lines += [f"  {name}" for name in without_data]
    wrong = [each for each in skipped if not each[1].startswith((NO_GPU, NO_DATA))]
    if wrong:
        lines += [
            f"failed: {len(wrong)} tests were skipped that must run:",
            *(f"  {name}: {why}" for name, why in wrong),
        ]
    return lines, not wrong
