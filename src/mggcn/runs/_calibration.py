"""The temperature of a run's probabilities."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mggcn.data import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.training import Compute, Inference, View, choose_temperature

if TYPE_CHECKING:
    from mggcn.runs._run import Run


CALIBRATED_ON = 1_000_000
"""The most validation nodes on which a temperature is fitted; more are selected by hash."""


def calibration_nodes(dataset: Dataset, key: Key) -> NDArray[np.int64]:
    """The validation nodes on which the temperature of a run with this key is fitted."""
    return key.fold("calibration").select(dataset.require_split().val, CALIBRATED_ON)


def temperature_of(run: "Run", draws: int, data: Dataset, view: View, compute: Compute, root: Path | None) -> float:
    """The temperature of probabilities that are averaged over so many draws, fitted on the validation nodes.

    Args:
        run: whose record has the temperature of as many draws as in its evaluation.
        draws: the number of draws.
        data: the graph that is scored; it is used if the run was trained on it, else that data set is loaded.
        view: the same graph, prepared for scoring.
        compute: the device, precision and threads.
        root: the folder in which named data sets are searched.
    """
    if draws == run.plan.training.draws or run.plan.training.background_prior:
        return run.record.temperature
    if data.digest != run.record.dataset["digest"]:
        try:
            data = run.training_data(root)
        except (InputError, OSError) as error:
            raise InputError(
                f"draws: {draws} draws need a temperature fitted on the validation nodes of the training data, "
                f"which are not available ({error}); calibrated=False leaves it out"
            ) from None
        view, compute = run.view(data, compute.device)
    nodes = calibration_nodes(data, run.key)
    scores = Inference(run.model, view, run.key, compute, draws).predict(nodes)
    return choose_temperature(scores.cpu().numpy(), data.y[nodes])
