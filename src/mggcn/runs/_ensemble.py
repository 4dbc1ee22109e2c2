"""Ensemble: the mean probabilities of several runs."""

from collections.abc import Callable, Sequence

from mggcn.errors import InputError
from mggcn.runs._predicting import Predictor
from mggcn.runs._run import Run


class Ensemble(Predictor):
    """Runs with the same classes and features, whose probabilities are averaged, each run calibrated by itself.

    It predicts as a :class:`Run` does; reasons are those for the mean of the runs. Hidden representations of several
    models have no mean, so an ensemble has no ``embed``.

    Args:
        runs: at least one.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        if not runs:
            raise InputError("ensemble: name at least one run")
        _check_same(runs, "classes", lambda run: run.classes)
        _check_same(runs, "number of features", lambda run: run.record.dataset["num_features"])
        _check_same(runs, "feature names", lambda run: tuple(run.record.dataset.get("feature_names") or ()))
        self._runs = tuple(runs)

    def __repr__(self) -> str:
        return f"Ensemble({list(self._runs)!r})"

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs."""
        return self._runs

    def check_same_data(self) -> None:
        """Raise InputError unless all runs were trained on the same data and split."""
        _check_same(self._runs, "training data", _training_data)


def _training_data(run: Run) -> tuple[object, ...]:
    data = run.record.dataset
    return data["name"], (data["digest"] or "")[:8], run.record.split_seed


def _check_same(runs: Sequence[Run], what: str, value: Callable[[Run], object]) -> None:
    """Raise InputError for the first run whose value differs from that of the first run."""
    for number, run in enumerate(runs[1:], 2):
        if value(run) != value(runs[0]):
            names = [str(one.path or f"run {position}") for position, one in ((1, runs[0]), (number, run))]
            raise InputError(
                f"{names[1]}: {what} {_short(value(run))}, but {names[0]} has {_short(value(runs[0]))}; "
                "an ensemble needs the same"
            )


def _short(value: object) -> str:
    """A value in a few words."""
    if not isinstance(value, tuple):
        return str(value)
    words = [str(part) for part in value if part is not None]
    return (", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")) or "none"
