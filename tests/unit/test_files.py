from pathlib import Path

import msgspec
import pytest

from mggcn.errors import InputError
from mggcn.files import is_sealed, parse_json, read_json, read_toml, sealed, unsealed


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
    content = sealed('{"points": [{"x": 1}]}')
    assert content.startswith(b'{"checksum": "')
    assert unsealed(content) == (b'{"points": [{"x": 1}]}', True)
    assert unsealed(b'{"points": []}') == (b'{"points": []}', False)
    (tmp_path / "a.json").write_bytes(content)
    assert read_json(tmp_path / "a.json", Drawing) == Drawing([Point(1)])
    assert is_sealed(tmp_path / "a.json")
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
