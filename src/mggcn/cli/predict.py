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
) -> None:
    """Score nodes of the graph a run was trained on, or of a new graph with the same features.

    Probabilities of several runs are averaged; the runs must have the same classes and features.

    If labels are known, it also prints metrics: over the test nodes of the run's graph, or over all labelled nodes of a
    new graph, without those whose labels are read to score others, as label propagation and --smooth do.

    Args:
        run: A run folder, as written by `mggcn train`.
        others: Further run folders, whose probabilities are averaged with those of the first.
        out: The file to write, *.csv or *.parquet: id or address, class, one probability per class. Under torchrun,
            each rank writes its part of the nodes, as NAME-00000-of-00002.csv.
        embeddings: The file to write hidden representations to, *.csv, *.parquet or *.npy: id, one number per channel.
        dataset: A known name or dataset folder; default: the data set the run was trained on.
        nodes: A text file with one node id per line; default: all nodes.
        top: CLASS:K lists the K nodes with the highest probability of a class, and the precision among them.
        with_training: Include nodes that the run was trained on in that list.
        draws: Average the probabilities over this many draws of the picks; default: as in the run's evaluation.
        calibrated: Calibrate probabilities with the temperature that the run fitted on its validation nodes; with
            another number of draws it is fitted again, on as many, which needs the training data.
        smooth: Smooth probabilities along edges from training labels (all labels of a graph without a split); needs a
            run that was trained with --set smooth=true.
        allow_import: Allow the run to import the Python code of a user-defined method.
        device: auto takes the GPU if there is one.
        root: The folder of data sets; default: $MGGCN_DATA, else a per-user cache.
    """
    import numpy as np
    import torch

    from mggcn import methods, storage
    from mggcn.errors import InputError
    from mggcn.run import ensemble, load_run
    from mggcn.run.embeddings import check_embeddings_format
    from mggcn.run.ensembles import check_alike
    from mggcn.run.labels import labels_in
    from mggcn.run.loading import load_data
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
    data = load_data(dataset, root, ranks) if dataset else ranks.in_turn(lambda: trained.training_data(root))
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
    predictions = replace(predictions, nodes=selected, ids=data.ids_of(selected), probabilities=whole)
    labels = labels_in(data, trained.classes)[predictions.nodes]
    num_unknown = int(((data.y[predictions.nodes] >= 0) & (labels < 0)).sum())
    if num_unknown:
        names = ", ".join(name for name in data.classes if name not in trained.classes)
        print(f"{num_unknown:,} nodes have a label that the run does not have and are not counted: {names}")  # noqa: T201
    digests = {(each.record.dataset["name"], each.record.dataset["digest"]) for each in runs}
    split = data.split if (data.name, storage.digest(data)) in digests else None
    is_scored = labels >= 0 if split is None else np.isin(predictions.nodes, split.test)
    is_training = np.isin(predictions.nodes, [] if split is None else split.train)
    readers = [each.record.method for each in runs if each.plan.method.reads_labels] + ["--smooth"] * smooth
    if readers:
        is_training = methods.known_labels(data)[predictions.nodes] >= 0
        if split is None and is_training.any():
            print(f"{is_training.sum():,} labelled nodes are not scored: {readers[0]} reads their labels")  # noqa: T201
        is_scored &= ~is_training
    scored = f"{is_scored.sum():,} {'nodes with a known label' if split is None else 'test nodes'}"
    if is_scored.any():
        average = f" (mean probabilities of {len(runs)} runs)" if others else ""
        print(f"{scored}: {_metrics(predictions.probabilities[is_scored], labels[is_scored])}{average}")  # noqa: T201
    if ranking is not None:
        label, k = ranking
        print(_ranking(predictions, labels, label, k, ~is_training | with_training))  # noqa: T201
        if is_scored.any():
            best = metrics.precision_at(k, predictions.probabilities[is_scored, label], labels[is_scored], label)
            print(f"among the {scored} only, {_precision(best, trained.classes[label])}")  # noqa: T201


def _part_of(path: Path, ranks: "Ranks", number: str | None = None) -> Path:
    """The file of this rank, or with another number; ``path`` itself if there is one rank."""
    if ranks.size == 1:
        return path
    return path.with_name(f"{path.stem}-{number or f'{ranks.rank:05d}'}-of-{ranks.size:05d}{path.suffix}")


def _read_nodes(path: Path, data: "Dataset") -> "NDArray[np.int64]":
    from mggcn.errors import InputError, prefix_errors

    ids = [line.strip() for line in path.read_text().splitlines() if line.strip()]
    if not ids:
        raise InputError(f"{path}: contains no node ids")
    with prefix_errors(path):
        return data.nodes_of(ids)


def _class_and_count(word: str, classes: tuple[str, ...]) -> tuple[int, int]:
    from mggcn.errors import InputError, unknown

    name, colon, count = word.rpartition(":")
    if not colon or not (count.isascii() and count.isdigit() and int(count)):
        raise InputError(f"--top: {word!r} is not of the form CLASS:K with a whole number K above 0")
    if name not in classes:
        raise unknown("class", name, classes)
    return classes.index(name), int(count)


def _metrics(p: "NDArray[np.float64]", y: "NDArray[np.int64]") -> str:
    import numpy as np
    import torch

    from mggcn.train import metrics

    scores = metrics.score(torch.from_numpy(np.log(np.maximum(p, np.finfo(np.float64).tiny))), torch.from_numpy(y))
    return (
        f"accuracy {scores.accuracy:.2%}, macro-F1 {scores.macro_f1:.2%}, "
        f"expected calibration error {metrics.calibration_error(p, y):.2%}"
    )


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
    rows = [["rank", predictions.id_name, "probability", "label"]]
    for rank, index in enumerate(best.indices, 1):
        rows.append([str(rank), ids[index], f"{p[index]:.4f}", names[y[index]]])
    num_excluded = int((~is_ranked).sum())
    note = f"; {num_excluded:,} training nodes left out" if num_excluded else ""
    return f"\n{aligned(rows, right=(0, 2))}\n\n{_precision(best, names[label])}{note}"


def _precision(top: "Top", name: str) -> str:
    share = "no label is known" if top.precision is None else f"precision {top.precision:.2%}"
    counts = f"{top.correct:,} of {top.known:,} with a known label, {top.indices.size - top.known:,} unknown"
    return f"top {top.indices.size:,} for {name}: {share} ({counts})"
