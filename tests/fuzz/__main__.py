"""Fuzz every reader in turn until the time is over: ``python -m tests.fuzz --seconds 600``."""

import argparse
import faulthandler
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.readers import Reader, check, readers

EXAMPLES = 25  # of one reader, before it is another's turn
LONGEST = 120  # seconds that reading one file may take on a busy machine
FOUND = Path("build") / "fuzz"


class DefectError(Exception):
    """What a reader may not raise, with the file that it read."""

    def __init__(self, content: bytes, error: BaseException) -> None:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "mggcn" in frame.filename]
        where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "outside the package"
        super().__init__(f"{type(error).__name__} in {where}: {error}")
        self.content = content


def fuzz(reader: Reader, number: int, examples: int = EXAMPLES) -> None:
    """Read files that follow from a seed; raises DefectError."""

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(reader.damaged)
    def attempt(content: bytes) -> None:
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        try:
            check(reader, content)
        except Exception as error:  # noqa: BLE001 - all but one kind are defects
            raise DefectError(content, error) from None
        finally:
            faulthandler.cancel_dump_traceback_later()

    attempt()


def main() -> int:
    """Print how many files each reader has read; 1 if one raised anything but an InputError of one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, help="of the first turn; from the clock if missing")
    parser.add_argument("--only", default="", help="readers whose name contains this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    end = time.monotonic() + options.seconds
    number = time.time_ns() % 2**31 if options.seed is None else options.seed
    print(f"seed {number}", flush=True)  # noqa: T201
    counts, defects = Counter[str](), dict[str, str]()
    with tempfile.TemporaryDirectory() as folder:
        selected = {name: reader for name, reader in readers(Path(folder)).items() if options.only in name}
        while time.monotonic() < end and len(defects) < len(selected):
            for name, reader in selected.items():
                if name not in defects and time.monotonic() < end:
                    try:
                        fuzz(reader, number)
                        counts[name] += EXAMPLES
                    except DefectError as defect:
                        file = FOUND / name.replace(" ", "-")
                        file.parent.mkdir(parents=True, exist_ok=True)
                        file.write_bytes(defect.content)
                        defects[name] = f"; then {defect}, reading {file}"
            number += 1
    for name in selected:
        print(f"{name}: {counts[name]:,} files{defects.get(name, '')}")  # noqa: T201
    print(f"fuzz: {counts.total():,} files, {len(defects)} readers with a defect")  # noqa: T201
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
