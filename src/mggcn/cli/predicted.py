"""What ``mggcn predict`` prints of predictions: lines about their assessment."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mggcn.cli.display import aligned
from mggcn.data import BACKGROUND
from mggcn.runs import PART_NAMES, Assessment
from mggcn.training import Ranked, Top, ks_of, precision_at_rate

_RATE = "at base rate"


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
        lines.append(f"{counts} of the run have {_labelled(classes)} and are not counted")
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
        nodes = "test nodes" if name == "test" else f"new nodes with {_labelled(assessed.predictions.classes)}"
        lines.append(f"{tally.count:,} {nodes}: {figures}{error}{average}")
    return lines


def top(assessed: Assessment, label: int, k: int, *, with_training: bool) -> str:
    """The nodes with the highest probability of a class, and how well it ranks the nodes that count."""
    predictions, name = assessed.predictions, assessed.predictions.classes[label]
    best, known = assessed.top(label, k, None if with_training else ~assessed.is_training), [*predictions.classes, "–"]
    ids = predictions.dataset.ids_of(predictions.nodes[best.indices]).tolist()
    rows = [["position", predictions.dataset.id_name, "probability", "label", "part"]]
    for position, (row, node) in enumerate(zip(best.indices.tolist(), ids, strict=True), 1):
        p, part = predictions.probabilities[row, label], PART_NAMES[predictions.part_index[row]]
        rows.append([str(position), str(node), f"{p:.4f}", known[assessed.labels[row]], part])
    text = f"\n{aligned(rows, right=(0, 2))}\n\n{_precision(assessed, best, label)}"
    if excluded := 0 if with_training else int(assessed.is_training.sum()):
        text += f"; {excluded:,} training nodes left out"
    count = int(assessed.counted.sum())
    if not count:
        return text
    among = _precision(assessed, assessed.top(label, k, assessed.counted), label)
    figures = _figures(assessed.ranked(label), ks_of(min(k, count)))
    text += f"\namong the {count:,} {_what(assessed)} only, {among}\n{name} among them: {figures}"
    return "\n".join([text, *bound(assessed, label, ks_of(k))])


def ranking(assessed: Assessment, label: int, ks: Sequence[int]) -> list[str]:
    """How well a class is ranked among the nodes that count, and at least among all of the period."""
    count, name = int(assessed.counted.sum()), assessed.predictions.classes[label]
    if not count:
        return [f"no {_what(assessed)}: how well {name} is ranked cannot be measured"]
    share = np.mean(assessed.labels[assessed.counted] == label)
    kept = np.array([k for k in ks if k <= count], np.int64)
    figures = _figures(assessed.ranked(label), kept)
    first = f"among the {count:,} {_what(assessed)}, of which {share:.1%} are {name}: {figures}"
    return [first, *bound(assessed, label, np.array(ks, np.int64))]


def bound(assessed: Assessment, label: int, ks: NDArray[np.int64]) -> list[str]:
    """A line with the same where every node without a label counts as no member; none if all nodes have labels."""
    name, is_open = assessed.predictions.classes[label], assessed.in_period
    count, unknown = int(is_open.sum()), int((is_open & ~assessed.counted).sum())
    members = int((is_open & (assessed.labels == label)).sum())
    if not unknown or not members:
        return []
    figures = _figures(assessed.bounded(label), ks[ks <= count])
    return [
        f"at least, among all {count:,} nodes of the same period, if none of the {unknown:,} without a label is {name} "
        f"({members / count:.1%} are known to be): {figures}"
    ]


def _figures(ranked: Ranked, ks: NDArray[np.int64]) -> str:
    areas = {"PR-AUC": ranked.pr_auc(), "ROC-AUC": ranked.roc_auc()}
    shown = [f"{area} {value:.2%}" for area, value in areas.items() if value is not None]
    curve = zip(ks, ranked.precision_at(ks), strict=True)
    shown += ["precision at " + ", ".join(f"{first:,}: {share:.2%}" for first, share in curve)] if ks.size else []
    return "; ".join(shown)


def _what(assessed: Assessment) -> str:
    labelled = _labelled(assessed.predictions.classes)
    return "test nodes" if assessed.is_own else f"nodes with {labelled} that the run was not fitted to"


def _labelled(classes: tuple[str, ...]) -> str:
    return f"a known label or in {BACKGROUND}" if BACKGROUND in classes else "a known label"


def alerts(assessed: Assessment, only: int | None = None) -> str:
    """The threshold of each class, or of one, and the alerts it gives."""
    chosen, classes = assessed.predictions.thresholds, assessed.predictions.classes
    if chosen is None:
        return ""
    of_which = "test" if assessed.is_own else "labelled"
    rows = [["class", "threshold", "val alerts", "of nodes", f"{of_which} alerts", "precision", "recall"]]
    rows[0] += [_RATE] * bool(chosen.base_rates) + ["unlabelled alerts"]
    num_counted = int(assessed.counted.sum())
    for label, (known, hits, members, others) in enumerate(assessed.alerts().tolist()):
        if classes[label] == BACKGROUND or only not in (None, label):
            continue
        threshold, of_val = chosen.values[label], f"{chosen.members[label]:,}"
        if np.isnan(threshold):
            rows.append([classes[label], "–", "0", of_val, *("–" for _ in rows[0][4:])])
            continue
        shares = (f"{hits / whole:.2%}" if whole else "–" for whole in (known, members))
        reached = f"{chosen.reached[label]:,}"
        rate = chosen.base_rates.get(classes[label])
        there = np.nan if rate is None else float(precision_at_rate(hits, known, members, num_counted, rate))
        at_rate = [f"{there:.2%}" if there == there else "–"] * bool(chosen.base_rates)
        row = [classes[label], f"{threshold:.4f}", reached, of_val, f"{known:,}", *shares, *at_rate, f"{others:,}"]
        rows.append(row)
    about = f"thresholds for a precision of {chosen.required:.2%} on the validation nodes"
    for name, rate in chosen.base_rates.items():
        about += f"; for {name} where {rate:.2%} of all nodes are {name}"
    return f"\n{aligned(rows, right=range(1, len(rows[0])))}\n\n{about}{_background_is_wrong(classes)}"


def _precision(assessed: Assessment, best: Top, label: int) -> str:
    classes = assessed.predictions.classes
    share = "no label is known" if best.precision is None else f"precision {best.precision:.2%}"
    unknown = best.indices.size - best.known
    counts = f"{best.correct:,} of {best.known:,} with {_labelled(classes)}, {unknown:,} unknown"
    wrong = "" if classes[label] == BACKGROUND else _background_is_wrong(classes)
    return f"top {best.indices.size:,} for {classes[label]}: {share} ({counts}{wrong})"


def _background_is_wrong(classes: tuple[str, ...]) -> str:
    """A remark on the precision of other classes if one of them is Background."""
    return f"; {BACKGROUND} counts as wrong" if BACKGROUND in classes else ""
