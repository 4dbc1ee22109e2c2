"""Settings from text or TOML to frozen dataclasses, with errors that name the key and the valid choices."""

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from mggcn.errors import InputError, unknown

T = TypeVar("T")


def divide(values: Mapping[str, object], *kinds: type) -> list[dict[str, object]]:
    """Give each dataclass the values whose keys are its fields; a key that none has is an error."""
    known = [{field.name for field in dataclasses.fields(kind)} for kind in kinds]
    for key in values:
        if not any(key in names for names in known):
            raise unknown("setting", key, set().union(*known))
    return [{key: value for key, value in values.items() if key in names} for names in known]


def build(kind: type[T], values: Mapping[str, object]) -> T:
    """Build a dataclass of numbers, words and switches from values that may still be text."""
    hints = get_type_hints(kind)
    return kind(**{key: _convert(key, value, hints[key]) for key, value in values.items()})


def pairs(assignments: list[str]) -> dict[str, object]:
    """Split ``key=value`` words."""
    found: dict[str, object] = {}
    for word in assignments:
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {word}: not of the form key=value")
        found[key.strip().replace("-", "_")] = value.strip()
    return found


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML ({error})") from None


def _convert(key: str, value: object, kind: Any) -> object:
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise InputError(f"{key}: {value!r} is not one of {', '.join(get_args(kind))}")
        return value
    if kind is bool:
        return _switch(key, value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{key}: {value!r} is not a {'whole number' if kind is int else 'number'}")
    try:
        if kind is int and isinstance(value, float) and not value.is_integer():
            raise ValueError
        return kind(value)
    except (ValueError, OverflowError):
        raise InputError(f"{key}: {value!r} is not a {'whole number' if kind is int else 'number'}") from None


def _switch(key: str, value: object) -> bool:
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    found = words.get(str(value).lower())
    if found is None:
        raise InputError(f"{key}: {value!r} is neither true nor false")
    return found
