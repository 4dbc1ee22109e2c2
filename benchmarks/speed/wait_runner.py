"""Runs ``mggcn train`` and writes where its time went; :mod:`benchmarks.speed.wait` starts this file as a script."""

import time

_BEGAN = time.time()

import json  # noqa: E402
import logging  # noqa: E402
import runpy  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402


class Phases(logging.Handler):
    """Collects the spans of time of log records with a field ``phase``."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.spans: list[tuple[str, float, float]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the phase of a record, when it began and when it ended."""
        if (phase := getattr(record, "phase", None)) is not None:
            self.spans.append((phase, record.created - record.seconds, record.created))  # type: ignore[attr-defined]


def exclusive(spans: list[tuple[str, float, float]]) -> dict[str, float]:
    """The seconds of each phase without those of phases inside it, such as compiling a kernel in the first epoch."""
    seconds: dict[str, float] = {}
    around: list[tuple[str, float]] = []
    for phase, began, ended in sorted(spans, key=lambda span: (span[1], -span[2])):
        while around and around[-1][1] < ended:
            around.pop()
        seconds[phase] = seconds.get(phase, 0.0) + ended - began
        if around:
            seconds[around[-1][0]] -= ended - began
        around.append((phase, ended))
    return seconds


def _main(out: Path, arguments: list[str]) -> object:
    import torch  # noqa: F401

    imported, phases = time.time(), Phases()
    logging.getLogger("mggcn").addHandler(phases)
    sys.argv = ["mggcn", "--log-level", "debug", *arguments]
    try:
        runpy.run_module("mggcn", run_name="__main__")
    except SystemExit as end:
        out.write_text(json.dumps({"began": _BEGAN, "torch": imported - _BEGAN, "phases": exclusive(phases.spans)}))
        return end.code
    return 1


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), sys.argv[2:]))  # type: ignore[arg-type]
