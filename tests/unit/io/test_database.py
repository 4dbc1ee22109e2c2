from pathlib import Path

import pytest

from mggcn._io.database import connect, first_row, megabytes, one_line_errors
from mggcn.errors import InputError

pytest.importorskip("duckdb")

SORT = "SELECT count(*) FROM (SELECT hash(i) AS h, hash(i + 1) AS g FROM range(3000000) t(i) ORDER BY h, g OFFSET 1)"


@pytest.mark.parametrize(
    ("text", "expected"), [("2GB", 2000), ("2 gb", 2000), ("1GiB", 1073), ("0.5G", 500), ("600MB", 600), ("1T", 10**6)]
)
def test_amounts_of_memory(text: str, expected: int) -> None:
    assert megabytes(text) == expected


@pytest.mark.parametrize("text", ["", "2", "GB", "-1GB", "2GB/s", "1e3MB"])
def test_what_is_no_amount_of_memory(text: str) -> None:
    with pytest.raises(InputError, match=r"memory: '.*' is not an amount of memory such as 4GB"):
        megabytes(text)


def test_too_little_names_the_minimum() -> None:
    with pytest.raises(InputError, match="memory: '499MB' is too little; an engine needs at least 500MB"):
        megabytes("499MB")


def test_what_exceeds_the_memory_goes_to_the_disk(tmp_path: Path) -> None:
    database = connect(tmp_path, 40)
    with one_line_errors("sorting"):
        assert first_row(database, SORT) == (2_999_999,)
    database.close()


def test_a_disk_that_is_too_small_is_one_line(tmp_path: Path) -> None:
    database = connect(tmp_path, 40)
    database.execute("SET max_temp_directory_size = '1MB'")
    with pytest.raises(InputError, match="sorting: the disk is too small for what exceeds the memory"):  # noqa: SIM117
        with one_line_errors("sorting"):
            first_row(database, SORT)
    database.close()


def test_too_little_memory_is_one_line(tmp_path: Path) -> None:
    database = connect(tmp_path, 10)
    with pytest.raises(InputError, match="memory: too little for the lists, even with the disk's help"):  # noqa: SIM117
        with one_line_errors("the lists"):
            first_row(database, "SELECT length(list(i)) FROM range(5000000) t(i)")
    database.close()


def test_the_first_row_leaves_nothing_unfinished(tmp_path: Path) -> None:
    database = connect(tmp_path, 500)
    assert first_row(database, "SELECT 1 WHERE false") is None
    assert first_row(database, "SELECT * FROM range(5)") == (0,)
    assert sum(batch.num_rows for batch in database.sql("SELECT * FROM range(5)").arrow(2)) == 5
    database.close()
