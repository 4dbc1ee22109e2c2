"""Experiments on one data set: several methods, or MG-GCN with one part changed at a time."""

from collections.abc import Mapping, Sequence

from mggcn.errors import InputError
from mggcn.experiments._definition import Experiment, Variant, variants_of

ABLATIONS = tuple(
    Variant(label, "mg-gcn", settings)
    for label, settings in (
        ("as in the paper", {}),
        ("first layer coarse, not fine", {"fine": False}),
        ("uniform picks", {"pick_by": "uniform"}),
        ("no skip", {"skip": False}),
        ("breadth only", {"explore": "breadth"}),
        ("depth only", {"explore": "depth"}),
        ("picks drawn once", {"redraw": "once"}),
    )
)
"""MG-GCN as in the paper, and with one part changed at a time."""


def comparison(
    dataset: str, methods: Sequence[str] = ("all",), *, seeds: int = 3, settings: Mapping[str, object] | None = None
) -> Experiment:
    """Compare methods on a data set.

    Args:
        dataset: a known name or a dataset folder.
        methods: names or import paths; ``all`` stands for every method.
        seeds: the number of runs of each method.
        settings: changes for every method that has such a setting.
    """
    variants = variants_of(methods)
    if not variants:
        raise InputError("methods: there is none")
    return Experiment("compare", (dataset,), variants, seeds, settings=settings or {}, flat=True)


def ablation(dataset: str, *, seeds: int = 3, settings: Mapping[str, object] | None = None) -> Experiment:
    """Compare MG-GCN with its variants in :data:`ABLATIONS` on a data set.

    Args:
        dataset: a known name or a dataset folder.
        seeds: the number of runs of each variant.
        settings: changes for all variants.
    """
    return Experiment("ablate", (dataset,), ABLATIONS, seeds, settings=settings or {}, flat=True)
