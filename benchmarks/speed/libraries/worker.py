"""Times a method in another library: ``python -m benchmarks.speed.libraries.worker LIBRARY METHOD FOLDER OPTIONS``.

LIBRARY is ``pyg`` or ``dgl``, FOLDER holds the ``.npy`` files of a dataset folder, and OPTIONS is a JSON object with
the settings of the method, ``threads``, ``device``, ``steps`` and ``variant``, the way to write it that is timed. The
last line of standard output is one JSON object: the seconds of every step after the warm-up, or the reason of the
failure.
"""

import importlib
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

import torch

from .training import TrainingData


def measure(library: str, method: str, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    """What a run returns, or why it failed as ``absent``; ``is_missing`` if a library is not installed."""
    try:
        module = importlib.import_module(f".{library}", __package__)
        result: dict[str, Any] = module.RUNS[method](TrainingData(folder), options)
    except ImportError as error:
        return {"absent": _first_line(error), "is_missing": True}
    except (OSError, RuntimeError, MemoryError) as error:
        return {"absent": _first_line(error)}
    except Exception as error:  # noqa: BLE001  # each library has exceptions of its own
        return {"absent": f"{type(error).__name__}: {_first_line(error)}"}
    return result


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _peak_memory() -> int:
    """The largest resident size; ru_maxrss is a last resort, because it also counts the parent's memory at the fork."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(library: str, method: str, folder: str, text: str) -> None:
    """Run one method in one library and print the result."""
    options = json.loads(text)
    torch.set_num_threads(options["threads"])
    if options["device"] == "cuda" and options.get("precision") == "tf32":
        torch.set_float32_matmul_precision("high")
    torch.manual_seed(0)
    result = measure(library, method, Path(folder), options)
    result.update(library=library, torch=torch.__version__, peak_memory_bytes=_peak_memory())
    sys.stdout.write(json.dumps(result) + os.linesep)


if __name__ == "__main__":
    main(*sys.argv[1:5])
