"""Train node classifiers on graphs too large for full-batch GCNs.

>>> import mggcn
>>> run = mggcn.fit(mggcn.load("digits"), seed=0)
>>> run.record.test_accuracy > 0.9
True
"""

from typing import TYPE_CHECKING, Any

from mggcn._io.lazy import lazy_names

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

_get = lazy_names(
    __name__,
    {
        "data": ["Dataset", "Split", "load"],
        "errors": ["InputError", "InputWarning"],
        "ethereum": [],
        "experiments": [],
        "explore": [],
        "graph": ["Graph"],
        "methods": ["Method"],
        "nn": [],
        "runs": ["Run", "fit", "load_run", "resume"],
        "sampling": [],
        "sampling.loader": ["MixGrainedLoader"],
        "training": ["Training"],
    },
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("mggcn")
    return _get(name)


def __dir__() -> list[str]:
    return __all__
