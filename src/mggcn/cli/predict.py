"""``mggcn predict``: score nodes with a trained run, or with the mean of several."""

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts.types import NonNegativeInt

from mggcn.cli.options import DataOptions, Switch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mggcn.data import Dataset
    from mggcn.training import Ranks

_NUM_REASONED = 1000
_DEFAULTS = DataOptions()


def predict(
    run: Path,
    /,
    *others: Path,
    out: Path | None = None,
    embeddings: Path | None = None,
    dataset: str | None = None,
    nodes: Path | None = None,
    top: str | None = None,
    at_precision: float | None = None,
    base_rate: str | None = None,
    reasons: NonNegativeInt | None = None,
    with_training: Switch = False,
    draws: int | None = None,
    calibrated: bool = True,
    allow_import: Switch = False,
    options: DataOptions = _DEFAULTS,
) -> None:
    """Score nodes of the graph a run was trained on, or of a new graph with the same features.

    Probabilities of several runs are averaged; the runs must have the same classes and features.

    If labels are known, it also prints metrics: over the test nodes of the run's graph; in another graph over the run's
    test nodes and over new nodes, each on a line. The run's training and validation nodes, which are recognised by
    their ids, are not counted, nor are nodes whose labels are read to score others (label propagation).
    The class Background counts as any class: in the precision of another class its nodes are wrong. A warning says if
    the labelled nodes do not resemble the others; probabilities are then not calibrated for these.

    Args:
        run: A run folder, as written by `mggcn train`.
        others: Further run folders, whose probabilities are averaged with those of the first.
        out: The file to write, *.csv, *.jsonl or *.parquet: id or address, class, part of the run's split (train, val,
            test, or new), one probability per class, known label, position among the nodes of the same predicted class,
            reasons for the class, model, data and time. Under torchrun, each rank writes its part of the nodes, as
            NAME-00000-of-00002.csv.
        embeddings: The file to write hidden representations to, *.csv, *.jsonl, *.parquet or *.npy: id, one number per
            channel.
        dataset: A known name or dataset folder; default: the data set the run was trained on.
        nodes: A text file with one node id per line; default: all nodes. Addresses match in any case. Ids that are not
            in the data set are listed and left out, with exit code 0; if none is in it, that is an error.
        top: CLASS:K lists the K nodes with the highest probability of a class, and the precision among them; also, as
            a lower bound, the precision if no node without a label is of the class.
        at_precision: Choose for each class the lowest probability with this precision, such as 0.95, on the run's
            validation nodes, and print the alerts it gives; --out then has a column alert. Needs the training data.
        base_rate: CLASS:SHARE,… thresholds of --at-precision have this precision where the class has this share of all
            nodes, such as Phish:0.01, instead of its share of the validation nodes.
        reasons: Give reasons in words for this many nodes of each class, those most probable; default: 1000, or
            none for data without names of features. Methods without gradients give none.
        with_training: Include nodes that the run was trained on in that list, which leaves them out in any graph.
        draws: Average the probabilities over this many draws of the picks; default: as in the run's evaluation.
        calibrated: Calibrate probabilities with the temperature that the run fitted on its validation nodes; with
            another number of draws it is fitted again, on as many, which needs the training data.
        allow_import: Allow the run to import the Python code that it names.
        options: Shared options.
    """
    import numpy as np

    from mggcn.cli import predicted
    from mggcn.errors import InputError, InputWarning
    from mggcn.runs import Assessment, Ensemble, Requirements, check_format, load_data, load_run, unlike
    from mggcn.training import Ranks

    ranks, root, access, device = Ranks.current(), options.root, options.access, options.device or "auto"
    if out is None and top is None and embeddings is None and at_precision is None:
        raise InputError(
            "predict: name a file to write (--out, --embeddings), a class to rank by (--top CLASS:K) or a precision "
            "(--at-precision)"
        )
    if out is not None:
        check_format(out)
    if embeddings is not None:
        check_format(embeddings, "embeddings")
        if others:
            raise InputError(f"--embeddings: those of {1 + len(others)} runs cannot be averaged; name one run")
    loaded = (load_run(folder, allow_import=allow_import, root=root) for folder in (run, *others))
    runs = [replace(one, access=access) for one in loaded]
    model, ranking = Ensemble(runs), _class_and_count(top, runs[0].classes) if top is not None else None
    data = load_data(dataset, root, ranks, access) if dataset else ranks.in_turn(lambda: model.training_data)
    selected = np.arange(data.num_current) if nodes is None else _read_nodes(nodes, data)
    if selected.size < ranks.size:
        raise InputError(f"{data.name}: {selected.size} nodes are fewer than the ranks, {ranks.size}")
    if (needed := Requirements.of([one.plan for one in model.runs], data, trains=False)) is not None:
        if ranks.is_first:
            print(needed, file=sys.stderr)
        needed.check()
    part = ranks.part(selected.size)
    if embeddings is not None:
        hidden = runs[0].embed(data, selected[part], draws=draws, device=device)
        ranks.every(None)  # nothing is written if a rank fails
        hidden.save(_part_of(embeddings, ranks))
        shown = _part_of(embeddings, ranks, "*")
        print(f"embeddings of {selected.size:,} nodes in {shown}, {hidden.values.shape[1]} channels")
    if out is None and top is None and at_precision is None:
        return
    if out is None:
        reasons, scratch = 0, None
    else:
        reasons = (_NUM_REASONED if data.feature_names else 0) if reasons is None else reasons
        scratch = next(folder for folder in out.absolute().parents if folder.exists())
    predictions = model.predict(
        data,
        selected,
        reasons=reasons,
        at_precision=at_precision,
        base_rates=None if base_rate is None else _rates(base_rate),
        draws=draws,
        calibrated=calibrated,
        device=device,
        scratch=scratch,
        ranks=ranks,
    )
    if out is not None:
        predictions.save(_part_of(out, ranks), part)
        print(f"{selected.size:,} predictions in {_part_of(out, ranks, '*')}")
    if (warning := unlike(runs, data)) is not None:
        warnings.warn(warning, InputWarning, stacklevel=2)
    assessed = Assessment(predictions)
    lines = [*predicted.notes(assessed), *predicted.metrics(assessed, calibrated=warning is None)]
    if ranking is not None:
        lines.append(predicted.top(assessed, *ranking, with_training=with_training))
    if at_precision is not None:
        lines.append(predicted.alerts(assessed))
    print("\n".join(lines), end="\n" * bool(lines))


