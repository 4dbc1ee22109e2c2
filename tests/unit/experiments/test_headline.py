"""The head of a page: titles, main figures, confidence intervals."""

import re
from typing import Any

import pytest
from scipy.stats import ttest_1samp

from mggcn.experiments import _page as headline
from mggcn.experiments._page import render
from mggcn.experiments._sections import ExperimentInfo, Row, Section, group
from tests.records import record


def section(*runs: Any) -> Section:
    (only,) = group(runs)
    return only


@pytest.mark.parametrize(
    ("hits", "count", "bounds"),
    [(862, 1000, "83.9 to 88.2"), (0, 7, "0.0 to 35.4"), (7, 7, "64.6 to 100.0"), (1, 2, "9.5 to 90.5")],
)
def test_one_seed_has_wilsons_interval(hits: int, count: int, bounds: str) -> None:
    run = record(test_accuracy=hits / count, test_confusion=[[hits, count - hits], [0, 0]])
    found = headline.interval(section(run).rows[0])
    assert found == f"95 % confidence interval {bounds} %: Wilson interval for {count:,} test nodes"


@pytest.mark.parametrize("accuracies", [[0.86, 0.87, 0.855, 0.9], [0.86, 0.86]])
def test_several_seeds_have_the_t_interval_of_their_mean(accuracies: list[float]) -> None:
    runs = [record(seed=seed, test_accuracy=accuracy) for seed, accuracy in enumerate(accuracies)]
    found = headline.interval(section(*runs).rows[0])
    low, high = ttest_1samp(accuracies, 0).confidence_interval(0.95) if len(set(accuracies)) > 1 else (0.86, 0.86)
    bounds = f"{low * 100:.1f} to {high * 100:.1f}"
    assert found == f"95 % confidence interval {bounds} %: t interval of the mean over {len(runs)} seeds"


def test_the_number_of_test_nodes_is_that_of_the_split_if_there_is_no_matrix() -> None:
    assert "for 1,000 test nodes" in headline.interval(section(record(test_confusion=[])).rows[0])
    assert headline.interval(section(record(test_confusion=[], dataset={"name": "x"})).rows[0]) == ""


def test_the_facts_of_one_seed_and_of_two() -> None:
    runs = [record(seed=seed, epochs=1234, best_epoch=1200 + seed) for seed in (0, 1)]
    alone, both = section(runs[0]), section(*runs)
    of_one = {name: (value, note) for name, value, note in headline.facts(alone, alone.rows[0])}
    of_two = {name: (value, note) for name, value, note in headline.facts(both, both.rows[0])}
    assert of_one["best epoch"] == ("1,200 of 1,234", "")
    assert of_two["best epoch"] == ("1,200.5 of 1,234.0", "mean over seeds")
    assert of_two["method"] == ("gcn", "seeds 0 to 1")
    assert of_two["test accuracy"][0] == "86.50 ± 0.71 %"
    assert "t interval of the mean over 2 seeds" in of_two["test accuracy"][1]


def titled(*runs: Any) -> str:
    return headline.title(group(runs))


def test_titles_name_the_run() -> None:
    assert titled(record()) == "gcn on cora, seed 0"
    assert titled(record(), record(seed=1), record(seed=2), record(seed=5)) == "gcn on cora, seeds 0 to 2, 5"
    assert titled(record(), record("mlp", test_accuracy=0.1)) == "cora"
    assert titled(*(record(dataset={"name": f"x{number}"}) for number in range(6))) == "x0; x1; x2; x3; 2 more"


def test_titles_name_the_experiment_and_its_data() -> None:
    rows = (Row("gcn", "gcn", "cpu", 1, (record(),)),)
    one, other = ExperimentInfo("depth", "Depth", "", "accuracy", 1), ExperimentInfo("speed", "", "", "total", 1)
    assert headline.title([Section("cora", rows, one), Section("pubmed", rows, one)]) == "Depth: cora; Depth: pubmed"
    assert headline.title([Section("cora", rows, one), Section("cora", rows, other)]) == "Depth: cora; speed: cora"
    assert headline.title([Section("reddit", (Row("gcn", "gcn"),))]) == "gcn on reddit"


def test_the_page_of_a_run_starts_with_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    monkeypatch.setattr("mggcn.experiments._page.vega", lambda: "")
    run = record(dataset={"name": "<x>"}, test_confusion=[[430, 70], [70, 430]], best_epoch=3)
    monkeypatch.setattr("mggcn.experiments._sections.published_results", lambda *_: {"accuracy": 0.868})
    text = render(group([run]), "html")
    assert "<title>gcn on &lt;x&gt;, seed 0 · mggcn</title>" in text
    order = [
        "<h1>gcn on &lt;x&gt;, seed 0</h1>",
        "<dd>gcn</dd>",
        "<dd>&lt;x&gt;</dd>",
        "<dd>86.00 %</dd>",
        "95 % confidence interval 83.7 to 88.0 %: Wilson interval for 1,000 test nodes; paper: 86.8 %",
        "not converged, the best epoch is the last one: all runs",
        'id="loss0"',
        'id="by_epoch0"',
        'id="confusion0"',
        "<h3>All figures</h3>",
    ]
    positions = [text.find(part) for part in order]
    assert -1 not in positions
    assert positions == sorted(positions)
    assert re.findall("<h2>(.*?)</h2>", text) == ["Commands and environments"]


def test_sections_of_one_experiment_are_named_by_their_data(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    monkeypatch.setattr("mggcn.experiments._page.vega", lambda: "")
    rows = (Row("gcn", "gcn", "cpu", 1, (record(),)), Row("mlp", "mlp", "cpu", 1, (record("mlp"),)))
    one, other = ExperimentInfo("depth", "Depth", "", "accuracy", 1), ExperimentInfo("speed", "", "", "accuracy", 1)
    same = render([Section("cora", rows, one), Section("pubmed", rows, one)], "html")
    assert re.findall("<h2>(.*?)</h2>", same)[:2] == ["cora", "pubmed"]
    assert '<a href="#s1">pubmed</a>' in same
    both = render([Section("cora", rows, one), Section("cora", rows, other)], "html")
    assert re.findall("<h2>(.*?)</h2>", both)[:2] == ["Depth: cora", "speed: cora"]
