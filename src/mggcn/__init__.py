"""Train node classifiers on graphs too large for full-batch GCNs.

>>> import mggcn
>>> run = mggcn.fit(mggcn.load("digits"), seed=0)
>>> run.record.test_accuracy > 0.9
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mggcn import data, ethereum, experiments, explore, methods, nn, runs, sampling, training
    from mggcn.data import Dataset, Split, load
    from mggcn.errors import InputError, InputWarning
    from mggcn.graph import Graph
    from mggcn.methods import Method
    from mggcn.runs import Run, fit, load_run, resume
    from mggcn.sampling.loader import MixGrainedLoader
    from mggcn.training import Training

    __version__: str

__all__ = [
    "Dataset",
    "Graph",
    "InputError",
    "InputWarning",
    "Method",
    "MixGrainedLoader",
    "Run",
    "Split",
    "Training",
    "__version__",
    "data",
    "ethereum",
    "experiments",
    "explore",
    "fit",
    "load",
    "load_run",
    "methods",
    "nn",
    "resume",
    "runs",
    "sampling",
    "training",
]

_HOMES = {
    "Dataset": "data",
    "Split": "data",
    "load": "data",
    "InputError": "errors",
    "InputWarning": "errors",
    "Graph": "graph",
    "MixGrainedLoader": "sampling.loader",
    "Method": "methods",
    "Training": "training",
    "Run": "runs",
    "fit": "runs",
    "load_run": "runs",
    "resume": "runs",
}
_PACKAGES = frozenset(name for name in __all__ if name not in _HOMES and not name.startswith("_"))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("mggcn")
    if name in _PACKAGES:
        return import_module(f"mggcn.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'mggcn' has no attribute {name!r}")
    return getattr(import_module(f"mggcn.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
