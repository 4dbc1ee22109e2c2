"""The 13 features of an account.

The paper names balance, in degree, out degree and transaction frequency; the others are ours.

Every feature f is stored as sign(f) · log(1 + |f|); their scale is fitted on training accounts when a model is trained.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.ethereum.exact import ETHER, quotient

FORMULAS = {
    "balance": "sum of I - sum of O - fees of everything sent + what genesis gave, in ether; or as --balances says",
    "in_degree": "distinct senders of I",
    "out_degree": "distinct receivers of O",
    "n_counterparties": "distinct accounts among both",
    "in_tx": "number of I",
    "out_tx": "number of O",
    "in_eth": "sum of I, in ether",
    "out_eth": "sum of O, in ether",
    "in_avg": "in_eth / max(in_tx, 1)",
    "out_avg": "out_eth / max(out_tx, 1)",
    "max_eth": "largest single value of I and O, in ether",
    "active_days": "days from the first to the last of I and O",
    "tx_freq": "(in_tx + out_tx) / (active_days + 1)",
}
"""Each feature, with I and O the transactions into and out of an account that moved value between two accounts."""
NAMES = tuple(FORMULAS)
_DAY = 86_400


def matrix(batch: Any) -> NDArray[np.float64]:
    """[n, 13] the features before the logarithm, from a ``pyarrow`` batch of the stage ``features``."""
    number = {name: batch[name].to_numpy() for name in ("in_tx", "out_tx", "first_time", "last_time")}
    active = number["last_time"] - number["first_time"]
    transactions = number["in_tx"] + number["out_tx"]
    found = [
        quotient(batch["balance_wei"], unit=ETHER),
        *(quotient(batch[name]) for name in NAMES[1:6]),
        quotient(batch["in_wei"], unit=ETHER),
        quotient(batch["out_wei"], unit=ETHER),
        quotient(batch["in_wei"], np.maximum(number["in_tx"], 1), unit=ETHER),
        quotient(batch["out_wei"], np.maximum(number["out_tx"], 1), unit=ETHER),
        quotient(batch["max_wei"], unit=ETHER),
        active / _DAY,
        transactions * _DAY / (active + _DAY),
    ]
    return np.column_stack(found)


def signed_log(features: NDArray[np.float64]) -> NDArray[np.float32]:
    """sign(f) · log(1 + |f|), as float32."""
    return np.asarray(np.sign(features) * np.log1p(np.abs(features)), np.float32)
