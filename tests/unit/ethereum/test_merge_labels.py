"""Merging label lists: every published format, the rules for names and conflicts, and errors with their location."""

import json
from pathlib import Path

import pytest

from mggcn.cli import main
from mggcn.errors import InputError
from mggcn.ethereum._label_lists import CLASSES, addresses, merge_labels, parse_list, write_labels
from tests.skips import real_data

A, B, C, D, E = (f"0x{digit * 40}" for digit in "abcde")


def merged(*files: Path | str) -> dict[str, str]:
    return merge_labels(parse_list(str(file)) for file in files).classes


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_label_cloud_is_taken_at_its_word(tmp_path: Path) -> None:
    file = put(
        tmp_path / "cloud.csv", f"address;label\n{A};bancor\n{B.upper().replace('X', 'x')};ico_wallet\n{C};donate\n"
    )
    assert merged(file) == {A: "Converter", B: "ICO"}


def test_json_needs_the_names_of_converters_and_phishers(tmp_path: Path) -> None:
    table = {
        A: {"name": "Bancor: DUSK Converter", "labels": ["defi", "bancor"]},
        B: {"name": "Bancor: Deployer", "labels": ["bancor"]},
        C: {"name": "Fake_Phishing12", "labels": ["phish-hack"]},
        D: {"name": "Cryptopia Hack", "labels": ["phish-hack"]},
        E: {"name": "", "labels": ["exchange"]},
    }
    result = merge_labels([(put(tmp_path / "all.json", json.dumps(table)), None)])
    assert result.classes == {A: "Converter", C: "Phish", E: "Exchange"}
    assert result.unnamed == {"bancor": 1, "phish-hack": 1}
    assert result.dropped == {"defi": 1}


def test_a_list_without_labels_has_that_of_its_file_or_folder(tmp_path: Path) -> None:
    mining = put(tmp_path / "mining.csv", f",Address,Name Tag,Balance,Txn Count\n0,{A},A pool,0 ETH,1\n")
    phish = put(tmp_path / "phish-hack" / "all.csv", f"address,nameTag\n{B},Fake_Phishing3\n{C},A heist\n")
    assert merged(mining, phish) == {A: "Mining", B: "Phish"}


def test_other_chains_are_left_out(tmp_path: Path) -> None:
    rows = f"address,chainId,label,nameTag\n{A},1,gambling,Dice\n{B},10,gambling,Dice\n"
    accounts = put(tmp_path / "accounts.csv", rows)
    result = merge_labels([(accounts, None)])
    assert result.classes == {A: "Gambling"}
    assert result.foreign == [f"{accounts}: line 3"]
    plain = put(tmp_path / "plain.txt", f"{A}\nbnb10whzywcrge79\n")
    result = merge_labels([parse_list(f"Phish={plain}")])
    assert result.classes == {A: "Phish"}
    assert result.foreign == [f"{plain}: line 2"]


def test_an_address_of_two_classes_is_left_out_and_reported(tmp_path: Path) -> None:
    first = put(tmp_path / "exchange.csv", f"Address,Name Tag\n{A},x\n{B},y\n")
    second = put(tmp_path / "mining.csv", f"Address,Name Tag\n{A},x\n{C},z\n")
    result = merge_labels([(first, None), (second, None)])
    assert result.classes == {B: "Exchange", C: "Mining"}
    conflicts = write_labels(result, tmp_path / "out" / "labels.csv")
    assert conflicts.read_text().splitlines()[1:] == [
        f"{A},Exchange,{first}: line 2",
        f"{A},Mining,{second}: line 2",
    ]
    assert (tmp_path / "out" / "labels.csv").read_text() == f"address,label\n{B},Exchange\n{C},Mining\n"
    assert merged(tmp_path / "out" / "labels.csv", first) == {A: "Exchange", B: "Exchange", C: "Mining"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("mining.csv", f"address\n{A}\n", "a list without labels; give its class as in Phish=FILE"),
        ("mining.csv", f"address,label\n{A},mining\n{A[:-1]},mining\n", f"line 3: '{A[:-1]}' is not an address"),
        ("mining.csv", f"address,label\n{A},mining,\n", "line 2: 3 values for 2 columns"),
        ("mining.csv", f'address,label\n{A},"mining\n{B},mining\n', "line 2: not readable as CSV"),
        ("mining.csv", f"address,label\n{A},{'x' * 200_000}\n", "line 2: not readable as CSV (field larger"),
        ("mining.csv", f"who,label\n{A},mining\n", "line 1: column 'address' is missing (it has 'who', 'label')"),
        ("all.json", "{", "not a JSON object of addresses and their labels (Input data was truncated)"),
        ("all.json", "[]", "and their labels (Expected `object`, got `array`)"),
        ("all.json", json.dumps({A: {"name": "x", "labels": "bancor"}}), "got `str` - at `$[...].labels`"),
        ("all.json", json.dumps({"0x12": {"labels": []}}), "entry '0x12': '0x12' is not an address"),
    ],
)
def test_errors_name_the_file_and_the_location(tmp_path: Path, name: str, text: str, message: str) -> None:
    file = put(tmp_path / name, text)
    with pytest.raises(InputError) as error:
        merged(file)
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)


