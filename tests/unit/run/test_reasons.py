"""Reasons in words, and the columns of scored tables."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mggcn
from mggcn import Dataset
from mggcn.data._features import Measure
from mggcn.data._split import Split
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.runs._details import known_labels, origin, ranks_of, reason_columns
from mggcn.runs._reasons import reasons_of
from mggcn.runs._run import Run


@pytest.fixture(scope="module")
def payments() -> Dataset:
    """Accounts of class ``bad`` have a large ``strange`` feature; account 0 is paid by 1 and 2, and pays 3."""
    rng = np.random.default_rng(0)
    n = 200
    y = np.arange(n) % 2
    x = rng.normal(0, 1, (n, 3)).astype(np.float32)
    x[:, 1] += 4 * y
    graph = Graph.from_edges(np.r_[1, 2, 0, np.arange(4, n)], np.r_[0, 0, 3, np.arange(n - 4)], n)
    counts = np.zeros(graph.num_stored, np.int64)
    for source, target in ((1, 0), (2, 0), (0, 3)):
        counts[graph.indptr[source] + np.searchsorted(graph.row(source), target)] = 1
    order = rng.permutation(n)
    split = Split.of(np.sort(order[:100]), np.sort(order[100:150]), np.sort(order[150:]))
    return Dataset(
        "payments",
        graph,
        x,
        y.astype(np.int64),
        ("good", "bad"),
        split,
        feature_names=("noise", "strange", "senders"),
        measures={"strange": Measure("strangeness {}"), "senders": Measure("{} senders", counts="in")},
        edge_attributes={"count": counts},
    )


@pytest.fixture(scope="module")
def run(payments: Dataset) -> Run:
    return mggcn.fit(payments, "mlp", settings={"epochs": 40, "hidden": 8, "dropout": 0.0})


@pytest.mark.parametrize("method", ["mlp", "mg-gcn", "random-forest"])
def test_the_first_reason_is_the_feature_that_decides(payments: Dataset, method: str) -> None:
    settings = {} if method == "random-forest" else {"epochs": 40}
    trained = mggcn.fit(payments, method, settings=settings)
    nodes = np.flatnonzero(trained.predict().labels == 1)[:20]
    found = reasons_of([trained], payments, nodes, np.ones(nodes.size, np.int64))
    first = [reasons[0] for reasons in found]
    value = payments.x[nodes[0], 1]
    assert found[0][0] == f"strangeness {value:.3g}"
    assert sum(reason.startswith("strangeness ") for reason in first) >= 18
    assert all(len(reasons) <= 3 for reasons in found)


def test_reasons_speak_for_the_class_also_where_probabilities_are_saturated(payments: Dataset, run: Run) -> None:
    steep = replace(run, record=replace(run.record, temperature=0.001))
    nodes = np.flatnonzero(run.predict().labels == 1)[:10]
    assert steep.predict(nodes=nodes).probabilities[:, 1].min() > 1 - 1e-6
    labels = np.ones(nodes.size, np.int64)
    assert reasons_of([steep], payments, nodes, labels) == reasons_of([run], payments, nodes, labels)


def test_counted_neighbours_are_those_of_the_direction(payments: Dataset, run: Run) -> None:
    from mggcn.runs._reasons import _Words

    words = _Words(payments, payments.y, payments.classes)
    value = f"{payments.x[0, 2]:.3g}"
    assert words.say(0, 1, 2) == f"{value} senders, 1 of them known bad"
    assert words.say(0, 0, 2) == f"{value} senders, 1 of them known good"
    assert words.say(3, 0, 2) == f"{payments.x[3, 2]:.3g} senders, 1 of them known good"
    outgoing = replace(payments, measures={"senders": Measure("{} receivers", counts="out")})
    assert _Words(outgoing, payments.y, payments.classes).say(0, 1, 2) == f"{value} receivers, 1 of them known bad"
    assert _Words(outgoing, payments.y, payments.classes).say(0, 0, 2) == f"{value} receivers"


def test_too_many_features_or_none_with_a_name(payments: Dataset, run: Run) -> None:
    nodes, labels = np.arange(2), np.zeros(2, np.int64)
    with pytest.raises(InputError, match="payments: no reasons from its features: they have no names"):
        reasons_of([run], replace(payments, feature_names=(), measures={}), nodes, labels)
    wide = replace(payments, x=np.zeros((200, 65), np.float32), feature_names=tuple(map(str, range(65))), measures={})
    with pytest.raises(InputError, match="65 are more than 64"):
        reasons_of([run], wide, nodes, labels)
    assert reasons_of([run], wide, nodes[:0], labels[:0]) == []


def test_ranks_within_classes() -> None:
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.9, 0.1], [0.1, 0.9]])
    assert ranks_of(p.argmax(axis=1), p.max(axis=1)).tolist() == [1, 2, 3, 2, 1]


def test_columns(payments: Dataset, run: Run, tmp_path: Path) -> None:
    unlabelled = replace(payments, y=np.where(np.arange(200) == 1, -1, payments.y), split=None)
    assert known_labels(unlabelled, np.arange(3)).tolist() == ["good", None, "good"]
    columns = reason_columns(3, np.array([2]), [["a", "b"]])
    assert {name: values.tolist() for name, values in columns.items()} == {
        "reason_1": [None, None, "a"],
        "reason_2": [None, None, "b"],
        "reason_3": [None, None, None],
    }
    names = origin([run, run.save(tmp_path / "saved")], payments, 2)
    assert names["model"].tolist() == ["mlp-seed0 + saved"] * 2
    assert names["data"][0].startswith("payments ")
    assert names["scored_at"][0].endswith("Z")
