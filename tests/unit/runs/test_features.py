"""Features of a data set to score: matched with the run's by name, or by position if one side has no names."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import mggcn
from mggcn.cli import main
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features
from mggcn.errors import InputError, InputWarning
from tests import checksums

NAMES = ("age", "gas", "degree")


@pytest.fixture(params=["dense", "sparse"])
def named(small: Dataset, request: pytest.FixtureRequest) -> Dataset:
    x = as_features(csr_array(np.maximum(small.x, 0))) if request.param == "sparse" else small.x
    return replace(small, x=x, feature_names=NAMES)


@pytest.fixture
def run(named: Dataset, tmp_path: Path) -> mggcn.Run:
    folder = tmp_path / "run"
    mggcn.fit(named, settings={"epochs": 5}, device="cpu").save(folder)
    return mggcn.load_run(folder)


def with_columns(data: Dataset, columns: list[int], names: tuple[str, ...]) -> Dataset:
    x = data.x[:, columns]
    return replace(data, name="later", x=as_features(x), feature_names=names, split=None)


def same(run: mggcn.Run, one: Dataset, other: Dataset) -> bool:
    scored = [run.predict(data, draws=2, calibrated=False, device="cpu").probabilities for data in (one, other)]
    return np.array_equal(*scored)


def test_another_order_of_the_columns_gives_the_same_predictions(run: mggcn.Run, named: Dataset) -> None:
    shuffled = with_columns(named, [2, 0, 1], ("degree", "age", "gas"))
    assert same(run, named, shuffled)
    assert not same(run, named, replace(shuffled, feature_names=NAMES)), "the order matters to the model"


def test_missing_features_are_named(run: mggcn.Run, named: Dataset) -> None:
    with pytest.raises(InputError, match=r"^later: missing features that the run was trained on: 'gas'$"):
        run.predict(with_columns(named, [2, 0, 0], ("degree", "age", "fee")))
    with pytest.raises(InputError, match=r"^later: missing features that the run was trained on: 'age', 'degree'$"):
        run.predict(with_columns(named, [1], ("gas",)))


def test_many_names_are_counted(small: Dataset) -> None:
    names = tuple("abcdef")
    wide = replace(small, x=np.tile(small.x, (1, 2)), feature_names=names)
    run = mggcn.fit(wide, settings={"epochs": 1}, device="cpu")
    with pytest.raises(InputError, match=r"trained on: 'b', 'c', 'd' and 2 more$"):
        run.predict(replace(small, feature_names=("x", "a", "y")))


def test_further_features_are_ignored_with_a_warning(run: mggcn.Run, named: Dataset) -> None:
    wide = with_columns(named, [1, 2, 2, 0], ("gas", "fee", "degree", "age"))
    with pytest.warns(InputWarning, match=r"^later: ignored features that the run was not trained on: 'fee'$") as shown:
        assert same(run, named, wide)
    assert [warning.filename for warning in shown] == [__file__], "the warning names the call of predict"


def test_positions_are_used_where_one_side_has_no_names(run: mggcn.Run, named: Dataset) -> None:
    plain = replace(named, name="plain", feature_names=())
    with pytest.warns(
        InputWarning, match=r"^plain: no names of features, so columns are matched by position with 'age'"
    ):
        assert same(run, named, plain)
    older = {name: value for name, value in run.record.dataset.items() if name != "feature_names"}
    unnamed = replace(run, record=replace(run.record, dataset=older))
    assert same(unnamed, named, with_columns(named, [0, 1, 2], ("x", "y", "z")))
    for scoring in (run, unnamed):
        with pytest.raises(InputError, match="plain: 4 features, but the run was trained on 3 "):
            scoring.predict(replace(plain, x=as_features(plain.x[:, [0, 1, 2, 2]])))


def test_records_have_names_only_where_the_data_has(run: mggcn.Run, small: Dataset) -> None:
    assert run.record.dataset["feature_names"] == list(NAMES)
    assert "feature_names" not in mggcn.fit(small, settings={"epochs": 1}).record.dataset


def test_a_record_with_too_few_names_is_refused(run: mggcn.Run) -> None:
    path = run.path / "record.json"
    record = checksums.values_of(path)
    record["dataset"]["feature_names"].pop()
    checksums.write(path, record)
    with pytest.raises(InputError, match="field dataset has 2 feature_names for 3 features"):
        mggcn.load_run(run.path)


def write_tables(folder: Path, data: Dataset, columns: dict[str, int]) -> None:
    rows = [["id", "label", *columns]]
    for node, row in enumerate(data.x.tolist()):
        rows.append([f"n{node}", data.classes[data.y[node]], *(str(row[column]) for column in columns.values())])
    (folder / "nodes.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    ends = np.stack(data.graph.edges(), axis=1).tolist()
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{a},n{b}\n" for a, b in ends))


def test_the_command_line_matches_imported_tables_by_name(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tables = {
        "first": {"age": 0, "gas": 1, "degree": 2},
        "shuffled": {"degree": 2, "age": 0, "gas": 1},
        "wide": {"fee": 0, "degree": 2, "gas": 1, "age": 0},
        "narrow": {"degree": 2, "gas": 1},
    }
    for name, columns in tables.items():
        write_tables(tmp_path, small, columns)
        assert main(["data", "import", "edges.csv", "--nodes", "nodes.csv", "--name", name, "--out", name]) == 0
    assert main(["train", "first", "--epochs", "5", "--out", "runs", "--no-report", "--quiet"]) == 0
    capsys.readouterr()
    errors = {}
    for name in tables:
        assert main(["predict", "runs/first-mg-gcn-seed0", "--dataset", name, "--out", f"{name}.csv"]) == (
            2 if name == "narrow" else 0
        )
        errors[name] = capsys.readouterr().err
    first, shuffled, wide = (
        [line.rsplit(",", 2)[0] for line in (tmp_path / f"{name}.csv").read_text().splitlines()]
        for name in ("first", "shuffled", "wide")
    )
    assert shuffled == wide == first  # without the names of the data and the time
    assert errors["first"] == errors["shuffled"] == ""
    assert errors["wide"] == "mggcn: warning: wide: ignored features that the run was not trained on: 'fee'\n"
    assert errors["narrow"] == "mggcn: error: narrow: missing features that the run was trained on: 'age'\n"


def test_other_warnings_look_as_python_prints_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mggcn.data.names", lambda: warnings.warn("odd", stacklevel=1) or [])
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["data", "list"]) == 0
    assert "UserWarning: odd" in capsys.readouterr().err
