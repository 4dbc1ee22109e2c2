"""First, tied or behind, in tables and as JSON."""

import itertools
from typing import Any

import numpy as np
import pytest

from mggcn.experiments._report_tables import markdown, remarks, section_table
from mggcn.experiments._sections import Section, group
from mggcn.experiments._standing import Standings, corrected
from mggcn.training import RunRecord, packed_bits
from tests.records import record

NODES = 1000
DATA = {"name": "cora", "digest": "d", "split": [1000, 500, NODES]}


def runs(method: str, wrong: int, start: int = 0, *, seeds: int = 3, **changes: Any) -> list[RunRecord]:
    """Runs that are wrong at the same nodes, apart from one node for each seed."""
    found = []
    for seed in range(seeds):
        right = np.ones(NODES, bool)
        right[start : start + wrong] = False
        right[start + wrong + seed] = False
        hits = int(right.sum())
        results = {"test_accuracy": hits / NODES, "test_confusion": [[hits, NODES - hits], [0, 0]]}
        results["test_right"] = packed_bits(right)
        found.append(record(method, seed, **({"dataset": DATA} | results | changes)))
    return found


def section_of(*methods: list[RunRecord]) -> Section:
    [section] = group(itertools.chain(*methods))
    return section


def words(*methods: list[RunRecord]) -> dict[str, str]:
    return {label: one.text for label, one in section_of(*methods).standings.by_label.items()}


def test_the_best_is_first_if_all_others_are_behind() -> None:
    assert words(runs("gcn", 0), runs("sgc", 50), runs("mlp", 100)) == {
        "gcn": "first",
        "sgc": "behind by 5.00",
        "mlp": "behind by 10.00",
    }


def test_equal_runs_are_tied_and_nobody_is_first() -> None:
    assert words(runs("gcn", 50), runs("sgc", 50), runs("mlp", 150)) == {
        "gcn": "tied",
        "sgc": "tied",
        "mlp": "behind by 10.00",
    }


def test_a_few_nodes_are_tied() -> None:
    assert words(runs("gcn", 50, start=500), runs("sgc", 52)) == {"gcn": "tied", "sgc": "tied"}


def test_a_single_method_has_no_standing() -> None:
    assert words(runs("gcn", 50)) == {}
    assert Standings.of({}).by_label == {}


def test_without_the_nodes_nothing_is_said() -> None:
    old = runs("mlp", 100, test_right=None)
    assert words(runs("gcn", 0), runs("sgc", 50), old) == {"sgc": "behind by 5.00"}, "the best might be tied with mlp"
    assert words(runs("gcn", 0), runs("sgc", 1, start=800), old) == {"gcn": "tied", "sgc": "tied"}
    assert words(runs("gcn", 0, test_right=None), runs("sgc", 50), old) == {}
    assert words(runs("gcn", 0, seeds=2), runs("sgc", 50, seeds=2)) == {}


def test_the_correction_counts_the_pairs_that_are_left() -> None:
    assert corrected({"a": 0.5, "b": 0.001, "c": 0.01}) == {
        "b": pytest.approx(0.006),
        "c": pytest.approx(0.03),
        "a": pytest.approx(0.5),
    }
    assert corrected({"a": 0.02, "b": 0.01, "c": 0.9}) == {"b": 0.06, "a": 0.06, "c": 0.9}
    assert corrected({"a": 0.3, "b": 0.4}) == {"a": pytest.approx(0.9), "b": pytest.approx(0.9)}
    assert corrected({}) == {}


def test_among_many_equal_methods_one_is_rarely_set_apart() -> None:
    generator, told_apart = np.random.default_rng(0), 0
    for _ in range(200):
        found = {}
        for method in "abcdefgh":
            bits = generator.random((3, 400)) < 0.8
            found[method] = [
                record(
                    seed=seed,
                    dataset=DATA,
                    test_accuracy=right.mean(),
                    test_right=packed_bits(right),
                    test_confusion=[[int(right.sum()), int((~right).sum())], [0, 0]],
                )
                for seed, right in enumerate(bits)
            ]
        told_apart += any(one.word != "tied" for one in Standings.of(found).by_label.values())
    assert told_apart < 0.08 * 200


def test_the_table_says_how_it_was_decided() -> None:
    section = section_of(runs("gcn", 0), runs("sgc", 50), runs("mlp", 100, test_right=None))
    table = section_table(section)
    at = table.headings.index("standing")
    assert [row[at] for row in table.texts] == ["–", "behind by 5.00", "–"]
    assert [table.columns[at].value(row) for row in section.rows] == [None, pytest.approx(0.05), None]
    assert remarks(section) == [
        "standing: first, tied with the highest accuracy (the difference may be chance), or behind it by these points; "
        "decided at 95 % for all pairs of 2 methods, with 3 seeds and 1,000 test nodes; 3 runs that say which test "
        "nodes were right are missing where it is –"
    ]
    assert "standing" not in markdown(section_of(runs("gcn", 0, test_right=None), runs("sgc", 50, test_right=None)))


def test_several_splits_are_named() -> None:
    split = [
        [
            one
            for split in range(4)
            for one in runs(
                method,
                wrong,
                seeds=2,
                split_seed=split,
                dataset={**DATA, "digest": f"{split}", "digest_without_split": "w"},
            )
        ]
        for method, wrong in (("gcn", 0), ("sgc", 100))
    ]
    section = section_of(*split)
    assert section.standings.by_label["sgc"].text == "behind by 10.00"
    assert "with 2 seeds on each of 4 random splits and 4,000 test nodes" in section.standings.decided


def test_the_standing_as_json() -> None:
    best, other = section_of(runs("gcn", 0), runs("sgc", 50)).summaries()
    assert best["standing"] == {
        "word": "first",
        "best": "gcn",
        "behind": 0.0,
        "low": 0.0,
        "high": 0.0,
        "p": 1.0,
        "mcnemar": 1.0,
    }
    found = other["standing"]
    assert (found["word"], found["best"], found["behind"]) == ("behind", "gcn", pytest.approx(0.05))
    assert 0.03 < found["low"] < 0.05 < found["high"] < 0.07
    assert found["p"] < 1e-6
    assert found["mcnemar"] < 1e-6
    assert section_of(runs("gcn", 0)).summaries()[0]["standing"] is None
