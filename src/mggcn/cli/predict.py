"""``mggcn predict``: score nodes with a trained run, or with the mean of several."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mggcn.cli.options import Device, Switch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mggcn.dataset import Dataset
    from mggcn.run import Predictions
    from mggcn.train import Ranks
    from mggcn.train.metrics import Top


_NODES = {"test": "test nodes", "new": "new nodes with a known label", "unknown": "nodes with a known label"}


def predict(
    run: Path,
    /,
    *others: Path,
    out: Path | None = None,
    embeddings: Path | None = None,
    dataset: str | None = None,
    nodes: Path | None = None,
    top: str | None = None,
    with_training: Switch = False,
    draws: int | None = None,
    calibrated: bool = True,
    smooth: Switch = False,
    allow_import: Switch = False,
    device: Device = "auto",
    root: Path | None = None,
    mmap: Switch = False,
) -> None:
    """Score nodes of the graph a run was trained on, or of a new graph with the same features.

    Probabilities of several runs are averaged; the runs must have the same classes and features.

    If labels are known, it also prints metrics: over the test nodes of the run's graph; in another graph over the run's
    test nodes and over new nodes, each on a line. The run's training and validation nodes, which are recognised by
    their ids, are not counted, nor are nodes whose labels are read to score others (label propagation and --smooth).
    A warning says if the labelled nodes do not resemble the others; probabilities are then not calibrated for these.

    Args:
        run: A run folder, as written by `mggcn train`.
        others: Further run folders, whose probabilities are averaged with those of the first.
        out: The file to write, *.csv or *.parquet: id or address, class, part of the run's split (train, val,
            test, or new), one probability per class. Under torchrun, each rank writes its part of the nodes, as
            NAME-00000-of-00002.csv.
        embeddings: The file to write hidden representations to, *.csv, *.parquet or *.npy: id, one number per channel.
        dataset: A known name or dataset folder; default: the data set the run was trained on.
        nodes: A text file with one node id per line; default: all nodes. Addresses match in any case. Ids that are not
            in the data set are listed and left out, with exit code 0; if none is in it, that is an error.
        top: CLASS:K lists the K nodes with the highest probability of a class, and the precision among them.
        with_training: Include nodes that the run was trained on in that list, which leaves them out in any graph.
        draws: Average the probabilities over this many draws of the picks; default: as in the run's evaluation.
        calibrated: Calibrate probabilities with the temperature that the run fitted on its validation nodes; with
            another number of draws it is fitted again, on as many, which needs the training data.
        smooth: Smooth probabilities along edges from training labels (all labels of a graph without a split); needs a
            run that was trained with --set smooth=true.
        allow_import: Allow the run to import the Python code of a user-defined method.
        device: auto takes the GPU if there is one.
        root: The folder of data sets; default: $MGGCN_DATA, else a per-user cache.
        mmap: Map the dataset folder instead of reading it, as is done by itself if it is larger than half of the free
            memory; its checksums are then not verified (see `mggcn data verify`).
    """
    import warnings

    import numpy as np
    import torch

    from mggcn import methods
    from mggcn.dataset import BACKGROUND, UNLABELLED
    from mggcn.errors import InputError, InputWarning
    from mggcn.run import ensemble, load_run
    from mggcn.run.embeddings import check_embeddings_format
    from mggcn.run.ensembles import check_alike
    from mggcn.run.labels import labels_in
    from mggcn.run.loading import load_data
    from mggcn.run.parts import most_used, parts_of
    from mggcn.run.resemblance import UNLIKE, separability
    from mggcn.run.table import check_format
    from mggcn.train import Ranks, metrics

    ranks = Ranks.current()
    if out is None and top is None and embeddings is None:
        raise InputError("predict: name a file to write (--out, --embeddings), or a class to rank by (--top CLASS:K)")
    if out is not None:
        check_format(out)
    if embeddings is not None:
        check_embeddings_format(embeddings)
    if embeddings is not None and others:
        raise InputError(f"--embeddings: those of {1 + len(others)} runs cannot be averaged; name one run")
    runs = [load_run(folder, allow_import=allow_import) for folder in (run, *others)]
    trained = runs[0]
    ranking = _class_and_count(top, trained.classes) if top is not None else None
    check_alike(runs, same_data=dataset is None)
    if dataset:
        data = load_data(dataset, root, ranks, mmap or None)
    else:
        data = ranks.in_turn(lambda: trained.training_data(root, mmap=mmap or None))
    selected = np.arange(data.num_nodes) if nodes is None else _read_nodes(nodes, data)
    if selected.size < ranks.size:
        raise InputError(f"{data.name}: {selected.size} nodes are fewer than the ranks, {ranks.size}")
    part = selected[ranks.part(selected.size)]
    if embeddings is not None:
        hidden = trained.embed(part, dataset=data, draws=draws, device=device)
        ranks.every(None)  # nothing is written if a rank fails
        hidden.save(_part_of(embeddings, ranks))
        shown = _part_of(embeddings, ranks, "*")
        print(f"embeddings of {selected.size:,} nodes in {shown}, {hidden.values.shape[1]} channels")  # noqa: T201
    if out is None and top is None:
        return
    predictions = ensemble(
        runs, data, part, draws=draws, calibrated=calibrated, smooth=smooth, device=device, root=root
    )
    whole = ranks.gather(torch.from_numpy(predictions.probabilities)).numpy()
    if out is not None:
        predictions.save(_part_of(out, ranks))
        print(f"{selected.size:,} predictions in {_part_of(out, ranks, '*')}")  # noqa: T201
    parts = most_used([parts_of(each, data, selected, root) for each in runs]) if ranks.size > 1 else predictions.parts
    predictions = replace(predictions, nodes=selected, ids=data.ids_of(selected), probabilities=whole, parts=parts)
    labels = labels_in(data, trained.classes)[predictions.nodes]
    num_unknown = int(((data.y[predictions.nodes] >= 0) & (labels < 0)).sum())
    if num_unknown:
        names = ", ".join(name for name in data.classes if name not in trained.classes)
        print(f"{num_unknown:,} nodes have a label that the run does not have and are not counted: {names}")  # noqa: T201
    is_own = any(each.is_trained_on(data) for each in runs)
    counted = ("test",) if is_own else ("test", "new", "unknown")
    is_training, is_labelled = predictions.parts == "train", labels >= 0
    readers = [each.record.method for each in runs if each.plan.method.reads_labels] + ["--smooth"] * smooth
    if readers:
        is_read = methods.known_labels(data)[predictions.nodes] >= 0
        if not is_own and is_read.any():
            print(f"{is_read.sum():,} labelled nodes are not scored: {readers[0]} reads their labels")  # noqa: T201
        is_training, is_labelled = is_training | is_read, is_labelled & ~is_read
    is_scored = is_labelled & np.isin(predictions.parts, counted)
    seen = [is_labelled & (predictions.parts == name) for name in ("train", "val")]
    if not is_own and np.any(seen):
        counts = f"{seen[0].sum():,} training and {seen[1].sum():,} validation nodes"
        print(f"{counts} of the run have a known label and are not counted")  # noqa: T201
    separable = max((separability(each, data, root) or 0.0 for each in runs), default=0.0)
    if separable >= UNLIKE:
        message = (
            f"{data.name}: the labelled nodes do not resemble the others (a classifier tells them apart with ROC-AUC "
            f"{separable:.2f}), so classes and probabilities of other nodes are not reliable"
        ) + ("; see --background of mggcn ethereum build" if data.id_name == "address" else "")
        warnings.warn(message, InputWarning, stacklevel=2)
    average = f" (mean probabilities of {len(runs)} runs)" if others else ""
    for name in counted:
        rows = is_scored & (predictions.parts == name)
        if rows.any():
            figures = _metrics(predictions.probabilities[rows], labels[rows], calibrated=separable < UNLIKE)
            print(f"{rows.sum():,} {_NODES[name]}: {figures}{average}")  # noqa: T201
    if ranking is not None:
        label, k = ranking
        if BACKGROUND in trained.classes:
            labels = np.where(labels == trained.classes.index(BACKGROUND), UNLABELLED, labels)
        print(_ranking(predictions, labels, label, k, ~is_training | with_training))  # noqa: T201
        if is_scored.any():
            best = metrics.precision_at(k, predictions.probabilities[is_scored, label], labels[is_scored], label)
            scored = "test nodes" if is_own else "nodes with a known label that the run was not fitted to"
            print(f"among the {is_scored.sum():,} {scored} only, {_precision(best, trained.classes[label])}")  # noqa: T201


def _part_of(path: Path, ranks: "Ranks", number: str | None = None) -> Path:
    """The file of this rank, or with another number; ``path`` itself if there is one rank."""
    if ranks.size == 1:
        return path
    return path.with_name(f"{path.stem}-{number or f'{ranks.rank:05d}'}-of-{ranks.size:05d}{path.suffix}")


def _read_nodes(path: Path, data: "Dataset") -> "NDArray[np.int64]":
    from mggcn.dataset.ids import find_nodes
    from mggcn.errors import InputError

    ids = [line.strip() for line in path.read_text().splitlines() if line.strip()]
    if not ids:
        raise InputError(f"{path}: contains no node ids")
    found, missing = find_nodes(data, ids)
    if missing:
        names = ", ".join(name[:60] for name in missing[:5]) + (
            f" and {len(missing) - 5:,} more" if missing[5:] else ""
        )
        message = f"{len(missing):,} of {len(ids):,} ids are not in {data.name}"
        if not found.size:
            raise InputError(f"{path}: {message}: {names}")
        print(f"{path}: {message} and have no prediction: {names}")  # noqa: T201
    return found


def _class_and_count(word: str, classes: tuple[str, ...]) -> tuple[int, int]:
    from mggcn.errors import InputError, unknown

    name, colon, count = word.rpartition(":")
    if not colon or not (count.isascii() and count.isdigit() and int(count)):
        raise InputError(f"--top: {word!r} is not of the form CLASS:K with a whole number K above 0")
    if name not in classes:
        raise unknown("class", name, classes)
    return classes.index(name), int(count)


def _metrics(p: "NDArray[np.float64]", y: "NDArray[np.int64]", *, calibrated: bool) -> str:
    import numpy as np
    import torch

    from mggcn.train import metrics

    scores = metrics.score(torch.from_numpy(np.log(np.maximum(p, np.finfo(np.float64).tiny))), torch.from_numpy(y))
    figures = f"accuracy {scores.accuracy:.2%}, macro-F1 {scores.macro_f1:.2%}"
    error = f"expected calibration error {metrics.calibration_error(p, y):.2%}"
    return f"{figures}, {error}" if calibrated else f"{figures}; probabilities are not calibrated for this graph"


def _ranking(
    predictions: "Predictions", labels: "NDArray[np.int64]", label: int, k: int, is_ranked: "NDArray[np.bool_]"
) -> str:
    """A table of the nodes with the highest probability of a class, and their precision."""
    import numpy as np

    from mggcn.cli.table import aligned
    from mggcn.train import metrics

    p, y, ids = predictions.probabilities[is_ranked, label], labels[is_ranked], predictions.ids[is_ranked].astype(str)
    best = metrics.precision_at(k, p, y, label)
    names = np.array([*predictions.classes, "–"])
    parts = predictions.parts[is_ranked]
    rows = [["rank", predictions.id_name, "probability", "label", "part"]]
    for rank, index in enumerate(best.indices, 1):
        rows.append([str(rank), ids[index], f"{p[index]:.4f}", names[y[index]], parts[index]])
    num_excluded = int((~is_ranked).sum())
    note = f"; {num_excluded:,} training nodes left out" if num_excluded else ""
    return f"\n{aligned(rows, right=(0, 2))}\n\n{_precision(best, names[label])}{note}"


def _precision(top: "Top", name: str) -> str:
    share = "no label is known" if top.precision is None else f"precision {top.precision:.2%}"
    counts = f"{top.correct:,} of {top.known:,} with a known label, {top.indices.size - top.known:,} unknown"
    return f"top {top.indices.size:,} for {name}: {share} ({counts})"
