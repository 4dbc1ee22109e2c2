"""A column of any type as an exact one: accounts as text, wei as decimals, times as seconds, in Ibis expressions.

What cannot be read becomes null. Text is first replaced by a harmless constant where it cannot be read, so that no
engine meets a cast that fails. No float is ever made: engines round them differently.
"""

from typing import Any, TypeAlias

import ibis

from mggcn.errors import InputError

Column: TypeAlias = Any
Table: TypeAlias = Any

WEI = "decimal(38,0)"
EMPTY = ("", "null", "none", "nan", "<na>", "0x")
"""How files spell that there is nothing, in lower case."""

_ETHER_PLACES = 18
_MOST_DIGITS = 28  # eighty times all ether there is; ten billion such values still fit into 38 digits
_HEX_DIGITS = 24
_BYTES = "_binary"  # how cryo's columns of bytes end, which it writes as text when asked for hexadecimal
_LATEST = 10**11  # seconds; what is larger is in milliseconds
_DAY_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?( ?UTC|Z|[+]00(:?00)?)?$"


def _hex(value: bytes) -> str:
    """The engines' own function of this name."""
    raise NotImplementedError


_HEX = ibis.udf.scalar.builtin(_hex, name="hex")


def text(column: Column) -> Column:
    """The value as text, empty where there is none; bytes become 0x and lower-case hexadecimal digits."""
    if column.type().is_binary():
        column = ibis.literal("0x") + _HEX(column).lower()
    elif not column.type().is_string():
        column = column.cast("string")
    column = column.fill_null("")
    return column.lower().isin(EMPTY).ifelse("", column)


def integer(column: Column, digits: int = _MOST_DIGITS) -> Column:
    """A number that is not negative as ``decimal(38,0)``; null where it is none or has more digits."""
    kind = column.type()
    _refuse_floats(column)
    if kind.is_string():
        return _decimal_text(column, column.re_search(f"^0*[0-9]{{1,{digits}}}([.]0*)?$"))
    if kind.is_binary():
        return _from_hexadecimal(_HEX(column).lower())
    number = column.cast(WEI)
    return ((number >= 0) & (number < ibis.literal(10**digits, type=WEI))).ifelse(number, ibis.null(WEI))


def wei(column: Column) -> Column:
    """A value in wei as :func:`integer` has it; text in a column of bytes is 0x and hexadecimal digits."""
    if not (column.type().is_string() and column.get_name().endswith(_BYTES)):
        return integer(column)
    spelled = column.lower()
    readable = spelled.re_search("^0x[0-9a-f]+$").fill_null(False)
    digits = readable.ifelse(spelled.substr(len("0x")), "0")
    return readable.ifelse(_from_hexadecimal(digits), ibis.null(WEI))


def with_wei_of_ether(table: Table, name: str) -> Table:
    """The table with ``ether_wei``, from a column of decimals such as ``0.25``, ``3`` or ``7e-09``.

    ``ether_cut`` says whether digits below one wei were cut. Characters are moved, nothing is multiplied or divided.
    """
    column = table[name]
    _refuse_floats(column)
    spelled = column if column.type().is_string() else column.cast("string")
    valid = spelled.re_search("^([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,2})?$").fill_null(False)
    table = table.mutate(ether_safe=valid.ifelse(spelled, "0").lower(), ether_valid=valid)
    powers = table.ether_safe.contains("e").ifelse(table.ether_safe.re_replace("^.*e[+]?", ""), "0")
    table = table.mutate(ether_power=powers.cast("int64"), ether_safe=table.ether_safe.re_replace("e.*$", ""))
    fraction = table.ether_safe.contains(".").ifelse(table.ether_safe.re_replace("^.*[.]", ""), "")
    table = table.mutate(ether_shift=table.ether_power + _ETHER_PLACES - fraction.length())
    zeros = ibis.literal("0").repeat(ibis.greatest(table.ether_shift, 0))
    table = table.mutate(ether_digits=table.ether_safe.replace(".", "") + zeros)
    stay = ibis.greatest(table.ether_digits.length() + ibis.least(table.ether_shift, 0), 0)
    table = table.mutate(ether_stay=stay)
    table = table.mutate(ether_kept=ibis.literal("0") + table.ether_digits.substr(0, table.ether_stay))
    readable = table.ether_valid & table.ether_kept.re_search(f"^0*[0-9]{{1,{_MOST_DIGITS}}}$")
    rest = table.ether_digits.substr(table.ether_stay, table.ether_digits.length())
    return table.mutate(
        ether_wei=_decimal_text(table.ether_kept, readable), ether_cut=readable & rest.re_search("[1-9]")
    )


def seconds(column: Column) -> Column:
    """Seconds since 1970 in UTC from such seconds, a timestamp, or text of either."""
    kind = column.type()
    if kind.is_timestamp():
        return column.truncate("s").epoch_seconds().cast("int64")
    if not kind.is_string():
        return _in_range(integer(column))
    dated = column.re_search(_DAY_TIME)
    safe = dated.fill_null(False).ifelse(column, "1970-01-01 00:00:00")
    moment = (safe.substr(0, 10) + ibis.literal(" ") + safe.substr(11, 8)).try_cast("timestamp")
    return dated.fill_null(False).ifelse(moment.epoch_seconds().cast("int64"), _in_range(integer(column)))


def whole(number: Column) -> Column:
    """An int64 on every engine, where a sum or a row number would be an int32 or a 128-bit integer."""
    return number.cast(WEI).cast("int64")


def _decimal_text(column: Column, readable: Column) -> Column:
    """The number that the digits of a readable text stand for, null for other text."""
    digits = readable.ifelse(column.re_replace("[.]0*$", ""), "0").cast(WEI)
    return readable.ifelse(digits, ibis.null(WEI))


def _in_range(number: Column) -> Column:
    return (number < _LATEST).ifelse(number, ibis.null(WEI)).cast("int64")


def _from_hexadecimal(digits: Column) -> Column:
    """The number that big-endian hexadecimal digits stand for; null past 24 digits."""
    padded = (ibis.literal("0" * _HEX_DIGITS) + digits.re_replace("^0+", "")).right(_HEX_DIGITS)
    places = [
        ibis.literal("0123456789abcdef").find(padded.substr(place, 1)).cast(WEI)
        * ibis.literal(16 ** (_HEX_DIGITS - 1 - place), type=WEI)
        for place in range(_HEX_DIGITS)
    ]
    fits = digits.re_search(f"^0*[0-9a-f]{{0,{_HEX_DIGITS}}}$")
    return fits.ifelse(sum(places[1:], places[0]).cast(WEI), ibis.null(WEI))


def _refuse_floats(column: Column) -> None:
    if column.type().is_floating():
        raise InputError(
            f"column {column.get_name()!r} holds {column.type()}, which cannot hold wei exactly; "
            "export it as text or as a decimal"
        )
