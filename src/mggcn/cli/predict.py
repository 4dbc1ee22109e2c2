"""``mggcn predict``: score nodes with a trained run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mggcn.dataset import Dataset
    from mggcn.run.predictions import Predictions
    from mggcn.train.metrics import Top


def predict(
    run: Path,
    /,
    *,
    out: Path | None = None,
    dataset: str | None = None,
    nodes: Path | None = None,
    top: str | None = None,
    with_training: Annotated[bool, Parameter(negative=())] = False,
    draws: int = 1,
    calibrated: bool = True,
    allow_import: Annotated[bool, Parameter(negative=())] = False,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    root: Path | None = None,
) -> None:
    """Score nodes of the graph a run was trained on, or of a new graph with the same features.

    Where labels are known, it says how well they were met: those of the test nodes on the graph of the run, all of them
    on a new graph.

    Args:
        run: A run folder, as `mggcn train` leaves it.
        out: The file to write, predictions.csv or predictions.parquet: id or address, class, one probability per class.
        dataset: A known name or dataset folder; the one the run was trained on when left out.
        nodes: A text file with one node id per line; all nodes when left out.
        top: CLASS:K lists the K nodes that are most probably of a class, and how many of them are.
        with_training: Let that list hold nodes that the run was trained on.
        draws: Average the probabilities over so many draws of the picks.
        calibrated: Give probabilities at the temperature that the run fitted on its validation nodes.
        allow_import: Allow the run to name Python code of your own method, which is imported.
        device: auto takes the GPU where there is one.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
    """
    import numpy as np

    from mggcn import datasets
    from mggcn.errors import InputError
    from mggcn.run import load_run
    from mggcn.run.predictions import check_format
    from mggcn.train import metrics

    if out is None and top is None:
        raise InputError("predict: name a file to write (--out), or a class to rank by (--top CLASS:K)")
    if out is not None:
        check_format(out)
    trained = load_run(run, allow_import=allow_import)
    wanted = _class_and_count(top, trained.classes) if top is not None else None
    data = datasets.load(dataset, root=root) if dataset else trained.training_data(root)
    chosen = _nodes(nodes, data) if nodes is not None else None
    predictions = trained.predict(data, chosen, draws=draws, calibrated=calibrated, device=device)
    if out is not None:
        predictions.save(out)
        print(f"{predictions.nodes.size:,} predictions in {out}")  # noqa: T201
    described = trained.record.dataset
    is_same = (data.name, data.digest) == (described["name"], described["digest"])
    truth = labels_as(data, trained.classes)[predictions.nodes]
    strange = int(((data.y[predictions.nodes] >= 0) & (truth < 0)).sum())
    if strange:
        names = ", ".join(name for name in data.classes if name not in trained.classes)
        print(f"{strange:,} nodes have a label that the run does not know and are not judged: {names}")  # noqa: T201
    split = data.split if is_same else None
    judged = truth >= 0 if split is None else np.isin(predictions.nodes, split.test)
    which = f"{judged.sum():,} {'nodes with a known label' if split is None else 'test nodes'}"
    if judged.any():
        print(_scores(predictions.probabilities[judged], truth[judged], which))  # noqa: T201
    if wanted is not None:
        hidden = np.empty(0, np.int64) if split is None or with_training else split.train
        print(_ranking(predictions, truth, *wanted, ~np.isin(predictions.nodes, hidden)))  # noqa: T201
        if judged.any():
            label, k = wanted
            found = metrics.precision_at(k, predictions.probabilities[judged, label], truth[judged], label)
            print(f"among the {which} alone, {_told(found, trained.classes[label])}")  # noqa: T201


def labels_as(data: "Dataset", classes: tuple[str, ...]) -> "NDArray[np.int64]":
    """[num_nodes] the labels of a data set in the numbers of classes with these names; -1 where a node has none."""
    import numpy as np

    from mggcn.dataset import UNLABELLED

    number = {name: place for place, name in enumerate(classes)}
    places = np.array([*(number.get(name, UNLABELLED) for name in data.classes), UNLABELLED], np.int64)
    return places[data.y]  # -1 finds the last place


def _nodes(path: Path, data: "Dataset") -> "NDArray[np.int64]":
    from mggcn.errors import InputError

    ids = [line.strip() for line in path.read_text().splitlines() if line.strip()]
    if not ids:
        raise InputError(f"{path}: holds no node ids")
    try:
        return data.nodes_of(ids)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _class_and_count(word: str, classes: tuple[str, ...]) -> tuple[int, int]:
    from mggcn.errors import InputError, unknown

    name, colon, count = word.rpartition(":")
    if not colon or not (count.isascii() and count.isdigit() and int(count)):
        raise InputError(f"--top: {word!r} is not of the form CLASS:K with a whole number K above 0")
    if name not in classes:
        raise unknown("class", name, classes)
    return classes.index(name), int(count)


def _scores(p: "NDArray[np.float64]", y: "NDArray[np.int64]", which: str) -> str:
    """How well known labels were met."""
    import numpy as np
    import torch

    from mggcn.train import metrics

    found = metrics.score(torch.from_numpy(np.log(np.maximum(p, np.finfo(np.float64).tiny))), torch.from_numpy(y))
    return (
        f"{which}: accuracy {found.accuracy:.2%}, macro-F1 {found.macro_f1:.2%}, "
        f"probabilities off by {metrics.calibration_error(p, y):.2%} (expected calibration error)"
    )


def _ranking(
    predictions: "Predictions", truth: "NDArray[np.int64]", label: int, k: int, is_ranked: "NDArray[np.bool_]"
) -> str:
    """The nodes that are most probably of a class, and how many of those with a known label are."""
    import numpy as np

    from mggcn.train import metrics

    p, y, ids = predictions.probabilities[is_ranked, label], truth[is_ranked], predictions.ids[is_ranked].astype(str)
    found = metrics.precision_at(k, p, y, label)
    names = np.array([*predictions.classes, "–"])
    width = max([len(predictions.id_name), *map(len, ids[found.places])])
    lines = ["", f"rank  {predictions.id_name:{width}}  probability  label"]
    lines += [
        f"{rank:4d}  {ids[place]:{width}}  {p[place]:11.4f}  {names[y[place]]}"
        for rank, place in enumerate(found.places, 1)
    ]
    left_out = int((~is_ranked).sum())
    lines += ["", _told(found, names[label]) + (f"; {left_out:,} training nodes left out" if left_out else "")]
    return "\n".join(lines)


def _told(top: "Top", name: str) -> str:
    share = "no label is known" if top.precision is None else f"precision {top.precision:.2%}"
    counts = f"{top.right:,} of {top.known:,} with a known label, {top.places.size - top.known:,} unknown"
    return f"top {top.places.size:,} for {name}: {share} ({counts})"
