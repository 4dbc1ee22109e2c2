import re
import time
from pathlib import Path

import msgspec
import pytest

import mggcn
from mggcn._io.files import checksummed, parse_json, read_json, read_toml, without_checksum
from mggcn.errors import InputError


class Point(msgspec.Struct):
    x: int
    tags: list[str] = []


class Drawing(msgspec.Struct):
    points: list[Point]


def test_files_are_read_as_their_type_and_unknown_fields_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"points": [{"x": 1, "newer": 2}]}')
    (tmp_path / "a.toml").write_text('newer = 1\n[[points]]\nx = 1\ntags = ["t"]\n')
    assert read_json(tmp_path / "a.json", Drawing) == Drawing([Point(1)])
    assert read_toml(tmp_path / "a.toml", Drawing) == Drawing([Point(1, ["t"])])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "field 'points' is missing"),
        ("[]", "expected object, got array"),
        ('{"points": [{}]}', "field 'points[0].x' is missing"),
        ('{"points": [{"x": "1"}]}', "field points[0].x: expected int, got str"),
        ('{"points": [{"x": true}]}', "field points[0].x: expected int, got bool"),
        ('{"points": [', "not valid JSON (Input data was truncated)"),
        ("\udcff", "not valid JSON ("),
        ("[" * 100_000, "not valid JSON (nested too deeply)"),
        ('{"points": [}', "not valid JSON (JSON is malformed"),
        ('["points" 1]', "not valid JSON (JSON is malformed"),
        ('{"points": [{"x": ' + "9" * 5000 + "}]}", "not valid JSON ("),
        ('{"points": "\\ud800"}', "not valid JSON ("),
    ],
)
def test_json_errors_are_one_line_with_file_and_field(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_json(path, Drawing)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x =", "not valid TOML (Invalid value"),
        ("points = 1", "field points: expected array, got int"),
        ("\udcff", "not valid TOML ("),
        ("points = " + "[" * 100_000, "not valid TOML (nested too deeply)"),
        ("points = " + "9" * 5000, "not valid TOML (Exceeds the limit"),
    ],
)
def test_toml_errors_are_one_line_with_file_and_field(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_toml(path, Drawing)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: cannot be read \(No such file or directory\)"):
        read_json(tmp_path / "none.json", Drawing)


def test_a_checksum_is_the_first_field_and_covers_the_rest(tmp_path: Path) -> None:
    content = checksummed('{"points": [{"x": 1}]}')
    assert content.startswith(b'{"checksum": "')
    assert without_checksum(content) == b'{"points": [{"x": 1}]}'
    with pytest.raises(ValueError, match="its checksum is missing"):
        without_checksum(b'{"points": []}')
    (tmp_path / "a.json").write_bytes(content)
    assert read_json(tmp_path / "a.json", Drawing) == Drawing([Point(1)])
    assert read_json(tmp_path / "a.json", Drawing, is_checksummed=True) == Drawing([Point(1)])
    (tmp_path / "a.json").write_bytes(content.replace(b"1}", b"2}"))
    with pytest.raises(InputError, match=r"a\.json: wrong checksum"):
        read_json(tmp_path / "a.json", Drawing)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b"9" * 5000, "Exceeds the limit"),
        (b'{"name": "\\uD800"}', "half of a surrogate pair"),
        (b"{", "Expecting"),
        (b"\xff", "can't decode"),
    ],
)
def test_hostile_json_is_a_value_error(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_json(content)


def test_characters_beyond_the_basic_plane_are_read() -> None:
    assert parse_json(b'"\\ud83d\\ude00"') == "\U0001f600"


KEYS = {
    "bare": ".".join(["a"] * 50_000),
    "with spaces": " . ".join(["a-b"] * 20_000),
    "quoted": ".".join([r'"a b\""'] * 20_000),
    "of literals": ".".join(["'a.b'"] * 20_000),
    "mixed": ".".join(["a", r'"\""', "''"] * 10_000),
}
LONG = {
    **{f"a key, {name}": (f"\n{key} = 1\n", "a key of more than 16 parts at line 2") for name, key in KEYS.items()},
    "a table": (f"[{KEYS['bare']}]\n", "a key of more than 16 parts at line 1"),
    "a key of an inline table": (f"a = {{ {KEYS['bare']} = 1 }}\n", "a key of more than 16 parts at line 1"),
    "17 parts": (".".join("abcdefghijklmnopq") + " = 1\n", "a key of more than 16 parts at line 1"),
    "many lines": ("# nothing\n" * 100_000, "larger than 256 KiB"),
}


@pytest.mark.parametrize("name", LONG)
def test_toml_that_takes_long_to_parse_is_refused_soon(tmp_path: Path, name: str) -> None:
    content, message = LONG[name]
    path = tmp_path / "a.toml"
    path.write_text(content)
    started = time.perf_counter()
    with pytest.raises(InputError) as error:
        read_toml(path, Drawing)
    assert str(error.value) == f"{path}: not valid TOML ({message})"
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    "content",
    ["a" * 200_000 + " = 1", "a " * 100_000, '"' * 200_000, "'" * 200_001, ' "' * 100_000, "a" + " " * 200_000],
)
def test_toml_without_a_dotted_key_is_searched_for_one_soon(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.toml").write_text(content)
    started = time.perf_counter()
    with pytest.raises(InputError):
        read_toml(tmp_path / "a.toml", Drawing)
    assert time.perf_counter() - started < 1


def test_keys_of_sixteen_parts_and_dots_in_texts_are_read(tmp_path: Path) -> None:
    key, text = ".".join("abcdefghijklmnop"), "1.5, 2.5. " * 100
    (tmp_path / "a.toml").write_text(f"{key} = 1\ntext = '{text}'\nnumbers = [{', '.join(['0.5'] * 100)}]\n")
    assert read_toml(tmp_path / "a.toml", dict[str, object])["text"] == text


def test_every_toml_file_is_read_by_read_toml() -> None:
    source = Path(mggcn.__file__).parent
    readers = re.compile(r"import tomllib|from tomllib|msgspec\.toml\.decode|\btomllib\.load|import toml\b")
    found = [path.name for path in source.rglob("*.py") if readers.search(path.read_text())]
    assert found == ["files.py"]
