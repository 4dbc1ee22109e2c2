"""Runs on graphs whose edges have directions, weights and types, and what they score."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mggcn
from mggcn.errors import DataWarning, InputError, InputWarning
from mggcn.graph import EdgeSchema, Graph
from mggcn.runs import Ensemble, Requirements, Scorer, explain, resolve
from mggcn.runs._edge_words import between
from mggcn.runs._explaining import contributions
from mggcn.training import Epoch
from tests.conftest import TYPES, payments

SETTINGS = {"epochs": 3, "hidden": 8, "portfolio": "none"}


@pytest.fixture(scope="module")
def run() -> mggcn.Run:
    return mggcn.fit(payments(), settings=SETTINGS, device="cpu")


def test_the_record_says_what_is_known_of_edges(run: mggcn.Run, tmp_path: Path) -> None:
    assert run.record.edges == EdgeSchema(directed=True, weighted=True, types=TYPES)
    assert run.model.state_dict()["first.weight"].shape[0] == 3 * 5
    loaded = mggcn.load_run(run.save(tmp_path / "run").path)
    again = loaded.predict(payments(), device="cpu").probabilities
    assert np.array_equal(again, run.predict(payments(), device="cpu").probabilities)


def test_types_are_matched_by_name(run: mggcn.Run) -> None:
    expected = run.predict(payments(), device="cpu").probabilities
    data = payments()
    swapped = data.graph.with_types(("pays", "other", "lends"))
    assert swapped.types == ("pays", "other", "lends")
    with pytest.raises(InputError, match="edges of type 'other', but the run was trained on 'lends', 'pays'"):
        run.predict(replace(data, graph=swapped), device="cpu")
    numbers = 1 - data.graph.relations.number.astype(np.int64) // 2
    source, target = data.graph.relations.indices, data.graph.relations.row_numbers()
    into = data.graph.relations.number % 2 == 0
    other = Graph.from_edges(
        source[into],
        target[into],
        60,
        direction="directed",
        weight=data.graph.relations.weight[into],
        edge_type=numbers[into],
        types=("pays", "lends"),
    )
    assert np.array_equal(run.predict(replace(data, graph=other), device="cpu").probabilities, expected)
    Graph.from_arrays(dict(other.with_types(TYPES).arrays()), "directed", TYPES)


def test_a_graph_with_fewer_types_is_scored(run: mggcn.Run) -> None:
    few = payments(types=("pays",))
    assert run.predict(few, device="cpu").probabilities.shape == (60, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"direction": "both"}, "payments: edges have no directions, but those that the run was trained on have"),
        ({"types": ("gives",)}, "payments: edges of type 'gives', but the run was trained on 'lends', 'pays'"),
        ({"types": ()}, "payments: edges have no types, but those that the run was trained on have"),
    ],
)
def test_edges_of_another_kind_are_refused(run: mggcn.Run, changes: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run.predict(payments(**changes), device="cpu")


def test_weights_that_training_did_not_have_are_said(run: mggcn.Run) -> None:
    with pytest.warns(InputWarning, match="edges have no weights, but those that the run was trained on have"):
        run.predict(payments(weight=None), device="cpu")


@pytest.mark.parametrize("changes", [{"direction": "directed"}, {"types": TYPES}])
def test_runs_on_plain_edges_refuse_others(changes: dict) -> None:
    plain = {"direction": "both", "types": (), "weight": None}
    run = mggcn.fit(payments(**plain), settings=SETTINGS, device="cpu")
    with pytest.raises(InputError, match="but those that the run was trained on have none"):
        run.predict(payments(**(plain | changes)), device="cpu")


def test_methods_that_do_not_use_types_score_any() -> None:
    with pytest.warns(DataWarning, match="mg-gcn does not use the directions and types of edges"):
        run = mggcn.fit(payments(), settings=SETTINGS | {"relations": "none"}, device="cpu")
    data = payments(types=("gives",))
    assert run.predict(data, device="cpu").probabilities.shape == (60, 2)


@pytest.mark.parametrize(
    "settings", [{}, {"hops": 2, "fine_norm": "symmetric"}, {"pick_by": "weight", "pick_from": "in"}]
)
def test_mapped_data_give_the_same_weights(tmp_path: Path, settings: dict) -> None:
    data = payments()
    mggcn.data.save(data, tmp_path / "data")
    for training_graph in ("whole", "train"):
        changes = {**SETTINGS, **settings, "training_graph": training_graph}
        here, mapped = (
            mggcn.fit(one, settings=changes, device="cpu")
            for one in (data, mggcn.data.load_folder(tmp_path / "data", mmap=True))
        )
        for name, tensor in here.model.state_dict().items():
            assert np.array_equal(tensor, mapped.model.state_dict()[name]), name


def test_weights_of_one_train_the_weights_of_a_plain_graph() -> None:
    plain = payments(direction="both", types=(), weight=None)
    ones = replace(plain, graph=Graph.from_edges(*plain.graph.edges(), 60, weight=np.ones(plain.graph.num_stored)))
    one, other = (mggcn.fit(data, settings=SETTINGS, device="cpu") for data in (plain, ones))
    for name, tensor in one.model.state_dict().items():
        assert np.array_equal(tensor, other.model.state_dict()[name]), name


def test_explanations_say_what_came_through_which_edges(run: mggcn.Run) -> None:
    explained = run.explain(payments(), node=3)
    assert list(explained.relations) == ["lends in", "lends out", "pays in", "pays out"]
    frame = explained.to_pandas()
    assert set(frame["kind"]) == {"target", "others", "pick", "relation"}
    graph = payments().graph
    for pick, words in zip(explained.picks, explained.pick_edges, strict=True):
        assert words == between(graph, 3, pick.node)
    in_frame = frame[frame["kind"] == "pick"].set_index("name")["edges"]
    assert in_frame[explained.pick_ids[0]] == "; ".join(explained.pick_edges[0])


@pytest.mark.parametrize("linear_path", [False, True])
def test_a_linear_score_is_the_sum_of_the_node_and_of_the_means_over_its_edges(linear_path: bool) -> None:
    data = payments()
    run = mggcn.fit(data, settings=SETTINGS | {"layers": 1, "linear_path": linear_path}, device="cpu")
    layers = [run.model.first, run.model.direct] if linear_path else [run.model.first]
    weight = sum(layer.weight.detach().double().numpy() for layer in layers)
    x = run.scaler.apply(data.x).astype(np.float64)
    factors = (weight[:, 0] - weight[:, 1]).reshape(5, 3) / run.record.temperature
    scorer = Scorer.of(run, data)
    for node in (3, 17):
        explained, edges, through = explain([scorer], node, 0, logits=True), data.graph.relations_of(node), []
        for number in range(4):
            amounts = np.where(edges.number == number, edges.weight, 0)
            through.append((x[node] + amounts @ x[edges.indices]) / (1 + amounts.sum()) @ factors[1 + number])
        np.testing.assert_allclose([*explained.relations.values()], through, rtol=1e-4, atol=1e-5)
        total = explained.target.sum() + explained.others.sum()
        assert total == pytest.approx(x[node] @ factors[0] + sum(through), abs=1e-4)
        assert explained.value - explained.baseline == pytest.approx(total, abs=1e-4)


def test_contributions_through_relations_sum_to_those_of_features(run: mggcn.Run) -> None:
    data = payments()
    scorer = Scorer.of(run, data)
    for node in (3, 17):
        alone = explain([scorer], node, 0, logits=True)
        (parts,) = contributions(scorer, np.array([node]), np.array([0]), 4)
        assert parts.shape == (5, 3)
        np.testing.assert_allclose(parts.sum(axis=0), alone.target + alone.others, rtol=0.02, atol=0.02)
        np.testing.assert_allclose(parts[1:].sum(axis=1), [*alone.relations.values()], rtol=0.02, atol=0.02)


def test_runs_that_average_over_other_groups_are_explained_without_groups() -> None:
    data = replace(payments(), feature_names=("age", "size", "rate"))
    with pytest.warns(DataWarning, match="mg-gcn does not use the directions and types of edges"):
        other = mggcn.fit(data, settings=SETTINGS | {"relations": "none", "hops": 2}, device="cpu")
    both, draws = Ensemble([mggcn.fit(data, settings=SETTINGS, device="cpu"), other]), 2
    explained = both.explain(data, node=3, draws=draws)
    assert explained.relations == {}
    parts = [one.explain(data, node=3, draws=draws, label=data.classes[explained.label]) for one in both.runs]
    np.testing.assert_allclose(explained.target, np.mean([part.target for part in parts], axis=0))
    np.testing.assert_allclose(explained.others, np.mean([part.others for part in parts], axis=0))
    reasons = both.predict(data, reasons=2, device="cpu").reasons
    assert not any("mean of its" in text for texts in reasons.values() for text in texts)


def test_edges_in_words() -> None:
    graph = Graph.from_edges(
        [0, 1, 0], [1, 0, 1], 3, direction="directed", weight=[10, 2.5, 3], edge_type=[0, 0, 1], types=TYPES
    )
    assert between(graph, 0, 1) == ("lends from it, weight 2.5", "lends to it, weight 10", "pays to it, weight 3")
    assert between(graph, 0, 2) == ()
    amounts = Graph.from_edges([0, 1], [1, 0], 2, direction="directed", weight=[10, 2.5])
    assert between(amounts, 0, 1) == ("received 2.5 from it", "sent 10 to it")
    assert between(Graph.from_edges([0], [1], 2, direction="directed"), 1, 0) == ("edge from it",)
    assert between(Graph.from_edges([0], [1], 2, weight=[7]), 1, 0) == ("edge with it, weight 7",)
    assert between(Graph.from_edges([0], [1], 2), 1, 0) == ()


def test_reasons_name_the_heaviest_edge_with_a_known_node(run: mggcn.Run) -> None:
    data = replace(payments(), feature_names=("age", "size", "rate"))
    reasons = run.predict(data, reasons=5, device="cpu").reasons
    assert reasons
    for row, texts in reasons.items():
        label = int(run.predict(data, device="cpu").class_index[row])
        entries, known = data.graph.relations_of(row), data.y == label
        known[row] = False
        weights = np.where(known[entries.indices], entries.weights(), 0)
        if weights.any():
            neighbour, weight = entries.indices[weights.argmax()], weights.max()
            assert texts[-1].endswith(f" {neighbour}, weight {weight:.4g}, known {data.classes[label]}")
        assert len(texts) <= 3
    assert any("mean of its 'pays' senders" in text for texts in reasons.values() for text in texts)


def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path: Path) -> None:
    class Stop:
        def epoch(self, epoch: Epoch) -> None:
            if epoch.number == 2:
                raise KeyboardInterrupt

    settings = SETTINGS | {"pick_by": "weight", "pick_from": "out", "weigh_picks": True}
    whole = mggcn.fit(payments(), settings=settings, device="cpu")
    with pytest.raises(KeyboardInterrupt):
        mggcn.fit(
            payments(),
            settings=settings,
            device="cpu",
            checkpoint=tmp_path / "run",
            checkpoint_every=0,
            progress=Stop(),
        )
    resumed = mggcn.resume(tmp_path / "run", payments())
    assert resumed.record.resumed == 1
    for name, tensor in whole.model.state_dict().items():
        assert np.array_equal(tensor, resumed.model.state_dict()[name]), name


@pytest.mark.parametrize(
    ("settings", "members"),
    [
        ({}, None),
        ({"hops": 2, "pick_by": "weight", "pick_from": "in"}, None),
        ({}, [{}, {"hops": 2}, {"pick_by": "weight", "pick_from": "in"}, {"fine_norm": "half", "scaling": "row"}]),
    ],
)
@pytest.mark.parametrize("training_graph", ["whole", "train"])
def test_a_mapped_run_keeps_no_more_on_disk_than_it_says(
    tmp_path: Path, settings: dict, members: list[dict] | None, training_graph: str
) -> None:
    mggcn.data.save(payments(), tmp_path / "data")
    data = mggcn.data.load_folder(tmp_path / "data", mmap=True)
    changes = {**SETTINGS, "portfolio": "auto", **settings, "training_graph": training_graph}
    needed = Requirements.of(resolve("mg-gcn", data, changes, members=members).recipes, data)
    assert needed is not None
    assert needed.kept == 0
    mggcn.fit(data, settings=changes, members=members, device="cpu")
    kept = sum(path.stat().st_size for path in needed.cache.folder.rglob("*.npy"))
    headers = 128 * len([*needed.cache.folder.rglob("*.npy")])
    assert 0 < kept - headers <= needed.disk


@pytest.mark.parametrize("name", ["direction-labels", "weight-labels", "type-labels"])
def test_only_what_is_known_of_edges_tells_the_class(name: str) -> None:
    data = mggcn.load(name)
    plain = replace(data, graph=Graph.from_edges(*data.graph.edges(), data.num_nodes))
    settings = {"epochs": 100, "hidden": 32, "portfolio": "none"}  # two hops tell a little of which part a node is in
    assert mggcn.fit(data, settings=settings, device="cpu").test_accuracy > 0.95
    assert 0.43 < mggcn.fit(plain, settings=settings, device="cpu").test_accuracy < 0.57
