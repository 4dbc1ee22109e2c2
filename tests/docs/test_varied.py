"""Charts of the page of results against the one setting in which rows differ."""

from typing import Any

import pytest
from generate import varied

from mggcn.experiments._sections import Section, group
from tests.records import record


def section(*runs: Any) -> Section:
    (only,) = group(runs)
    return only


def of(method: str, nodes: float = 10.0, **settings: Any) -> Any:
    return record(method, settings={"lr": 0.1, **settings}, nodes_per_batch=nodes)


def drawn(found: Section) -> dict[str, str]:
    vl_convert = pytest.importorskip("vl_convert")
    pytest.importorskip("altair")
    made = {}
    for name, chart in varied.charts(found).items():
        spec = chart | {"width": 300}
        made[name] = vl_convert.vegalite_to_svg(spec, vl_version=vl_convert.get_vegalite_versions()[-1])
        assert "NaN" not in made[name]
    return made


def test_one_method_against_its_picks() -> None:
    found = section(
        *(of("mg-gcn", picks=number) for number in (10, 2, 1)), record("mg-gcn", 1, settings={"lr": 0.1, "picks": 2})
    )
    (one,) = varied.series(found)
    assert (one.name, one.setting) == ("mg-gcn", "picks")
    assert [row.settings["picks"] for row in one.rows] == [1, 2, 10]
    assert [(row["value"], row["accuracy"]) for row in varied.data(found)] == [(1, 86.0), (2, 86.5), (10, 86.0)]
    pictures = drawn(found)
    assert set(pictures) == {"varied"}
    assert "picks of a node" in pictures["varied"]
    assert ">10<" in pictures["varied"]


def test_nodes_by_depth_on_a_scale_of_logarithms() -> None:
    runs = [of("gcn", 10.0**layers, layers=layers) for layers in (1, 2, 3)]
    runs += [of("sgc", 7.0, hops=hops) for hops in (1, 2)] + [of("mg-gcn", picks=picks) for picks in (1, 2)]
    runs += [of("label-propagation", 0.0, layers=layers) for layers in (1, 2)]
    found = section(*runs)
    assert {one.name: one.setting for one in varied.series(found)} == {
        "gcn": "layers",
        "sgc": "hops",
        "mg-gcn": "picks",
        "label-propagation": "layers",
    }
    pictures = drawn(found)
    assert set(pictures) == {"nodes"}
    assert ">sgc<" in pictures["nodes"]
    assert ">mg-gcn<" not in pictures["nodes"]
    chart = varied.charts(found)["nodes"]
    assert chart["encoding"]["y"]["scale"]["type"] == "log"


@pytest.mark.parametrize(
    "runs",
    [
        [of("mg-gcn", picks=1)],
        [of("mg-gcn", picks=1, fine=True), of("mg-gcn", picks=2, fine=False)],
        [of("mg-gcn", fine=True), of("mg-gcn", fine=False)],
        [of("graphsage", fanouts="5"), of("graphsage", fanouts="10")],
        [of("mg-gcn", picks=1), of("mg-gcn")],
    ],
)
def test_rows_that_differ_in_something_else_are_no_series(runs: list[Any]) -> None:
    assert varied.series(section(*runs)) == []
    assert varied.charts(section(*runs)) == {}


def test_other_rows_beside_a_series() -> None:
    found = section(of("mg-gcn", picks=1), of("mg-gcn", picks=2), of("mlp"))
    assert len(varied.series(found)) == 1
    assert varied.charts(found) == {}
