"""What the numbers of features mean."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.data._features import Measure, plain


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (41, "41"), (0.01234, "0.0123"), (-2.5, "-2.5"), (1_234_567, "1,234,567"), (99.96, "100"), (-0.0, "0")],
)
def test_logarithms_are_undone(value: float, text: str) -> None:
    measure = Measure("balance {} ether", "ether", is_log=True)
    stored = math.copysign(math.log1p(abs(value)), value)
    assert measure.value(stored) == pytest.approx(value)
    assert measure.text(stored) == f"balance {text} ether"


def test_a_name_alone() -> None:
    assert plain("age").text(2.5) == "age 2.5"


def test_measures_are_stored(small: Dataset, tmp_path: Path) -> None:
    measures = {"a": Measure("{} days", "days", is_log=True, counts="in")}
    named = replace(small, feature_names=("a", "b", "c"), measures=measures)
    save(named, tmp_path / "data")
    assert load_folder(tmp_path / "data").measures == measures
    assert load_folder(tmp_path / "data").digest == named.digest != small.digest
