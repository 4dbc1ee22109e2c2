"""The settings of methods and of training: fields of dataclasses, converted from text, TOML or JSON and described.

Errors name the setting. Descriptions are read from the classes: docstrings, types and defaults.
"""

import dataclasses
import inspect
import pkgutil
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from mggcn.errors import InputError, unknown

T = TypeVar("T")

_ENTRY = re.compile(r"^    (\w+): (.*)$")
_IMPORT_ERRORS = (ImportError, AttributeError, ValueError, TypeError)
_SWITCHES = {"yes": True, "on": True, "no": False, "off": False}


def divide(values: Mapping[str, object], *kinds: type) -> list[dict[str, object]]:
    """Divide values among dataclasses by their field names; a key that no dataclass has is an error."""
    names = [{field.name for field in dataclasses.fields(kind)} for kind in kinds]
    for key in values:
        if not any(key in fields for fields in names):
            raise unknown("setting", key, set().union(*names))
    return [{key: value for key, value in values.items() if key in fields} for fields in names]


def convert(kind: type, values: Mapping[str, object]) -> dict[str, Any]:
    """Convert values that may still be text to the types of a dataclass's fields."""
    hints = get_type_hints(kind)
    return {key: _convert(key, value, hints[key]) for key, value in values.items()}


def build(kind: type[T], values: Mapping[str, object]) -> T:
    """Build a dataclass from values that may still be text."""
    return kind(**convert(kind, values))


def plain(value: object) -> object:
    """A setting as stored in JSON: functions and classes as their import path."""
    return import_path(value) if callable(value) else value


def pairs(assignments: Sequence[str]) -> dict[str, object]:
    """Parse ``key=value`` words."""
    values: dict[str, object] = {}
    for word in assignments:
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise InputError(f"settings: {word!r} is not of the form key=value")
        values[key.strip().replace("-", "_")] = value.strip()
    return values


def import_path(value: Any) -> str:
    """``package.module:Name`` of a class or function."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return f"{value.__module__}:{name}"


def check_importable(key: str, value: object) -> None:
    """Raise InputError for a function or class that its import path does not lead to, as a lambda or a local one."""
    if not callable(value):
        return
    path, found = import_path(value), None
    with suppress(*_IMPORT_ERRORS):
        found = pkgutil.resolve_name(path)
    if found is not value:
        raise InputError(
            f"{key}: {path} cannot be imported, so a saved run could not be loaded; use a function or class of a module"
        )


def is_import_path(text: object) -> bool:
    """Whether text has the form ``package.module:Name``."""
    return isinstance(text, str) and ":" in text and not any(letter.isspace() for letter in text)


def refuse_imports(source: str | Path, names: Mapping[str, object], *, allow_import: bool) -> None:
    """Raise InputError if a file names code to import, which nobody has allowed; every reader of names calls it first.

    ``names`` is what the file names as a method, and its settings, by field. A name in a user's own call or command is
    imported without it, by :func:`import_object`.
    """
    for field, value in names.items():
        if is_import_path(value) and not allow_import:
            raise InputError(
                f"{source}: field {field} names code to import ({value}); if you trust it, allow it with "
                "allow_import=True"
            )


def import_object(path: str) -> Any:
    """Import the object that ``package.module:Name`` names, also from modules in the working folder."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return pkgutil.resolve_name(path)
    except _IMPORT_ERRORS as error:
        raise InputError(f"{path}: cannot be imported ({error})") from None


def _convert(key: str, value: object, kind: Any) -> object:
    if get_origin(kind) in (
        Union,
        UnionType,
    ):  # some words, or a user's own function or class: itself or its import path
        if callable(value) or value in get_args(get_args(kind)[0]):
            return value
        if isinstance(value, str) and is_import_path(value):
            return import_object(value)
        raise InputError(f"{key}: {value!r} is not {values(kind)}")
    if kind is bool and isinstance(value, str):
        value = _SWITCHES.get(value.lower(), value.lower())
    try:
        if isinstance(value, bool) and kind is not bool:
            raise msgspec.ValidationError
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        raise InputError(f"{key}: {value!r} is not {values(kind)}") from None


class Setting(NamedTuple):
    """One setting of a dataclass.

    Attributes:
        name: the field.
        values: the allowed values, in words.
        value: the default, as written on the command line.
        description: from the docstring.
    """

    name: str
    values: str
    value: str
    description: str


def title(kind: type) -> str:
    """The first sentence of a class's docstring."""
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split()).rstrip(".")


def settings_of(kind: type) -> list[Setting]:
    """The settings of a method's class, or of :class:`mggcn.training.Training`."""
    types, descriptions = get_type_hints(kind), _descriptions(kind)
    return [
        Setting(field.name, values(types[field.name]), written(field.default), descriptions.get(field.name, ""))
        for field in dataclasses.fields(kind)
    ]


def values(kind: Any) -> str:
    """The values that a setting of this type may have, in words."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if get_origin(kind) in (Union, UnionType):
        return f"{values(get_args(kind)[0])}, or module:function"
    return {bool: "true or false", int: "a whole number", float: "a number", str: "text"}.get(kind, str(kind))


def written(value: object) -> str:
    """A setting's value as written on the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _descriptions(kind: type) -> dict[str, str]:
    """The ``Attributes:`` sections of a class and its bases; the class itself has precedence."""
    texts: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        _, _, section = inspect.cleandoc(each.__doc__ or "").partition("Attributes:\n")
        name = ""
        for line in section.partition("\n\n")[0].splitlines():
            if match := _ENTRY.match(line):
                name, texts[match[1]] = match[1], match[2]
            elif name:
                texts[name] += f" {line.strip()}"
    return texts
