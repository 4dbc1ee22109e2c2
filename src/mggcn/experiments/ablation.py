"""Which of MG-GCN's parts does what: the method as in the paper, and with one part at a time changed."""

from mggcn.experiments.schedule import Variant

METHOD = "mg-gcn"
VARIANTS = [
    Variant(label, METHOD, settings)
    for label, settings in (
        ("as in the paper", {}),
        ("first layer coarse, not fine", {"fine": False}),
        ("uniform picks", {"pick_by": "uniform"}),
        ("no skip", {"skip": False}),
        ("breadth only", {"explore": "breadth"}),
        ("depth only", {"explore": "depth"}),
        ("picks drawn once", {"redraw": "once"}),
    )
]
