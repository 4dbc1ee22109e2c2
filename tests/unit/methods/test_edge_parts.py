"""What a method does not use of the edges of its data is named before training, in records and in predictions."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import mggcn
from mggcn.cli import main, predicted
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.errors import DataWarning
from mggcn.experiments import group
from mggcn.graph import EdgeSchema, Graph
from mggcn.methods import METHODS, FeatureMLP, GraphSAGEMean, GraphSAGEPool, _fine
from mggcn.runs import Assessment, resolve
from mggcn.training._record import Epoch

QUICK = {"epochs": 1, "portfolio": "none"}


def with_edges(dataset: Dataset, **options: object) -> Dataset:
    """The data set with the same neighbours, and more known of its edges."""
    source, target = dataset.graph.edges()
    once = source < target
    number = np.arange(np.count_nonzero(once))
    known = {"weight": 1.0 + number % 3, "edge_type": number % 2, "types": ("pays", "knows")} | options
    kept = {name: value for name, value in known.items() if value is not None}
    return replace(dataset, graph=Graph.from_edges(source[once], target[once], dataset.num_nodes, **kept))


@dataclass
class Lines:
    """Keeps the sentences before the first epoch."""

    lines: list[str]

    def note(self, text: str) -> None:
        """Keep a sentence."""
        self.lines.append(text)

    def epoch(self, epoch: Epoch) -> None:
        """Ignore an epoch."""


@pytest.mark.filterwarnings("ignore:small. edges have no weights")
@pytest.mark.parametrize(
    ("method", "known", "sentence"),
    [
        ("gcn", {"direction": "directed"}, "gcn does not use the directions and types of edges"),
        ("mlp", {"direction": "directed"}, "mlp does not use the directions, weights and types of edges"),
        ("random-forest", {"edge_type": None, "types": None}, "random-forest does not use the weights of edges"),
        ("graphsage-pool", {"edge_type": None, "types": None}, "graphsage-pool does not use the weights of edges"),
        ("label-propagation", {}, "label-propagation does not use the types of edges"),
    ],
)
def test_what_a_method_does_not_use_is_said_once(
    small: Dataset, method: str, known: dict[str, object], sentence: str
) -> None:
    data, seen = with_edges(small, **known), Lines([])
    with pytest.warns(DataWarning, match=f"^small: {sentence}$"):
        run = mggcn.fit(data, method, settings=QUICK, device="cpu", progress=seen)
    assert seen.lines == [sentence]
    assert run.record.dataset["notes"] == [sentence]
    assert predicted.notes(Assessment(run.predict())) == [sentence]
    assert predicted.notes(Assessment(run.predict(small)))[:1] != [sentence]


def test_what_is_used_or_not_there_is_not_named(small: Dataset) -> None:
    weighted = with_edges(small, edge_type=None, types=None)
    for data, method in ((weighted, "gcn"), (small, "mlp")):
        run = mggcn.fit(data, method, settings=QUICK, device="cpu")
        assert "notes" not in run.record.dataset


def test_a_report_of_several_methods_names_what_each_does_not_use(small: Dataset) -> None:
    data, records = with_edges(small), []
    for method in ("gcn", "mlp"):
        with pytest.warns(DataWarning):
            records.append(mggcn.fit(data, method, settings=QUICK, device="cpu").record)
    (section,) = group(records)
    assert "gcn does not use the types of edges. mlp does not use the weights and types of edges" in section.about


@pytest.mark.parametrize(
    ("most", "changes", "expected"),
    [
        (15, {}, ""),
        (
            10,
            {},
            "does not use the types of edges: directions and types apart would make input rows of 15 columns, "
            "more than 10; relations='both' uses them",
        ),
        (
            8,
            {},
            "does not use the directions and types of edges: directions and types apart would make input rows of "
            "15 columns, more than 8; relations='both' uses them",
        ),
        (8, {"relations": "type"}, "does not use the directions of edges"),
        (8, {"relations": "none"}, "does not use the directions and types of edges"),
    ],
)
def test_relations_that_would_make_rows_too_wide_are_unused(
    small: Dataset, monkeypatch: pytest.MonkeyPatch, most: int, changes: dict[str, object], expected: str
) -> None:
    monkeypatch.setattr(_fine, "MOST_COLUMNS", most)
    data, seen, sentences = with_edges(small, direction="directed"), Lines([]), [f"mg-gcn {expected}"] * bool(expected)
    shown = pytest.warns(DataWarning, match=f"^small: {sentences[0]}$") if sentences else nullcontext()
    with shown:
        run = mggcn.fit(data, settings=QUICK | changes, device="cpu", progress=seen)
    assert seen.lines == sentences
    assert run.record.dataset.get("notes", []) == sentences
    assert predicted.notes(Assessment(run.predict())) == sentences
    one_type = with_edges(small, direction="directed", edge_type=np.zeros(104, int), types=("pays",))
    if changes.get("relations") != "none":
        assert predicted.notes(Assessment(run.predict(one_type)))[: len(sentences)] == sentences


def test_relations_left_together_that_picks_use_are_a_note(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fine, "MOST_COLUMNS", 8)
    data, seen = with_edges(small, direction="directed", edge_type=None, types=None), Lines([])
    run = mggcn.fit(data, settings=QUICK | {"pick_from": "in"}, device="cpu", progress=seen)
    wide = "directions apart would make input rows of 9 columns, more than 8; relations='direction' uses them"
    assert seen.lines == [f"relations: {wide}"]
    assert "notes" not in run.record.dataset


def test_a_portfolio_says_once_what_no_recipe_uses(small: Dataset) -> None:
    data, seen = with_edges(small), Lines([])
    sentence = "mg-gcn does not use the types of edges"
    with pytest.warns(DataWarning, match=f"^small: {sentence}$"):
        run = mggcn.fit(
            data, settings={"epochs": 1, "relations": "none"}, members=[{}, {"picks": 2}], device="cpu", progress=seen
        )
    assert [line for line in seen.lines if not line.startswith(("recipe", "stopped"))] == [sentence]
    assert run.record.dataset["notes"] == [sentence]


def test_one_type_is_nothing_to_use() -> None:
    assert FeatureMLP().unused(EdgeSchema(types=("pays",)), 3) == ()
    assert FeatureMLP().unused(EdgeSchema(types=("pays", "knows")), 3) == ("type",)
    assert GraphSAGEPool(draw_by="weight").unused(EdgeSchema(weighted=True), 3) == ()
    assert GraphSAGEMean().unused(EdgeSchema(directed=True, weighted=True), 3) == ("direction",)
    assert resolve("mg-gcn", "small").method.unused(EdgeSchema(True, True, ("pays", "knows")), 3) == ()


def test_the_list_of_methods_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    cells = {line.split()[0]: line.split("  ")[1:] for line in capsys.readouterr().out.splitlines()[: 1 + len(METHODS)]}
    found = {name: next(cell.strip() for cell in row if cell) for name, row in cells.items()}
    assert found["method"] == "uses of edges"
    assert found["mg-gcn"] == "direction, weight, type"
    assert found["gcn"] == "weight"
    assert found["mlp"] == found["random-forest"] == "–"
    assert main(["methods", "gcn"]) == 0
    assert "Of edges it uses: weight" in capsys.readouterr().out


def test_commands_say_it_once_for_each_data_set(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        save(replace(with_edges(small), name=name), tmp_path / name)
    sentence = "gcn does not use the types of edges"
    compare = ["compare", "one", "two", "--methods", "gcn", "--seeds", "2", "--device", "cpu", "--set", "epochs=1"]
    assert main(compare) == 0
    assert capsys.readouterr().err.count(sentence) == 2
    assert main(["train", "one", "--method", "gcn", "--epochs", "1", "--no-report"]) == 0
    assert capsys.readouterr().err.count(sentence) == 1
    assert main(["predict", "runs/one-gcn-seed0", "--out", "p.csv"]) == 0
    assert capsys.readouterr().out.count(sentence) == 1
