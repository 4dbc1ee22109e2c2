import pytest

from mggcn.ethereum._engines import session_options


@pytest.mark.parametrize("master", [{}, {"spark.master": "local[2]"}])
def test_a_session_on_this_machine_has_few_partitions(master: dict[str, str]) -> None:
    options = session_options(master, 700)
    assert options["spark.sql.shuffle.partitions"] == "16"
    assert options["spark.driver.memory"] == "700m"
    assert options.get("spark.master") == (None if master else "local[*]")


def test_a_cluster_decides_how_many_partitions_there_are() -> None:
    options = session_options({"spark.master": "yarn", "spark.ui.enabled": "true"}, 700)
    assert set(options) == {"spark.driver.memory", "spark.ui.showConsoleProgress"}


def test_what_is_configured_stays() -> None:
    configured = {"spark.sql.shuffle.partitions": "3", "spark.driver.memory": "9g"}
    assert not set(configured) & set(session_options(configured, 700))
