"""Checkpoints as an attacker changes them, with their checksums computed again."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import torch
from safetensors.torch import load, save

from tests import checksums

Tensors = dict[str, torch.Tensor]

DELETED = object()

VALUES: tuple[Any, ...] = (
    *(None, True, "", "x\n\x1b[2J", "9" * 5_000, -1, 0, 10**9, 2**63, 10**400, 0.5, -1.0, float("nan"), float("inf")),
    *([], [[]], [None] * 3, [[1, 2]], {}, {"loss": 1}, {"": {"": {}}}),
)
"""What the value of a field is replaced by."""


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def _renamed(tensors: Tensors, name: str) -> None:
    tensors[name + "x" * 1_000] = tensors.pop(name)


TENSORS: dict[str, Callable[[Tensors, str], object]] = {
    "removed": lambda tensors, name: tensors.pop(name),
    "renamed": _renamed,
    "of another shape": lambda tensors, name: tensors.update({name: tensors[name].new_ones(7, 5, 3)}),
    "empty": lambda tensors, name: tensors.update({name: tensors[name].new_empty(0)}),
    "a number": lambda tensors, name: tensors.update({name: tensors[name].new_ones(())}),
    "of another type": lambda tensors, name: tensors.update({name: tensors[name].to(torch.complex64)}),
    "of bytes": lambda tensors, name: tensors.update({name: tensors[name].to(torch.uint8)}),
    "not a number": lambda tensors, name: tensors.update({name: tensors[name].float() * float("nan")}),
    "huge": lambda tensors, name: tensors.update({name: torch.full_like(tensors[name], 255)}),
    "one more": lambda tensors, _: tensors.update({"other": torch.ones(1)}),
}
"""What is done to a tensor."""


def fields_of(values: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all fields and entries below a value."""
    entries = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    return [found for key, value in entries for found in [(*path, key), *fields_of(value, (*path, key))]]


def change_field(path: Path, field: tuple[Any, ...], value: Any) -> None:
    """Replace a field of a JSON file that begins with its checksum; ``DELETED`` removes it."""
    values = checksums.values_of(path)
    holder = values
    for key in field[:-1]:
        holder = holder[key]
    if value is DELETED:
        del holder[field[-1]]
    else:
        holder[field[-1]] = value
    checksums.write(path, values)


def change_tensor(path: Path, name: str, change: Callable[[Tensors, str], object]) -> None:
    """Change a tensor of the checkpoint with this JSON file, and both checksums."""
    file = path.with_suffix(".safetensors")
    tensors = load(file.read_bytes())
    change(tensors, name)
    replace_tensors(path, save({name: tensor.contiguous() for name, tensor in tensors.items()}))


def replace_tensors(path: Path, content: bytes) -> None:
    """Replace the tensors of a checkpoint by any bytes, with the right checksum."""
    path.with_suffix(".safetensors").write_bytes(content)
    change_field(path, ("tensors",), hashlib.sha256(content).hexdigest())


def tamper(path: Path, draw: Random) -> str:
    """Change one thing in a checkpoint; return what."""
    if draw.random() < 0.4:
        name = draw.choice(sorted(load(path.with_suffix(".safetensors").read_bytes())))
        what = draw.choice(sorted(TENSORS))
        change_tensor(path, name, TENSORS[what])
        return f"tensor {name} {what}"
    field = draw.choice(fields_of(checksums.values_of(path)))
    value = draw.choice([*VALUES, DELETED, nested(draw.choice([50, 500, 900]))])
    change_field(path, field, value)
    return f"field {'.'.join(map(str, field))}: " + ("removed" if value is DELETED else repr(value)[:40])
