"""Reasons in words, and the columns of scored tables."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

import mggcn
from mggcn import Dataset
from mggcn.data._features import Measure
from mggcn.data._split import Split
from mggcn.errors import InputError, InputWarning
from mggcn.graph import Graph
from mggcn.methods.mlp import FeatureMLP
from mggcn.runs._explaining import contributions, explain, reasons_of
from mggcn.runs._run import Ensemble, Run
from mggcn.runs._scorer import Scorer


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


@pytest.mark.parametrize("method", ["mlp", "mg-gcn", "gcn", "graphsage-gcn"])
def test_the_first_reason_is_the_feature_that_decides(payments: Dataset, method: str) -> None:
    trained = mggcn.fit(payments, method, settings={"epochs": 40})
    nodes = np.flatnonzero(trained.predict().class_index == 1)[:20]
    found = reasons_of([Scorer.of(trained, payments)], nodes, np.ones(nodes.size, np.int64))
    first = [reasons[0] for reasons in found]
    value = payments.x[nodes[0], 1]
    assert found[0][0] == f"strangeness {value:.3g}"
    assert sum(reason.startswith("strangeness ") for reason in first) >= 18
    assert all(len(reasons) <= 3 for reasons in found)


def test_reasons_speak_for_the_class_also_where_probabilities_are_saturated(payments: Dataset, run: Run) -> None:
    steep = replace(run, record=replace(run.record, temperature=0.001))
    nodes = np.flatnonzero(run.predict().class_index == 1)[:10]
    assert steep.predict(nodes=nodes).probabilities[:, 1].min() > 1 - 1e-6
    labels = np.ones(nodes.size, np.int64)
    one, other = (reasons_of([Scorer.of(each, payments)], nodes, labels) for each in (steep, run))
    assert one == other


def test_counted_neighbours_are_those_of_the_direction(payments: Dataset, run: Run) -> None:
    from mggcn.runs._explaining import _Words

    words = _Words(payments, payments.y, payments.classes)
    value = f"{payments.x[0, 2]:.3g}"
    assert words.say(0, 1, 2) == f"{value} senders, 1 of them a known bad"
    assert words.say(0, 0, 2) == f"{value} senders, 1 of them a known good"
    assert words.say(3, 0, 2) == f"{payments.x[3, 2]:.3g} senders, 1 of them a known good"
    outgoing = replace(payments, measures={"senders": Measure("{} receivers", counts="out")})
    assert _Words(outgoing, payments.y, payments.classes).say(0, 1, 2) == f"{value} receivers, 1 of them a known bad"
    assert _Words(outgoing, payments.y, payments.classes).say(0, 0, 2) == f"{value} receivers"


def test_one_neighbour_is_in_the_singular_and_background_is_not_known(payments: Dataset, run: Run) -> None:
    from mggcn.runs._explaining import _Words

    x = payments.x.copy()
    x[0, 2] = 1
    one = Measure("{} senders", counts="in", one="1 sender")
    single = replace(payments, x=x, measures={"senders": one})
    assert _Words(single, payments.y, payments.classes).say(0, 1, 2) == "1 sender, a known bad"
    assert _Words(single, payments.y, ("good", "Background")).say(0, 1, 2) == "1 sender"


def test_reasons_of_named_nodes_speak_for_a_named_class(payments: Dataset, run: Run) -> None:
    nodes = [3, 40, 7]
    found = run.reasons(nodes=nodes, label="bad")
    assert found == reasons_of([Scorer.of(run, payments)], np.array(nodes), np.ones(3, np.int64))
    assert found != run.reasons(nodes=nodes, label="good")
    with pytest.raises(InputError, match="unknown class 'worse'"):
        run.reasons(nodes=nodes, label="worse")


def test_the_former_name_of_positions_warns(run: Run) -> None:
    found = run.predict(nodes=[3, 40])
    with pytest.warns(FutureWarning, match="renamed to positions_in_class"):
        assert found.ranks.tolist() == found.positions_in_class.tolist()


def test_contributions_are_those_of_a_node_alone(payments: Dataset) -> None:
    nodes = np.array([5, 40, 41, 7])
    for method in ("mg-gcn", "gcn", "mlp", "graphsage-gcn"):
        scorer = Scorer.of(mggcn.fit(payments, method, settings={"epochs": 10}, device="cpu"), payments)
        labels = np.array([explain([scorer], int(node)).label for node in nodes])
        found = contributions(scorer, nodes, labels, 0)
        for node, label, row in zip(nodes.tolist(), labels.tolist(), found, strict=True):
            alone = explain([scorer], node, label, logits=True)
            np.testing.assert_allclose(
                row[0], alone.target + alone.others, rtol=1e-2, atol=0.1, err_msg=f"{method} {node}"
            )


def test_the_graph_is_prepared_once(payments: Dataset, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = []
    prepare = FeatureMLP.prepare
    monkeypatch.setattr(FeatureMLP, "prepare", lambda self, view: prepared.append(1) or prepare(self, view))
    found = run.predict(replace(payments, name="copy"), reasons=5, at_precision=0.5)
    assert len(prepared) == 1, "the training data was prepared in training"
    prepared.clear()
    frame = run.predict(replace(payments, name="copy"), reasons=5).to_pandas()
    assert len(prepared) == 1
    assert found.thresholds is not None
    assert (frame["reason_1"].notna() == (frame["position_in_class"] <= 5)).all()


def test_features_without_names_and_methods_without_gradients(payments: Dataset, run: Run) -> None:
    unnamed = replace(payments, feature_names=(), measures={})
    with pytest.raises(InputError, match="payments: no reasons from its features: they have no names"):
        run.predict(unnamed, reasons=1)
    wide = replace(payments, x=np.tile(payments.x, 40), feature_names=tuple(map(str, range(120))), measures={})
    many = mggcn.fit(wide, "mlp", settings={"epochs": 5}).predict(nodes=[3], reasons=1)
    assert len(many.reasons[0]) == 3
    forest = mggcn.fit(payments, "random-forest")
    with pytest.warns(InputWarning, match="random-forest: neither reasons nor attributions, which need"):
        found = forest.predict(nodes=[3, 4], reasons=1)
    assert found.to_pandas()["reason_1"].tolist() == [None, None]


def test_the_table_of_predictions(payments: Dataset, run: Run, tmp_path: Path) -> None:
    unlabelled = replace(payments, y=np.where(np.arange(200) == 1, -1, payments.y), split=None)
    predictions = run.predict(unlabelled, device="cpu")
    assert predictions.known_labels[:3].tolist() == ["good", None, "good"]
    assert predictions.labels.tolist() == [payments.classes[label] for label in predictions.class_index]
    for label in range(2):
        rows = np.flatnonzero(predictions.class_index == label)
        ranked = rows[np.argsort(predictions.positions_in_class[rows])]
        assert sorted(predictions.positions_in_class[rows].tolist()) == list(range(1, rows.size + 1))
        assert (np.diff(predictions.probabilities[ranked, label]) <= 0).all()
    frame = Ensemble([run, run.save(tmp_path / "saved")]).predict(payments).to_pandas()
    assert set(frame["model"]) == {"mlp-seed0 + saved"}
    assert frame["data"].iloc[0].startswith("payments ")
    assert frame["scored_at"].iloc[0].endswith("Z")


def test_probabilities_in_a_file_are_those_in_memory(payments: Dataset, run: Run, tmp_path: Path) -> None:
    for name, scratch in (("memory.csv", None), ("file.csv", tmp_path)):
        predictions = replace(run.predict(scratch=scratch), scored_at=datetime(2026, 1, 1))
        assert isinstance(predictions.probabilities, np.memmap) == (scratch is not None)
        predictions.save(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.csv", "memory.csv"]
    assert (tmp_path / "file.csv").read_bytes() == (tmp_path / "memory.csv").read_bytes()
