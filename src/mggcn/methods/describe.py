"""The description of a method and of its settings, read from its class: docstrings, types and defaults."""

import dataclasses
import inspect
import re
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

_ENTRY = re.compile(r"^    (\w+): (.*)$")


class Setting(NamedTuple):
    """One setting of a dataclass.

    Attributes:
        name: the field.
        values: the allowed values, in words.
        default: as written on the command line.
        description: from the docstring.
    """

    name: str
    values: str
    default: str
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
        return ", ".join(str(value) for value in get_args(kind))
    if get_origin(kind) in (Union, UnionType):
        return f"{values(get_args(kind)[0])}, or module:function"
    return {bool: "true, false", int: "a whole number", float: "a number", str: "text"}.get(kind, str(kind))


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
