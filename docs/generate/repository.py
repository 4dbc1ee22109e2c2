"""Where things lie in the repository, and how its scripts outside the package are used."""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENTS = ROOT / "experiments"


@cache
def script(path: str) -> ModuleType:
    """A Python file of the repository, named by its path from the root, as a module."""
    file = ROOT / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file}: cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
