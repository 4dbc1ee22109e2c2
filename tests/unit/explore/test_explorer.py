"""Exploring a run: ids, picks, scores, medians, and the addresses of the local page."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import mggcn
from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.data._features import Measure
from mggcn.data._ids import names_in_draws
from mggcn.data._split import Split
from mggcn.errors import InputError
from mggcn.explore import _server as server
from mggcn.explore._explorer import Explorer
from mggcn.explore._lookups import IdIndex, medians_of
from mggcn.explore._picks import is_neighbour, parents, picks_part
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.runs import between, resolve
from mggcn.runs._run import Run
from mggcn.runs._scorer import Scorer
from mggcn.sampling.mix_grained import DeviceMixGrainedSampler, MixGrainedSampler
from mggcn.training import Inference
from mggcn.training._compute import Compute
from mggcn.training._prepared import DenseInputs, View
from tests.gpu import GPU
from tests.reference.pick import pick_one
from tests.serving import served

QUICK: dict[str, object] = {"epochs": 15, "lr": 0.1, "hidden": 8, "picks": 4, "portfolio": "none"}


@pytest.fixture
def run(small: Dataset) -> Run:
    return mggcn.fit(small, seed=3, device="cpu", settings=QUICK)


@pytest.fixture
def get(run: Run, small: Dataset) -> Iterator[Callable[..., Any]]:
    with served(Explorer(run, small)) as address:

        def ask(path: str, **parameters: object) -> Any:
            with urlopen(f"{address}/api/{path}?{urlencode(parameters)}") as answer:  # noqa: S310
                return json.load(answer)

        ask.address = address  # type: ignore[attr-defined]
        yield ask


def test_picks_are_the_evaluations(run: Run, small: Dataset) -> None:
    scorer = Scorer.of(run, small)
    for target in (5, 17, 58):
        key, name = Key.of(3).fold("eval", 2), int(names_in_draws(small)[target])
        expected = pick_one(
            small.graph, small.graph.degrees.tolist(), target, 4, key, name=name, explore=scorer.explore
        )
        assert scorer.members(target, 2) == expected
        for pick, parent in enumerate(parents(small.graph, expected), 1):
            assert is_neighbour(small.graph, expected[parent], expected[pick])
            assert not any(is_neighbour(small.graph, other, expected[pick]) for other in expected[:parent])


def test_scores_are_those_of_predict(run: Run, small: Dataset) -> None:
    scorer = Scorer.of(run, small)
    expected = run.predict(nodes=[5, 58], device="cpu").probabilities
    np.testing.assert_allclose(scorer.probabilities(np.array([5, 58])), expected, rtol=1e-6)
    np.testing.assert_allclose(scorer.leave_one_out(5, 0)[1][0].exp(), expected[0], rtol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"layers": 3}, {"skip_self": False}, {"conv": "gat", "layers": 3}])
def test_leaving_out_the_last_pick_is_drawing_one_fewer(small: Dataset, settings: dict[str, object]) -> None:
    run = mggcn.fit(small, seed=3, device="cpu", settings={**QUICK, **settings})
    fewer = replace(run, plan=resolve("mg-gcn", "small", {**run.record.settings, "picks": 3}), prepared=[])
    picks, scores = Scorer.of(run, small).leave_one_out(5, 1)
    expected_picks, expected = Scorer.of(fewer, small).leave_one_out(5, 1)
    assert picks[:3] == expected_picks
    np.testing.assert_allclose(scores[-1].exp(), expected[0].exp(), rtol=1e-5)
    assert (scores[1:].exp() - scores[0].exp()).abs().max() > 1e-4


def test_an_isolated_node_has_no_picks_to_leave_out(run: Run, small: Dataset) -> None:
    explorer = Explorer(run, small)
    assert small.graph.degrees[59] == 0
    assert explorer.picks(59, 5)["nodes"][1:] == []
    assert explorer.influence(59, 1)["picks"] == []
    assert explorer.neighbours(59)["neighbours"] == []


def test_pick_frequencies_add_up(run: Run, small: Dataset) -> None:
    picks = Explorer(run, small).picks(5, 50)
    assert picks["nodes"][0]["id"] == "node-5"
    assert sum(node["share"] for node in picks["nodes"][1:]) == pytest.approx(4)
    assert sum(link["share"] for link in picks["links"]) == pytest.approx(4)
    assert all(node["hops"] >= 1 for node in picks["nodes"][1:])


def test_picks_drawn_once_are_the_same_in_every_draw(small: Dataset) -> None:
    run = mggcn.fit(small, device="cpu", settings={**QUICK, "redraw": "once"})
    explorer = Explorer(run, small)
    assert not explorer.about()["redraws"]
    assert {node["share"] for node in explorer.picks(5, 20)["nodes"]} == {1.0}


def test_ids_are_found_by_their_beginning(small: Dataset) -> None:
    addresses = np.array([f"0xAb{number:02x}" for number in range(60)])
    for kind in ("U", "S"):
        dataset = replace(small, node_ids=addresses.astype(kind))
        ids = IdIndex(dataset)
        assert ids.search("0xab1", 3) == [16, 17, 18]
        assert ids.search("0XAB", 100) == list(range(60))
        assert ids.find(" 0xaB0a ") == 10
        assert [ids.search(text, 3) for text in ("ü", "0xab0aa", "0xab0a" * 99)] == [[], [], []]
        with pytest.raises(InputError, match="small: no node has the id '0xAb'"):
            ids.find("0xAb")


def test_ids_that_differ_only_in_case_are_distinguished(small: Dataset) -> None:
    names = [*(f"n{number}" for number in range(58)), "ab", "AB"]
    dataset = replace(small, node_ids=np.array(names))
    ids = IdIndex(dataset)
    assert [ids.find(name) for name in ("ab", "AB")] == [58, 59]


def test_node_numbers_are_found(small: Dataset) -> None:
    ids = IdIndex(replace(small, node_ids=None))
    assert [ids.search(text, 20) for text in ("5", "0", "59")] == [[5], [0], [59]]
    assert [ids.search(text, 5) for text in ("", "60", "x", "-1", "9" * 5000)] == [[]] * 5


def test_medians_of_classes(small: Dataset) -> None:
    assert small.split is not None
    medians, deviation = medians_of(small)
    green = small.split.train[small.y[small.split.train] == 1]
    np.testing.assert_allclose(medians[1], np.median(small.x[green], axis=0))
    np.testing.assert_allclose(deviation, small.x[small.split.train].std(axis=0), rtol=1e-5)
    sparse = np.where(small.x > 0.5, small.x, 0)
    same = [medians_of(replace(small, x=x)) for x in (sparse, csr_array(sparse))]
    for first, second in zip(*same, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-5)


def test_features_are_listed_by_their_difference(run: Run, small: Dataset) -> None:
    features = Explorer(run, small).features(5)["features"]
    differences = [abs(feature["difference"]) for feature in features]
    assert differences == sorted(differences, reverse=True)
    assert {feature["name"]: feature["value"] for feature in features}["feature 1"] == pytest.approx(
        float(small.x[5, 1])
    )
    named = Explorer(run, replace(small, feature_names=("age", "", "gas"))).features(5)
    assert {feature["name"] for feature in named["features"]} == {"age", "feature 1", "gas"}


def test_features_are_shown_in_their_units(run: Run, small: Dataset) -> None:
    measures = {"gas": Measure("{} gas", "units", is_log=True)}
    named = replace(small, feature_names=("age", "", "gas"), measures=measures)
    plain, in_units = (
        {feature["name"]: feature for feature in Explorer(run, data).features(5)["features"]} for data in (small, named)
    )
    assert in_units["age"] | {"name": "feature 0"} == plain["feature 0"]
    assert in_units["gas"]["unit"] == "units"
    for name in ("value", "median", "median_of_label"):
        stored = plain["feature 2"][name]
        assert in_units["gas"][name] == pytest.approx(np.sign(stored) * np.expm1(abs(stored)))
    assert in_units["gas"]["difference"] == plain["feature 2"]["difference"]


def test_neighbours_have_amount_direction_and_time(run: Run, small: Dataset) -> None:
    graph = small.graph
    attributes = {name: np.zeros(graph.num_stored) for name in ("count", "value", "first", "last")}
    node, (first, second) = 5, graph.row(5)[:2].tolist()

    def pay(sender: int, receiver: int, count: int, value: float) -> None:
        entry = graph.indptr[sender] + np.searchsorted(graph.row(sender), receiver)
        for name, given in (("count", count), ("value", value), ("first", 86_400), ("last", 86_400 * count)):
            attributes[name][entry] = given

    pay(node, first, 1, 2.5)
    pay(second, node, 3, 7.0)
    pay(node, second, 1, 0.5)
    answer = Explorer(run, replace(small, edge_attributes=attributes)).neighbours(node)
    assert answer["payments"]
    assert [one["id"] for one in answer["neighbours"][:2]] == [f"node-{second}", f"node-{first}"]
    assert answer["total"] == len(answer["neighbours"]) == graph.row(node).size
    largest, next_one, *others = answer["neighbours"]
    assert largest["sent"] == {"count": 1, "value": 0.5, "first": "1970-01-02", "last": "1970-01-02"}
    assert largest["received"] == {"count": 3, "value": 7.0, "first": "1970-01-02", "last": "1970-01-04"}
    assert (next_one["sent"]["value"], next_one["received"]) == (2.5, None)
    assert all(one["sent"] is one["received"] is None for one in others)
    plain = Explorer(run, small).neighbours(node)
    assert not plain["payments"]
    assert "sent" not in plain["neighbours"][0]


def test_effects_are_logits_where_probabilities_are_saturated(run: Run, small: Dataset) -> None:
    node = int(run.predict(device="cpu").probabilities.max(axis=1).argmin())
    usual = Explorer(run, small)
    assert not usual.influence(node, 1)["logits"]
    assert not usual.attributions(node)["logits"]
    steep = replace(run, record=replace(run.record, temperature=run.record.temperature / 300), prepared=[])
    explorer = Explorer(steep, small)
    influence, attributions = explorer.influence(5, 1), explorer.attributions(5)
    assert influence["probability"] > 0.999
    assert influence["logits"]
    assert attributions["logits"]
    assert max(abs(pick["change"]) for pick in influence["picks"]) > 0.1
    added = sum(feature["target"] + feature["others"] for feature in attributions["features"])
    assert added == pytest.approx(attributions["value"] - attributions["baseline"], rel=2e-2)
    p = explorer.node(5)["probabilities"]
    others = sum(p) - max(p)
    if others:
        assert attributions["value"] == pytest.approx(np.log(max(p)) - np.log(others), rel=1e-3)


def test_the_addresses_answer(get: Callable[..., Any], small: Dataset) -> None:
    about = get("about")
    assert (about["dataset"], about["method"], about["picks"]) == ("small", "mg-gcn", 4)
    assert get("search", q="NODE-5")[0] == "node-5"
    node = get("node", id="node-5")
    assert sum(node["probabilities"]) == pytest.approx(1)
    assert (node["number"], node["label"], node["degree"]) == (5, 2, int(small.graph.degrees[5]))
    assert get("picks", id="node-5", draws=7)["draws"] == 7
    influence = get("influence", id="node-5")
    assert len(influence["picks"]) == 4
    changes = [abs(pick["change"]) for pick in influence["picks"]]
    assert changes == sorted(changes, reverse=True)
    neighbours = get("neighbours", id="node-5")
    assert neighbours["total"] == len(neighbours["neighbours"]) == small.graph.degrees[5]
    assert get("features", id="node-5")["total"] == 3
    attributions = get("attributions", id="node-5")
    added = sum(feature["target"] + feature["others"] for feature in attributions["features"])
    assert added == pytest.approx(attributions["probability"] - attributions["baseline"], abs=2e-3)
    assert attributions["probability"] == pytest.approx(max(node["probabilities"]))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("node?id=nobody", "small: no node has the id 'nobody'"),
        ("picks", "small: no node has the id ''"),
        ("picks?id=node-5&draws=0", "draws: '0' is not a number from 1 to 200"),
        (f"picks?id=node-5&draws={'9' * 5000}", f"draws: '{'9' * 5000}' is not a number from 1 to 200"),
        ("influence?id=node-5&draws=many", "draws: 'many' is not a number from 1 to 200"),
    ],
)
def test_what_cannot_be_answered(get: Callable[..., Any], path: str, message: str) -> None:
    with pytest.raises(HTTPError) as caught:
        urlopen(f"{get.address}/api/{path}")  # type: ignore[attr-defined] # noqa: S310
    with caught.value as answer:
        assert answer.code == 400
        assert json.load(answer) == {"error": message}


def test_only_this_machine_is_answered(get: Callable[..., Any]) -> None:
    address = get.address  # type: ignore[attr-defined]
    for path in ("", "style.css", "explore.js", "vega.js"):
        with urlopen(f"{address}/{path}") as answer:  # noqa: S310
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self';")
            assert "access-control-allow-origin" not in answer.headers
            assert "http" not in policy
    with pytest.raises(HTTPError, match="400") as caught:
        urlopen(Request(address, headers={"Host": "rebound.example"}))  # noqa: S310
    caught.value.close()


def test_a_method_without_picks_says_so(small: Dataset) -> None:
    run = mggcn.fit(small, "gcn", device="cpu", settings={"epochs": 3})
    explorer = Explorer(run, small)
    assert explorer.about()["picks"] == 0
    expected = run.predict(nodes=[5], device="cpu").probabilities[0]
    np.testing.assert_allclose(explorer.node(5)["probabilities"], expected, rtol=1e-6)
    assert explorer.picks(5, 3)["total"] == 0
    assert explorer.influence(5, 1)["picks"] == []


def test_contributions_are_those_of_explain(run: Run, small: Dataset) -> None:
    answer, expected = Explorer(run, small).attributions(5), run.explain(node=5)
    assert (answer["reason"], answer["total"], answer["predicted"]) == (None, 3, expected.predicted)
    by_name = {feature["name"]: feature for feature in answer["features"]}
    assert by_name["feature 1"]["target"] == pytest.approx(expected.target[1])
    assert by_name["feature 1"]["others"] == pytest.approx(expected.others[1])
    sizes = [max(abs(feature["target"]), abs(feature["others"])) for feature in answer["features"]]
    assert sizes == sorted(sizes, reverse=True)
    forest = mggcn.fit(small, "random-forest", device="cpu", settings={"trees": 3})
    answer = Explorer(forest, small).attributions(5)
    assert answer["reason"].startswith("random-forest: neither reasons nor attributions")
    assert answer["features"] == []


def test_ports_that_cannot_be_used() -> None:
    with server.listen(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port: {port} cannot be used"):
            server.listen(port)
    with pytest.raises(InputError, match="port: 70000 is not between 0 and 65535"):
        server.listen(70_000)


@pytest.fixture
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")
    return tmp_path


def test_explore_needs_its_extra(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["explore", "run"]) == 2
    assert capsys.readouterr().err == "mggcn: error: this needs uvicorn: pip install 'mggcn[explore]'\n"


def test_explore_ends_when_interrupted(folder: Path) -> None:
    assert main(["train", "data", "--epochs", "2", "--quiet", "--no-report"]) == 0
    command = [sys.executable, "-m", "mggcn", "explore", "runs/small-mg-gcn-seed0", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("runs/small-mg-gcn-seed0 is shown at http://127.0.0.1:"), process.stderr
        with urlopen(f"{line.split()[4]}api/about") as answer:  # noqa: S310
            assert json.load(answer)["num_nodes"] == 60
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert [text for text in err.splitlines() if not text.startswith("compiling ")] == ["mggcn: interrupted"]


def test_train_leaves_a_page_for_each_seed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data", "--seeds", "2", "--epochs", "2", "--quiet"]) == 0
    assert capsys.readouterr().out.endswith("runs/small-mg-gcn-seed1 and 1 more, with report.html\n")
    for seed in (0, 1):
        page = (folder / f"runs/small-mg-gcn-seed{seed}/report.html").read_text()
        assert "<h2>Picks</h2>" in page
        assert f"--seed {seed} " in page
        assert page.count("<figure") >= 4
        assert "(correct)" in page


def test_the_page_is_the_same_for_a_run_on_a_gpu(run: Run, small: Dataset) -> None:
    expected = picks_part(run, small)
    view = run.inference(small, torch.device("cpu")).view
    assert isinstance(view.inputs, DenseInputs)
    assert isinstance(view.sampler, MixGrainedSampler)
    inputs = DenseInputs((torch.cat(view.inputs.parts, dim=1).to(GPU),))
    same = {name: getattr(view.sampler, name) for name in ("include_target", "padding", "explore")}
    sampler = DeviceMixGrainedSampler(view.sampler.table.on(GPU), 4, **same, merge_from=None)
    on_gpu = replace(
        run,
        record=replace(run.record, device=GPU.type),
        model=run.model.to(GPU),
        prepared=[(small, Inference(run.model, View(inputs, sampler), run.key, Compute(GPU)))],
    )
    scorer = Scorer.of(on_gpu, small, GPU)
    assert isinstance(scorer.picker, DeviceMixGrainedSampler)
    assert scorer.explore == "breadth"
    assert picks_part(on_gpu, small) == expected


def test_train_without_the_extra_or_the_wish_leaves_none(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["train", "data", "--method", "mlp", "--epochs", "2", "--no-report"]) == 0
    assert not (folder / "runs/small-mlp-seed0/report.html").exists()
    monkeypatch.setitem(sys.modules, "altair", None)
    assert main(["train", "data", "--epochs", "2"]) == 0
    assert not (folder / "runs/small-mg-gcn-seed0/report.html").exists()
    assert "no report.html: report needs altair: pip install 'mggcn[report]'" in capsys.readouterr().err


def test_edges_are_shown_with_their_direction_type_and_weight() -> None:
    rng = np.random.default_rng(0)
    ends, weight = rng.integers(0, 40, (2, 200)), rng.lognormal(size=200)
    graph = Graph.from_edges(
        *ends, 40, direction="directed", weight=weight, edge_type=rng.integers(0, 2, 200), types=("lends", "pays")
    )
    x, split = rng.normal(size=(40, 3)).astype(np.float32), Split(np.arange(20), np.arange(20, 30), np.arange(30, 40))
    data = Dataset("payments", graph, x, np.arange(40) % 2, ("good", "bad"), split)
    run = mggcn.fit(data, settings={"epochs": 2}, device="cpu")
    explorer = Explorer(run, data)
    neighbours = explorer.neighbours(5)
    assert neighbours["weighted"]
    first = int(neighbours["neighbours"][0]["id"])
    assert graph.neighbour_weights(5, 6).max() == graph.neighbour_weights(5, 6)[graph.row(5) == first]
    for about in neighbours["neighbours"]:
        assert about["edges"] == between(graph, 5, int(about["id"]))
        assert about["edges"][0].split()[:2] in [[kind, end] for kind in graph.types for end in ("to", "from")]
    picks = explorer.picks(5, 3)
    names = [int(node["id"]) for node in picks["nodes"]]
    for link in picks["links"]:
        assert link["edges"] == between(graph, names[link["source"]], names[link["target"]]) != ()
    assert list(explorer.attributions(5)["relations"]) == ["lends in", "lends out", "pays in", "pays out"]
