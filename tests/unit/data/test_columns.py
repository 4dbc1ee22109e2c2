"""The encoder of columns: kinds, categories, empty cells, errors."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from mggcn.data._columns import Chunk, ColumnEncoding, Encoder, encoding_notes, feature_names, fill
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError


def encode(*parts: Sequence[Any], categories: Sequence[str] = ()) -> tuple[np.ndarray, tuple[ColumnEncoding, ...]]:
    """Encode one column ``c`` in chunks."""
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    chunks = [
        Chunk({"c": part}, len(part), lambda row, start=start: f"row {start + row}")
        for part, start in zip(parts, starts, strict=False)
    ]
    encoder = Encoder(["c"], categories)
    for chunk in chunks:
        encoder.add(chunk)
    return encoder.encode(chunks), encoder.columns


def filled(
    *parts: Sequence[Any], train: Sequence[int] | None = None, **options: Any
) -> tuple[ColumnEncoding, list[list[float]]]:
    x, columns = encode(*parts, **options)
    columns, _ = fill(lambda: [x], columns, None if train is None else np.array(train))
    assert x.dtype == np.float32
    return columns[0], x.tolist()


@pytest.mark.parametrize(
    ("cells", "kind", "expected"),
    [
        (["1", " 2.5 ", "-1e3"], "number", [1, 2.5, -1000]),
        ([1, 2.5, Decimal("0.5")], "number", [1, 2.5, 0.5]),
        (np.array([1, 2], np.uint8), "number", [1, 2]),
        (["true", "False", "TRUE"], "boolean", [1, 0, 1]),
        ([True, False], "boolean", [1, 0]),
        (np.array([True, False]), "boolean", [1, 0]),
        (["1", "0", "true"], "number", [1, 0, 1]),
        (["1970-01-02", "1969-12-31 12:00"], "date", [1, -0.5]),
        (["1970-01-02T00:00+02:00", "1970-01-02T00:00Z"], "date", [pytest.approx(22 / 24), 1]),
        ([date(1970, 1, 3), datetime(1970, 1, 1, 6, tzinfo=UTC)], "date", [2, 0.25]),
        ([datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))], "date", [0]),
        (np.array(["1970-01-03", "1969-12-31"], "datetime64[s]"), "date", [2, -1]),
    ],
)
def test_kinds_with_one_feature(cells: Any, kind: str, expected: list[float]) -> None:
    column, x = filled(cells)
    assert (column.kind, column.features, column.has_empty) == (kind, ("c",), False)
    assert [row[0] for row in x] == expected
    assert column.mean == pytest.approx(float(np.mean([row[0] for row in x])))


def test_text_becomes_categories() -> None:
    column, x = filled(["b", "a", " b", "1"])
    assert column == ColumnEncoding("c", "category", categories=("1", "a", "b"))
    assert column.features == ("c=1", "c=a", "c=b")
    assert x == [[0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize("cells", [["1", "", "4", "100"], [1, None, 4, 100], np.array([1, np.nan, 4, 100])])
def test_empty_cells_get_the_mean_of_the_training_rows_and_a_mark(cells: Any) -> None:
    column, x = filled(cells, train=[0, 1, 2])
    assert column == ColumnEncoding("c", "number", mean=2.5, has_empty=True)
    assert column.features == ("c", "c is empty")
    assert x == [[1, 0], [2.5, 1], [4, 0], [100, 0]]
    assert filled(cells)[0].mean == 35, "without a split over all rows"
    assert filled(cells, train=[1])[0].mean == 35, "and if no training row has a value"


def test_empty_categories_are_marked_only() -> None:
    column, x = filled(["a", "", "b"], train=[0])
    assert column.features == ("c=a", "c=b", "c is empty")
    assert x == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_a_column_without_any_value() -> None:
    column, x = filled(["", " "])
    assert (column.kind, column.mean, x) == ("number", 0, [[0, 1], [0, 1]])


def test_chunks_of_different_kinds_are_one_column() -> None:
    column, x = filled(["1", "2"], ["x", "y"], [""])
    assert column.categories == ("1", "2", "x", "y")
    assert np.argmax(x, axis=1).tolist() == [0, 1, 2, 3, 4]
    assert filled(np.array([1.0, 2.0]), ["", "3"])[1] == [[1, 0], [2, 0], [2, 1], [3, 0]]


def test_forced_categories() -> None:
    for cells in (["1", "2", "1"], np.array([1.0, 2.0, 1.0]), [1, 2, 1]):
        column, x = filled(cells, categories=["c"])
        assert column.categories == ("1", "2"), "whole numbers are the same text in every type"
        assert x == [[1, 0], [0, 1], [1, 0]]
    many = [f"name {number}" for number in range(300)]
    assert len(filled(many, categories=["c"])[0].categories) == 300


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([["1", "2", "3x"]], "row 2: column 'c': '3x' is not a number"),
        ([["1", "2"], ["3", "4"], ["", "NA"]], "row 5: column 'c': 'NA' is not a number"),
        ([["2020-01-01", "2020-01-02", "2020-13-01"]], "row 2: column 'c': '2020-13-01' is not a date"),
        ([["2020-01-01", "2020-01-02"], np.array([7.0])], "row 2: column 'c': 7.0 is not a date"),
        ([["1", "1e999", "2"]], "row 1: column 'c': '1e999' is not a finite 32-bit number"),
        ([[[1], [2]]], "row 0: column 'c': [1] is not a number, a date or text"),
        ([[f"n{i}" for i in range(11)]], "row 0: column 'c': 'n0' is one of more than 10 different texts in 11 cells"),
        ([[f"n{i % 101}" for i in range(999)]], "is one of more than 100 different texts in 999 cells: leave the"),
    ],
)
def test_bad_columns_are_named_with_position_and_value(parts: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        encode(*parts)
    assert message in str(caught.value)


def test_an_unknown_category_column_is_an_error() -> None:
    with pytest.raises(InputError, match="category 'd' is not a feature column"):
        encode(["1"], categories=["d"])


def test_many_texts_in_a_long_column_are_categories() -> None:
    cells = [f"n{i % 100}" for i in range(300)]
    assert len(filled(cells)[0].categories) == 100


def test_notes_say_what_was_made() -> None:
    x, columns = encode(["a", "", "b", ""])
    _, notes = fill(lambda: [x], columns, np.array([0]))
    assert [*encoding_notes(columns)] == ["columns as categories: 'c' (2)"]
    assert notes == [
        "empty cells, marked in a feature each, numbers filled with the mean of the training nodes: 'c' (2)"
    ]
    assert [*encoding_notes(encode(["2020-01-01"])[1])] == ["dates as days since 1970-01-01: 'c'"]


def test_a_data_set_checks_its_encoding(small: Dataset) -> None:
    from dataclasses import replace

    columns = tuple(ColumnEncoding(name, "number") for name in "abc")
    data = replace(small, feature_names=("a", "b", "c"), encoding=columns)
    assert feature_names(data.encoding) == data.feature_names
    with pytest.raises(InputError, match="small: encoding describes other features than feature_names"):
        replace(data, feature_names=("a", "b", "d"))
