"""What ``mggcn predict`` prints of predictions: lines about their assessment."""

import numpy as np

from mggcn.cli.display import aligned
from mggcn.data import BACKGROUND
from mggcn.runs import PART_NAMES, Assessment
from mggcn.training import Top, ks_of

_NODES = {"test": "test nodes", "new": "new nodes with a known label"}
_ALERTS = ("class", "threshold", "val alerts", "of nodes", "known alerts", "precision", "recall", "other alerts")


def notes(assessed: Assessment) -> list[str]:
    """Lines on what the methods do not use, and on nodes that do not count."""
    data, classes, runs = assessed.predictions.dataset, assessed.predictions.classes, assessed.predictions.runs
    lines = [*dict.fromkeys(filter(None, (run.plan.unused_parts(data, run.record) for run in runs)))]
    if count := assessed.num_unknown:
        names = ", ".join(name for name in data.classes if name not in classes)
        lines.append(f"{count:,} nodes have a label that the run does not have and are not counted: {names}")
    if assessed.is_own:
        return lines
    if count := int(assessed.is_read.sum()):
        lines.append(f"{count:,} labelled nodes are not scored: {assessed.readers[0]} reads their labels")
    train, val = assessed.fitted
    if train + val:
        counts = f"{train:,} training and {val:,} validation nodes"
        lines.append(f"{counts} of the run have a known label and are not counted")
    return lines


def metrics(assessed: Assessment, *, calibrated: bool) -> list[str]:
    """A line for each kind of node that counts."""
    count, named, lines = len(assessed.predictions.runs), len(assessed.predictions.named), []
    averaged = f"{named} runs" if named > 1 else f"{count} recipes"
    average = f" (mean probabilities of {averaged})" if count > 1 else ""
    for name, tally in assessed.tallies():
        figures = f"accuracy {tally.scores.accuracy:.2%}, macro-F1 {tally.scores.macro_f1:.2%}"
        error = f", expected calibration error {tally.calibration_error:.2%}"
        error = error if calibrated else "; probabilities are not calibrated for this graph"
        lines.append(f"{tally.count:,} {_NODES[name]}: {figures}{error}{average}")
    return lines


def top(assessed: Assessment, label: int, k: int, *, with_training: bool) -> str:
    """The nodes with the highest probability of a class, and how well it ranks the nodes that count."""
    predictions, name = assessed.predictions, assessed.predictions.classes[label]
    best, known = assessed.top(label, k, None if with_training else ~assessed.is_training), [*predictions.classes, "–"]
    ids = predictions.dataset.ids_of(predictions.nodes[best.indices]).tolist()
    rows = [["rank", predictions.dataset.id_name, "probability", "label", "part"]]
    for rank, (row, node) in enumerate(zip(best.indices.tolist(), ids, strict=True), 1):
        p, part = predictions.probabilities[row, label], PART_NAMES[predictions.part_index[row]]
        rows.append([str(rank), str(node), f"{p:.4f}", known[assessed.labels[row]], part])
    text = f"\n{aligned(rows, right=(0, 2))}\n\n{_precision(assessed, best, label)}"
    if excluded := 0 if with_training else int(assessed.is_training.sum()):
        text += f"; {excluded:,} training nodes left out"
    count = int(assessed.counted.sum())
    if not count:
        return text
    what = "test nodes" if assessed.is_own else "nodes with a known label that the run was not fitted to"
    ranked, ks = assessed.ranked(label), ks_of(min(k, count))
    areas = {"PR-AUC": ranked.pr_auc(), "ROC-AUC": ranked.roc_auc()}
    shown = [f"{area} {value:.2%}" for area, value in areas.items() if value is not None]
    curve = zip(ks, ranked.precision_at(ks), strict=True)
    shown.append("precision at " + ", ".join(f"{first:,}: {share:.2%}" for first, share in curve))
    among = _precision(assessed, assessed.top(label, k, assessed.counted), label)
    return f"{text}\namong the {count:,} {what} only, {among}\n{name} among them: {'; '.join(shown)}"


def alerts(assessed: Assessment) -> str:
    """The threshold of each class, and the alerts it gives."""
    chosen, classes = assessed.predictions.thresholds, assessed.predictions.classes
    if chosen is None:
        return ""
    rows = [list(_ALERTS)]
    for label, (known, hits, members, others) in enumerate(assessed.alerts().tolist()):
        if classes[label] == BACKGROUND:
            continue
        threshold, of_val = chosen.values[label], f"{chosen.members[label]:,}"
        if np.isnan(threshold):
            rows.append([classes[label], "–", "0", of_val, "–", "–", "–", "–"])
            continue
        shares = (f"{hits / whole:.2%}" if whole else "–" for whole in (known, members))
        reached = f"{chosen.reached[label]:,}"
        rows.append([classes[label], f"{threshold:.4f}", reached, of_val, f"{known:,}", *shares, f"{others:,}"])
    about = f"thresholds for a precision of {chosen.required:.2%} on the validation nodes"
    return f"\n{aligned(rows, right=range(1, 8))}\n\n{about}{_background_is_wrong(classes)}"


def _precision(assessed: Assessment, best: Top, label: int) -> str:
    classes = assessed.predictions.classes
    share = "no label is known" if best.precision is None else f"precision {best.precision:.2%}"
    counts = f"{best.correct:,} of {best.known:,} with a known label, {best.indices.size - best.known:,} unknown"
    wrong = "" if classes[label] == BACKGROUND else _background_is_wrong(classes)
    return f"top {best.indices.size:,} for {classes[label]}: {share} ({counts}{wrong})"


def _background_is_wrong(classes: tuple[str, ...]) -> str:
    """A remark on the precision of other classes if one of them is Background."""
    return f"; {BACKGROUND} counts as wrong" if BACKGROUND in classes else ""
