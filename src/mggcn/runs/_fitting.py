"""Training a method on a data set: prepare, train, test, and record what happened; of a portfolio, every recipe."""

import logging
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from mggcn.data import Dataset
from mggcn.methods import Shared
from mggcn.runs._plan import Plan
from mggcn.runs._portfolio import Choice, Rival
from mggcn.runs._run import Run
from mggcn.runs._testing import score_test
from mggcn.runs._trained import Trained
from mggcn.training import (
    ALONE,
    Checkpoints,
    Member,
    NotedProgress,
    Progress,
    Ranks,
    recipe_words,
)

_log = logging.getLogger(__name__)


def fit_plan(
    dataset: Dataset,
    plan: Plan,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    origin: Run | None = None,
    ranks: Ranks = ALONE,
) -> Run:
    """Train a method whose settings are resolved, see :func:`fit`; open checkpoints are continued and written.

    With ``origin``, the model starts with the weights and scaling of that run, so it first scores nodes as that run
    does. The run of every rank has the same weights and metrics.
    """
    if plan.members:
        return _fit_portfolio(dataset, plan, progress, checkpoints, ranks)
    trained = Trained.by(dataset, plan, progress, checkpoints, origin, ranks)
    (tested,), scored_seconds = _scored([trained])
    return trained.run(tested, scored_seconds)


def _fit_portfolio(
    dataset: Dataset, plan: Plan, progress: Progress | None, checkpoints: Checkpoints | None, ranks: Ranks
) -> Run:
    """Train the recipes one after the other; the run is the best, with the others of the mean if one is selected.

    A recipe's checkpoints lie in a folder of their own, and stay until the portfolio is finished.
    """
    shared, trained = Shared(), list[Trained]()
    for number, (recipe, table) in enumerate(zip(plan.recipes, plan.members, strict=True), 1):
        if isinstance(progress, NotedProgress):
            progress.note(f"recipe {number} of {len(plan.members)}: {recipe_words(table, plan.members[0])}")
        rival = Rival.of(trained)
        with checkpoints.of_member(number, recipe.identity_to_resume) if checkpoints else nullcontext() as own:
            one = Trained.by(dataset, recipe, progress, own, None, ranks, shared, rival.is_ahead_of)
        if one.is_stopped and isinstance(progress, NotedProgress):
            progress.note(f"stopped after epoch {len(one.fitted.curve)}: behind")
        trained.append(one)
    choice = Choice.of(trained)
    selected = [trained[index] for index in choice.selected]
    tested, scored_seconds = _scored(selected)
    best, *others = (one.run(measured, scored_seconds) for one, measured in zip(selected, tested, strict=True))
    whole = Plan.of_portfolio([one.plan for one in trained])
    members = [
        Member(
            table,
            choice.alone[index].loss,
            choice.alone[index].accuracy,
            len(one.fitted.curve),
            one.fitted.best_epoch,
            one.seconds,
            one.is_stopped,
            index in choice.selected,
        )
        for index, (one, table) in enumerate(zip(trained, whole.tables, strict=True))
    ]
    seconds = sum(one.seconds for one in trained)  # only then is known which is selected
    record = replace(
        best.record,
        portfolio=members,
        seconds_to_best=seconds,
        seconds_to_near_best=seconds,
        total_seconds=seconds + scored_seconds,
        peak_memory_bytes=max(best.record.peak_memory_bytes, *(one.peak for one in trained)),
        resumed=trained[0].resumed,  # its checkpoints count every time
    )
    if others:
        scores = choice.scores
        record = replace(record, val_loss=scores.loss, val_accuracy=scores.accuracy, val_macro_f1=scores.macro_f1)
    return replace(best, record=record, portfolio=whole).with_others(others)


def _scored(trained: Sequence[Trained]) -> tuple[list[dict[str, Any]], float]:
    """What :func:`mggcn.runs._testing.score_test` returns of these recipes."""
    started = time.perf_counter()
    tested, scored_seconds = score_test([one.calibrated for one in trained])
    seconds = time.perf_counter() - started
    _log.debug("tested in %.2f s", seconds, extra={"phase": "test", "seconds": seconds})
    _log.info("scored %d test nodes in %.2f s", trained[0].fit.split.test.size, scored_seconds)
    return tested, scored_seconds
