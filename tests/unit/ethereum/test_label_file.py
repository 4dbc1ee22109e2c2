"""The label file of a build: accounts are addresses unless any name will do, and errors name the line."""

from pathlib import Path

import pytest

from mggcn.cli import main
from mggcn.data import load_folder
from mggcn.errors import InputError
from mggcn.ethereum._label_lists import read_labels
from tests.unit.ethereum.transactions import A, B, address, transaction, write


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"wallet,category\n{A},Phish\n", "line 1: 'wallet' is not an address"),
        (f"address,label\n{A},Phish\n0x123,Phish\n", "line 3: '0x123' is not an address"),
        (f"address,label\n\n{A[3:]},Phish\n", f"line 3: '{A[3:]}' is not an address"),
        (f'address,label\n{A},"Phish\n{B},Exchange\n', "line 2: not readable as CSV (unexpected end of data)"),
        (f'address,label\n{A},"two\nlines"\n0x1,Phish\n', "line 4: '0x1' is not an address"),
        (f"address,label\n{A},{'x' * 200_000}\n", "line 2: not readable as CSV (field larger than field limit"),
    ],
)
def test_errors_name_the_line_and_the_value(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_labels(file)
    assert str(error.value).startswith(f"{file}: {message}")


def test_any_name_will_do_where_ids_are_text(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("id,class\nAlice,Phish\n0x123,Exchange\n")
    assert read_labels(file, any_ids=True) == ({"Alice": "Phish", "0x123": "Exchange"}, [])


def test_the_command_ends_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels, out = tmp_path / "labels.csv", tmp_path / "out"
    labels.write_text(f"wallet,category\n{A},Phish\n")
    file = write(tmp_path / "t.parquet", [transaction(1, A, B)])
    assert main(["ethereum", "build", str(file), "--labels", str(labels), "--out", str(out)]) == 2
    message = "line 1: 'wallet' is not an address (0x and 40 hexadecimal digits)"
    assert capsys.readouterr().err == f"mggcn: error: {labels}: {message}\n"
    assert not out.exists()


def test_labels_that_differ_only_in_case_are_one_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels, file = tmp_path / "labels.csv", tmp_path / "t.parquet"
    spelled = {number: "PHISH" if number == 3 else "phish" if number < 3 else "Phish" for number in range(30)}
    rows = [f"{address(number)},{spelled.get(number, 'Exchange')}" for number in range(60)]
    labels.write_text("\n".join(["address,label", *rows, f"{address(0)},Phish"]))
    write(file, [transaction(number, address(number), address((number + 1) % 60)) for number in range(60)])
    out = tmp_path / "out"
    assert main(["ethereum", "build", str(file), "--labels", str(labels), "--out", str(out), "--quiet"]) == 0
    notes = [f"the label {other!r} is counted as 'Phish': they differ only in case" for other in ("PHISH", "phish")]
    assert [line for line in capsys.readouterr().out.splitlines() if "case" in line] == [f"note: {n}" for n in notes]
    built = load_folder(out)
    assert (built.classes, built.notes) == (("Exchange", "Phish"), tuple(notes))
    assert (built.y == 1).sum() == 30
