"""Strategies that damage bytes, JSON values and arrays."""

import copy
import json
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

NUMBERS = [0, -1, 1, 255, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 10**30]
TEXTS = ["", " ", "../x", "/etc", "\0", "\x1b[2J", "é", "nan", "inf", "1e999", "0x10", "=1", "null", "a" * 300, "९"]
LEAVES = st.one_of(
    st.sampled_from([None, True, False, float("nan"), float("inf"), -0.0, 1e308, *NUMBERS, *TEXTS]),
    st.integers(-5, 5),
    st.floats(),
    st.text(max_size=5),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
DTYPES = st.sampled_from(["<f4", "<f8", "<f2", "<i8", "<i4", "<u8", "|u1", "|b1", "<U3", "|S2", "<c8", "<M8[s]", ">i8"])


@st.composite
def changed_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Bytes of which up to four parts are cut, overwritten, inserted, repeated or moved, or other bytes."""
    result = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(result)))
        length = draw(st.integers(0, 16) | st.integers(0, len(content)))
        number = draw(st.sampled_from(NUMBERS))
        new = draw(
            st.one_of(
                st.binary(max_size=8),
                st.just((number % 2**64).to_bytes(8, "little")),
                st.sampled_from([*map(str, NUMBERS), *TEXTS, "\n", '"', "[[[[", "{", ",", "'", "\t", "\r\n"]).map(
                    str.encode
                ),
                st.just(bytes(result[at : at + 40])),
            )
        )
        match draw(st.sampled_from(["cut", "overwrite", "insert", "end"])):
            case "cut":
                del result[at : at + length]
            case "overwrite":
                result[at : at + len(new)] = new
            case "insert":
                result[at:at] = new
            case _:
                del result[at:]
    return bytes(result)


@st.composite
def changed_value(draw: st.DrawFn, value: Any) -> Any:
    """A JSON value in which up to three parts are removed, replaced by others, or wrapped in a list."""
    root = {"": copy.deepcopy(value)}
    for _ in range(draw(st.integers(1, 3))):
        parent: Any = root
        key: Any = ""
        while isinstance(parent[key], dict | list) and parent[key] and draw(st.integers(0, 4)):
            parent, key = parent[key], draw(st.sampled_from(_keys(parent[key])))
        match draw(st.sampled_from(["replace", "replace", "remove", "wrap", "key"])):
            case "remove" if parent is not root:
                del parent[key]
            case "wrap":
                parent[key] = [parent[key]]
            case "key" if isinstance(parent, dict) and parent is not root:
                parent[draw(st.text(max_size=4) | st.sampled_from(TEXTS))] = parent.pop(key)
            case _:
                parent[key] = draw(VALUES)
    return root[""]


def _keys(value: Any) -> list[Any]:
    return list(value) if isinstance(value, dict) else [0, len(value) - 1]


def changed_json(content: bytes) -> st.SearchStrategy[bytes]:
    """JSON with changed values, or damaged as text."""
    values = changed_value(json.loads(content))
    return values.map(lambda value: json.dumps(value).encode()) | changed_bytes(content)


@st.composite
def changed_array(draw: st.DrawFn, array: NDArray[Any]) -> NDArray[Any]:
    """An array with some other values, of another type or shape, or another array."""
    match draw(st.sampled_from(["values", "values", "type", "shape", "other"])):
        case "values" if array.size:
            result = array.copy()
            index = draw(st.integers(0, array.size - 1))
            result.reshape(-1)[index] = draw(arrays.from_dtype(array.dtype))
            return result
        case "type":
            kinds = ["<U3", "|S4"] if array.dtype.kind in "US" else ["<f4", "<f8", "<i8", "<i4", "|u1", "|b1", "<U3"]
            with np.errstate(all="ignore"):
                return array.astype(draw(st.sampled_from(kinds)))
        case "shape":
            flat = array.reshape(-1)[: draw(st.integers(0, array.size))]
            return flat if draw(st.booleans()) else flat[None]
    return draw(arrays.arrays(draw(DTYPES), arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
