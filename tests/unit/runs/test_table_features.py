"""Scoring tables with a run that was trained on tables: columns, categories and empty cells."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mggcn
from mggcn.cli import main
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features
from mggcn.errors import DataWarning, InputError, InputWarning
from tests import checksums

pytestmark = pytest.mark.filterwarnings("ignore:.*empty cells, marked:mggcn.errors.DataWarning")


@pytest.fixture
def edges(small: Dataset) -> pd.DataFrame:
    rows, columns = small.graph.edges()
    return pd.DataFrame({"source": rows, "target": columns})


@pytest.fixture
def nodes(small: Dataset) -> pd.DataFrame:
    """Numbers with empty cells, numbers without, text with empty cells, dates and booleans."""
    rng = np.random.default_rng(1)
    age = small.x[:, 0].copy()
    age[rng.random(60) < 0.2] = np.nan
    city = np.array(["Rome", "Oslo", "Bonn"], object)[small.y]
    city[rng.random(60) < 0.2] = None
    part = np.full(60, "", object)
    for name, members in small.split.parts().items():
        part[members] = name
    return pd.DataFrame(
        {
            "age": age,
            "gas": small.x[:, 1],
            "city": city,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(small.y, "D"),
            "flag": small.y == 2,
            "label": np.array(small.classes, object)[small.y],
            "split": part,
        }
    ).rename_axis("id")


@pytest.fixture
def run(edges: pd.DataFrame, nodes: pd.DataFrame, tmp_path: Path) -> mggcn.Run:
    data = Dataset.from_pandas(edges, nodes, "first")
    mggcn.fit(data, settings={"epochs": 10}, device="cpu").save(tmp_path / "run")
    return mggcn.load_run(tmp_path / "run")


def by_hand(run: mggcn.Run, edges: pd.DataFrame, nodes: pd.DataFrame) -> np.ndarray:
    """The run's predictions for features that are encoded here, with the run's training means and categories."""
    mean = {column["name"]: column["mean"] for column in run.record.dataset["encoding"]}
    columns = {"age": nodes["age"].fillna(mean["age"]), "age is empty": nodes["age"].isna()}
    columns["gas"] = nodes["gas"].fillna(mean["gas"])
    columns |= {f"city={name}": nodes["city"] == name for name in ("Bonn", "Oslo", "Rome")}
    columns["city is empty"] = nodes["city"].isna()
    columns["day"] = (nodes["day"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    columns["flag"] = nodes["flag"]
    assert tuple(columns) == tuple(run.record.dataset["feature_names"])
    x = np.stack([np.asarray(column, np.float32) for column in columns.values()], axis=1)
    whole = Dataset.from_pandas(edges, nodes[["label"]], "by hand", features="none", seed=None)
    data = replace(whole, x=as_features(x), feature_names=tuple(columns))
    return run.predict(data, device="cpu").probabilities


def score(run: mggcn.Run, edges: pd.DataFrame, nodes: pd.DataFrame, **options: object) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        data = Dataset.from_pandas(edges, nodes.drop(columns=["split", "label"]), "later", **options)
    return run.predict(data, device="cpu").probabilities


def test_the_means_are_those_of_the_training_nodes(run: mggcn.Run, nodes: pd.DataFrame, small: Dataset) -> None:
    encoding = {column["name"]: column for column in run.record.dataset["encoding"]}
    assert encoding["age"]["mean"] == pytest.approx(nodes["age"].iloc[small.split.train].mean())
    assert encoding["age"]["has_empty"]
    assert encoding["city"]["categories"] == ["Bonn", "Oslo", "Rome"]
    assert [column["kind"] for column in encoding.values()] == ["number", "number", "category", "date", "boolean"]


def test_the_same_table_in_another_order_of_columns(run: mggcn.Run, edges: pd.DataFrame, nodes: pd.DataFrame) -> None:
    expected = by_hand(run, edges, nodes)
    assert np.array_equal(score(run, edges, nodes[nodes.columns[::-1]]), expected)
    assert np.array_equal(run.predict(Dataset.from_pandas(edges, nodes), device="cpu").probabilities, expected)


def test_empty_cells_get_the_means_of_the_run(run: mggcn.Run, edges: pd.DataFrame, nodes: pd.DataFrame) -> None:
    later = nodes.assign(age=nodes["age"] + 5)
    later.loc[::2, "age"] = np.nan
    assert np.array_equal(score(run, edges, later), by_hand(run, edges, later))
    full = nodes.assign(age=nodes["age"].fillna(3), city=nodes["city"].fillna("Rome"))
    assert np.array_equal(score(run, edges, full), by_hand(run, edges, full)), "without empty cells the marks are 0"


def test_empty_cells_where_training_had_none(run: mggcn.Run, edges: pd.DataFrame, nodes: pd.DataFrame) -> None:
    later = nodes.copy()
    later.loc[:6, "gas"] = np.nan
    message = "^later: empty cells in columns that had none in training, so they are not marked: 7 in 'gas'$"
    with pytest.warns(InputWarning, match=message) as caught:
        scored = score(run, edges, later)
    assert len(caught) == 1
    assert np.array_equal(scored, by_hand(run, edges, later))


def test_unknown_categories_are_counted_and_ignored(run: mggcn.Run, edges: pd.DataFrame, nodes: pd.DataFrame) -> None:
    later = nodes.copy()
    later.loc[:4, "city"] = "Paris"
    later.loc[5:7, "city"] = "Bern"
    message = r"^later: categories that the run was not trained on, so it ignores them: 8 in 'city'$"
    with pytest.warns(InputWarning, match=message) as caught:
        scored = score(run, edges, later)
    assert [warning.filename for warning in caught] == [__file__], "one line, at the call of predict"
    assert np.array_equal(scored, by_hand(run, edges, later))


def test_categories_that_do_not_occur_are_zero(run: mggcn.Run, edges: pd.DataFrame, nodes: pd.DataFrame) -> None:
    later = nodes.assign(city=nodes["city"].replace("Oslo", "Rome"))
    assert np.array_equal(score(run, edges, later), by_hand(run, edges, later))
    empty = nodes.assign(city=None)
    assert np.array_equal(score(run, edges, empty), by_hand(run, edges, empty)), "a column that is empty fits any kind"


def test_further_and_missing_columns(run: mggcn.Run, edges: pd.DataFrame, nodes: pd.DataFrame) -> None:
    with pytest.warns(InputWarning, match=r"^later: ignored features that the run was not trained on: 'fee'$"):
        assert np.array_equal(score(run, edges, nodes.assign(fee="x")), by_hand(run, edges, nodes))
    with pytest.raises(InputError, match=r"^later: missing features that the run was trained on: 'city'$"):
        score(run, edges, nodes.drop(columns="city"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gas": "much"}, "column 'gas' holds categories, but the run was trained on numbers"),
        ({"day": 5}, "column 'day' holds numbers, but the run was trained on dates"),
        ({"city": 5}, r"column 'city' holds numbers, but the run was trained on categories; import it as a category"),
    ],
)
def test_other_kinds_are_errors(
    run: mggcn.Run, edges: pd.DataFrame, nodes: pd.DataFrame, change: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=f"^later: {message}"):
        score(run, edges, nodes.assign(**change))


def test_booleans_are_numbers(run: mggcn.Run, edges: pd.DataFrame, nodes: pd.DataFrame) -> None:
    assert np.array_equal(score(run, edges, nodes.assign(flag=nodes["flag"].astype(int))), by_hand(run, edges, nodes))


def test_sparse_features_are_matched_too(run: mggcn.Run, edges: pd.DataFrame, nodes: pd.DataFrame) -> None:
    from scipy.sparse import csr_array

    data = Dataset.from_pandas(edges, nodes[nodes.columns[::-1]])
    sparse = replace(data, x=as_features(csr_array(data.x)))
    assert np.array_equal(run.predict(sparse, device="cpu").probabilities, by_hand(run, edges, nodes))


def test_the_encoding_is_stored_with_the_data_set(edges: pd.DataFrame, nodes: pd.DataFrame, tmp_path: Path) -> None:
    data = Dataset.from_pandas(edges, nodes)
    save(data, tmp_path / "d")
    assert load_folder(tmp_path / "d").encoding == load_folder(tmp_path / "d", mmap=True).encoding == data.encoding
    path = tmp_path / "d" / "meta.json"
    meta = checksums.values_of(path)
    del meta["encoding"]
    checksums.write(path, meta)
    assert load_folder(tmp_path / "d").encoding == (), "folders of older versions have none"
    meta["encoding"] = [{"name": "age", "kind": "colour"}]
    checksums.write(path, meta)
    with pytest.raises(InputError, match=r"meta.json: field encoding\[0\].kind"):
        load_folder(tmp_path / "d")


def test_a_damaged_encoding_of_a_run_is_named(run: mggcn.Run) -> None:
    path = run.path / "record.json"
    whole = checksums.values_of(path)
    for value, message in (
        ([{"name": "age", "kind": "colour"}], r"field dataset.encoding\[0\].kind"),
        ([{"name": "age", "kind": "number"}], "field dataset has an encoding of other features than feature_names"),
    ):
        checksums.write(path, whole | {"dataset": whole["dataset"] | {"encoding": value}})
        with pytest.raises(InputError, match=message):
            mggcn.load_run(run.path)


def test_the_command_line_reports_unknown_categories(
    edges: pd.DataFrame, nodes: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    edges.to_csv("edges.csv", index=False)
    nodes.to_csv("nodes.csv", index_label="id")
    nodes.assign(city=nodes["city"].replace("Rome", "Paris")).to_csv("later.csv", index_label="id")
    for name in ("nodes", "later"):
        assert main(["data", "import", "edges.csv", "--nodes", f"{name}.csv", "--out", name]) == 0
    assert main(["train", "nodes", "--epochs", "2", "--out", "runs", "--no-report", "--quiet"]) == 0
    capsys.readouterr()
    with warnings.catch_warnings():
        assert main(["predict", "runs/nodes-mg-gcn-seed0", "--dataset", "later", "--out", "p.csv"]) == 0
    count = int((nodes["city"] == "Rome").sum())
    assert f"warning: later: categories that the run was not trained on, so it ignores them: {count} in 'city'" in (
        capsys.readouterr().err
    )


def test_data_without_features_trains_methods_that_need_none(edges: pd.DataFrame, nodes: pd.DataFrame) -> None:
    data = Dataset.from_pandas(edges, nodes, features="none")
    assert data.num_features == 0
    with pytest.raises(InputError, match=r"^pandas: no features, which mg-gcn needs; label-propagation, deepwalk, no"):
        mggcn.fit(data, device="cpu")
    for method in ("label-propagation", "deepwalk", "node2vec"):
        few = {} if method == "label-propagation" else {"walks": 2, "length": 5, "window": 2, "dim": 8, "epochs": 3}
        run = mggcn.fit(data, method, settings=few, device="cpu")
        assert run.predict(device="cpu").probabilities.shape == (60, 3)
