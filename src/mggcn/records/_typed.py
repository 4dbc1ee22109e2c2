"""Typed values from parsed JSON or TOML, with errors that name the field and its value.

The files are parsed by the standard library, because records of diverged runs hold ``NaN``, which msgspec's own parser
rejects.
"""

import re
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_LOCATED = re.compile(r"(.+?)(?: - at `\$\.?(.*)`)?")
_NAMED = re.compile(r"Object (?:missing required|contains unknown) field `(.+?)`")


def typed(kind: type[T], values: object) -> T:
    """Convert parsed JSON or TOML to a type; raises ValueError that names the field and its value."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_problem(str(error), values)) from None


def _problem(message: str, values: Any) -> str:
    located = _LOCATED.fullmatch(message)
    problem, path = located.groups() if located else (message, None)
    named = _NAMED.fullmatch(problem)
    if named:
        field = ".".join(filter(None, [path, named[1]]))
        return f"field {field} is missing" if "missing" in problem else f"unknown field {field}"
    problem = problem.replace("`", "").replace("Expected", "expected")
    if not path:
        return problem
    steps: list[str] = []
    for step in re.findall(r"[^.\[\]]+|\.\.\.", path):
        if step == "...":
            break
        values = values[int(step)] if isinstance(values, list | tuple) else values[step]
        steps.append(f"[{step}]" if step.isdigit() else f".{step}")
    return f"field {''.join(steps).lstrip('.')} is {values!r}: {problem}"