def test_the_command_says_what_it_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put(
        tmp_path / "cloud.csv", f"address;label\n{A};mining\n{A};exchange\n{B};gambling\n{C};donate\nbnb1;mining\n"
    )
    assert main(["ethereum", "labels", str(file), "--out", str(tmp_path / "labels.csv")]) == 0
    output = capsys.readouterr().out
    assert "1 addresses of two classes" in output
    assert f"1 entries of other chains, left out; the first in {file}: line 6" in output
    assert f"left out, see {tmp_path / 'labels.conflicts.csv'}\n" in output
    assert "donate 1" in output
    assert main(["ethereum", "labels", f"Fish={file}", "--out", str(tmp_path / "other.csv")]) == 2
    assert "did you mean Phish?" in capsys.readouterr().err
    (tmp_path / "none.csv").write_text(f"address,label\n{A},donate\n")
    assert main(["ethereum", "labels", str(tmp_path / "none.csv"), "--out", str(tmp_path / "other.csv")]) == 2
    assert not (tmp_path / "other.csv").exists()


def test_a_class_that_is_given_is_that_of_every_address(tmp_path: Path) -> None:
    table = {A: {"name": "x", "labels": []}, B: {"name": "Bar", "labels": ["exchange", "defi"]}}
    file = put(tmp_path / "all.json", json.dumps(table))
    assert merged(f"Phish={file}") == {A: "Phish", B: "Phish"}
    assert addresses(file) == [A, B]


def test_conflicts_alone_are_written_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put(tmp_path / "cloud.csv", f"address;label\n{A};exchange\n{A};mining\n")
    out = tmp_path / "labels.csv"
    assert main(["ethereum", "labels", str(file), "--out", str(out)]) == 2
    conflicts = tmp_path / "labels.conflicts.csv"
    assert f"every address with a label of the classes has several, see {conflicts}" in capsys.readouterr().err
    assert conflicts.read_text().splitlines()[1:] == [f"{A},Exchange,{file}: line 2", f"{A},Mining,{file}: line 3"]
    assert not out.exists()


def test_files_are_replaced_only_when_asked_and_lists_never(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lists = {name: f"address,label\n{A},{name}\n" for name in ("mining.csv", "x.conflicts.csv")}
    texts = lists | {"notes.csv": "mine\n", "y.conflicts.csv": "mine\n"}
    for name, text in texts.items():
        put(tmp_path / name, text)
    (tmp_path / "folder.csv").mkdir()

    def run(out: str, *options: str) -> tuple[int, str]:
        code = main(["ethereum", "labels", "mining.csv", "Mining=x.conflicts.csv", "--out", out, *options])
        return code, capsys.readouterr().err

    for options in ([], ["--overwrite"]):
        for out, file in (("./mining.csv", "mining.csv"), ("x.csv", "x.conflicts.csv")):
            assert run(out, *options) == (2, f"mggcn: error: {file}: one of the lists to merge, it would be replaced\n")
        for out in (".", "folder.csv"):
            assert run(out, *options) == (2, f"mggcn: error: {out}: a folder, not a file to write\n")
    assert run("notes.csv") == (2, "mggcn: error: notes.csv: already exists\n")
    assert run("y.csv") == (2, "mggcn: error: y.conflicts.csv: already exists\n")
    assert {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()} == texts
    assert run("notes.csv", "--overwrite")[0] == run("y.csv", "--overwrite")[0] == 0
    assert (tmp_path / "notes.csv").read_text() == f"address,label\n{A},Mining\n"


def test_the_published_lists_merge() -> None:
    lists = real_data("ethereum_samples/etherscan_labels")
    result = merge_labels([(lists / "combinedLabels_20220730.json", None)])
    assert result.counts == dict(zip(CLASSES, (178, 737, 373, 127, 43, 5665), strict=True))
    files = [*sorted(lists.glob("*.csv")), lists / "combinedLabels_20220730.json"]
    everything = merge_labels([*((file, None) for file in files), (lists / "bert4eth_phisher_account.txt", "Phish")])
    assert everything.counts == dict(zip(CLASSES, (178, 898, 373, 127, 45, 5957), strict=True))
    assert len(everything.foreign) == 10
