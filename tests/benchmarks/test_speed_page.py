"""``docs/speed.md`` is what its script makes of the committed records."""

from pathlib import Path

from benchmarks.speed import page

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_generated_from_the_records() -> None:
    records = page.read()
    assert {record["what"] for record in records} >= {"pick", "prepare", "epoch"}
    assert (ROOT / "docs" / "speed.md").read_text() == page.page(records)


def test_baselines_are_a_table_with_the_absent_as_notes() -> None:
    record = next(record for record in page.read() if record["what"] == "epoch")
    figures = {"sgc": {"median": 2.0}, "sgc_pyg": {"median": 3.0}}
    facts = {"baselines": {"sgc": {"label": "SGC", "libraries": {"pyg": {"variant": ""}, "dgl": {"absent": "no"}}}}}
    changed = {
        "what": "baselines",
        "figures": figures,
        "facts": facts,
        "ratios": {"sgc_pyg": {"label": "SGC: PyG over ours", "value": 1.5}},
    }
    text = page.page([record | changed | {"notes": ["SGC: DGL: absent: no"]}])
    assert "## Baselines" in text
    assert "| SGC | 2 s | 3 s | absent | 1.5 × |" in text
    assert "- SGC: DGL: absent: no" in text


def test_every_command_and_machine_is_on_the_page() -> None:
    text = (ROOT / "docs" / "speed.md").read_text()
    for record in page.read():
        assert record["command"] in text
        assert record["machine"].get("gpu", record["machine"]["processor"]) in text
        for note in record["notes"]:
            assert note in text


def test_missed_aims_are_named() -> None:
    text = (ROOT / "docs" / "speed.md").read_text()
    shown = text.partition("## Aims")[2].partition("\n## ")[0]
    rows = [row.split(" | ") for row in shown.splitlines() if row.endswith(("reached |", "missed |"))]
    assert len(rows) >= 5
    for *_, aim, value, verdict in rows:
        if aim.endswith("×"):
            number, bound = (float(text.rstrip(" ×").rpartition(" ")[2].replace(",", "")) for text in (value, aim))
            is_reached = number <= bound if aim.startswith("at most") else number >= bound
            assert verdict == ("reached |" if is_reached else "missed |")