def _part_of(path: Path, ranks: "Ranks", number: str | None = None) -> Path:
    """The file of this rank, or with another number; ``path`` itself if there is one rank."""
    if ranks.size == 1:
        return path
    return path.with_name(f"{path.stem}-{number or f'{ranks.rank:05d}'}-of-{ranks.size:05d}{path.suffix}")


def _read_nodes(path: Path, data: "Dataset") -> "NDArray[np.int64]":
    from mggcn.data import find_nodes
    from mggcn.errors import InputError

    try:
        ids = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from None
    if not ids:
        raise InputError(f"{path}: contains no node ids")
    found, missing = find_nodes(data, ids)
    if missing:
        more = f" and {len(missing) - 5:,} more" if missing[5:] else ""
        names = ", ".join(name[:60] for name in missing[:5]) + more
        message = f"{len(missing):,} of {len(ids):,} ids are not in {data.name}"
        if not found.size:
            raise InputError(f"{path}: {message}: {names}")
        print(f"{path}: {message} and have no prediction: {names}")
    return found


def _rates(text: str) -> dict[str, float]:
    from mggcn.errors import InputError

    rates = {}
    for word in text.split(","):
        name, _, share = word.rpartition(":")
        try:
            rates[name.strip()] = float(share)
        except ValueError:
            raise InputError(f"--base-rate: {word!r} is not of the form CLASS:SHARE, such as Phish:0.01") from None
    return rates


def _class_and_count(word: str, classes: tuple[str, ...]) -> tuple[int, int]:
    from mggcn.errors import InputError, unknown

    name, colon, count = word.rpartition(":")
    if not colon or not (count.isascii() and count.isdigit() and int(count)):
        raise InputError(f"--top: {word!r} is not of the form CLASS:K with a whole number K above 0")
    if name not in classes:
        raise unknown("class", name, classes)
    return classes.index(name), int(count)
