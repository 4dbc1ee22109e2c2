"""Accuracy against time: for each time budget, the result of each method if its training had to end by then.

By then a run has the model of the best epoch that was finished, in the sense of its setting ``select``, so its
validation accuracy is known at any time; that of the test nodes is known for the last one only. A portfolio has the
best of the recipes that were finished.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mggcn.experiments._charts import (
    SHORTEST,
    Spec,
    Values,
    as_spec,
    colours,
    labels_of,
    legend_selection,
    log_scale,
    percentage,
    require_altair,
    second_marks,
    shapes,
    sized,
    tooltips,
    visible_seconds,
)
from mggcn.experiments._sections import Row, Section
from mggcn.training import Member, RunRecord, spaced

NOTE = (
    "A line shows the validation accuracy of the model that a method would have selected if its training had ended "
    "then, as the mean over the seeds whose curves are recorded; the point is the test accuracy of the model that it "
    "did select."
)


@dataclass(frozen=True)
class Step:
    """From a time on, in seconds since the start of preparing, the validation accuracy of the selected model."""

    seconds: float
    accuracy: float


def steps_of(record: RunRecord) -> list[Step]:
    """The steps of a run, one for each epoch that was better than all before; one for a method that has no epochs.

    A portfolio has one for each recipe that was better than those before, and one for the mean, if it was selected.
    """
    if record.portfolio is not None:
        return _steps_of_recipes(record, record.portfolio)
    if not record.epochs:
        return [Step(record.seconds_to_best, record.val_accuracy)]
    by_loss = record.settings.get("select", "loss") == "loss"
    steps, best, seconds = [], (math.inf, math.inf), record.prepare_seconds
    for epoch in record.curve:
        seconds += epoch.train_seconds + epoch.eval_seconds
        loss = epoch.val_loss if math.isfinite(epoch.val_loss) else math.inf
        order = (loss, -epoch.val_accuracy) if by_loss else (-epoch.val_accuracy, loss)
        if order < best:
            best = order
            steps.append(Step(seconds, epoch.val_accuracy))
    return steps


def _steps_of_recipes(record: RunRecord, portfolio: Sequence[Member]) -> list[Step]:
    steps, best, seconds = [], math.inf, 0.0
    for recipe in portfolio:
        seconds += recipe.seconds
        if recipe.val_loss < best and not recipe.stopped:
            best = recipe.val_loss
            steps.append(Step(seconds, recipe.val_accuracy))
    if sum(recipe.selected for recipe in portfolio) > 1:
        steps.append(Step(seconds, record.val_accuracy))
    return steps


def mean_steps(records: Sequence[RunRecord]) -> list[Step]:
    """The mean over runs, from the time on at which each has a model; of the first run if others have no curve."""
    each = [steps_of(record) for record in records]
    each = each if all(each) else [of_run for of_run in each[:1] if of_run]
    if not each:
        return []
    start = max(of_run[0].seconds for of_run in each)
    seconds = np.unique([step.seconds for of_run in each for step in of_run if step.seconds >= start])
    means = np.mean([_at(of_run, seconds) for of_run in each], axis=0)
    return list(map(Step, seconds.tolist(), means.tolist()))


def leaders(section: Section) -> list[tuple[float, str]]:
    """For budgets of 1, 2, 5, 10 seconds and so on the row with the best validation accuracy, where it changes."""
    of_rows = {row.label: steps for row in section.measured if (steps := mean_steps(row.records))}
    times = [step.seconds for steps in of_rows.values() for step in steps]
    if not times:
        return []
    digits = math.floor(math.log10(max(min(times), SHORTEST))), math.ceil(math.log10(max(*times, SHORTEST)))
    budgets = np.array([digit * 10.0**power for power in range(digits[0], digits[1] + 1) for digit in (1, 2, 5)])
    budgets = budgets[budgets >= min(times)]
    budgets = budgets[: int(np.searchsorted(budgets, max(times))) + 1]
    accuracies = np.array([_at(steps, budgets) for steps in of_rows.values()])
    best = [list(of_rows)[number] for number in accuracies.argmax(axis=0)]
    return [(float(budgets[0]), best[0])] + [
        (float(budget), label)
        for budget, label, before in zip(budgets[1:], best[1:], best, strict=False)
        if label != before
    ]


def data(section: Section, points: int) -> Values:
    """The values of the lines, of at most ``points`` points each, and of a point for each row's test accuracy.

    All lines end when the last training ended.
    """
    values: Values = []
    end = max(_end(record) for row in section.measured for record in row.records)
    for row in section.measured:
        steps = mean_steps(row.records)
        for number in spaced(len(steps), points - 1):
            values.append(_value(row, "validation", steps[number].seconds, steps[number].accuracy))
        if steps:
            values.append(_value(row, "validation", end, steps[-1].accuracy))
        values.append(_value(row, "test", row.figures.seconds_to_best, row.figures.accuracy))
    return values


def chart(section: Section, points: int) -> Spec:
    """The chart of a section with at least one row that was run."""
    alt = require_altair()
    labels, selected, values = labels_of(section), legend_selection(alt), data(section, points)
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("seconds:Q", title="time budget since the start, s", scale=log_scale(alt)),
        y=alt.Y("accuracy:Q", title="accuracy, %", scale=alt.Scale(domain=_domain(values))),
        color=colours(alt, labels),
        opacity=alt.condition(selected, alt.value(1), alt.value(0.08)),
        tooltip=[alt.Tooltip("nodes:N"), *tooltips(alt, "accuracy", "seconds")],
    )
    lines = (
        base.transform_filter("datum.nodes == 'validation'")
        .mark_line(interpolate="step-after", strokeWidth=1.5, clip=True)
        .encode(strokeDash=second_marks(alt, labels))
        .add_params(selected)
    )
    marks = base.transform_filter("datum.nodes == 'test'").mark_point(filled=True, size=70)
    title = f"{section.dataset}: accuracy against time; points are test accuracies"
    return as_spec(sized(alt.layer(lines, marks.encode(shape=shapes(alt, labels))), title))


def _domain(values: Values) -> list[float]:
    """From the least last accuracy to the greatest, with some space around them."""
    last = {(value["method"], value["nodes"]): value["accuracy"] for value in values}
    low, high = min(last.values()), max(value["accuracy"] for value in values)
    space = (high - low or 1.0) * 0.05
    return [low - space, high + space]


def _at(steps: Sequence[Step], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The accuracy at each of the times; -infinity before the first step."""
    accuracies = np.array([-math.inf, *(step.accuracy for step in steps)])
    return accuracies[np.searchsorted([step.seconds for step in steps], seconds, side="right")]


def _end(record: RunRecord) -> float:
    """The time at which the training of a run ended."""
    spent = record.prepare_seconds + sum(epoch.train_seconds + epoch.eval_seconds for epoch in record.curve)
    return max(spent, record.seconds_to_best)


def _value(row: Row, nodes: str, seconds: float, accuracy: float) -> dict[str, object]:
    shown = {"seconds": visible_seconds(seconds), "accuracy": percentage(accuracy)}
    return {"method": row.label, "nodes": nodes, **shown}
