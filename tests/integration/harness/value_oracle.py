"""What the server itself says a value is, as the JSON that an event must hold.

Array structure comes from unnest() and array_length(), never from parsing array text here.
"""

import re

from harness.events import Number, parse_json
from harness.value_types import BOOLEAN, JSON, NUMBER, TEXT, TIMESTAMP, TIMESTAMPTZ

_NOT_FINITE = {"NaN", "Infinity", "-Infinity"}
_MOMENT = re.compile(r"(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(\+00)?")


class JsonText(str):
    """JSON that must stand in the line as it is."""

    __slots__ = ()


def sql_of(column):
    """An expression for the column's value: a text, or texts and dimensions of an array."""
    name = f'"{column.name}"'
    if not column.array:
        return f"CASE WHEN {name} IS DISTINCT FROM NULL THEN format('%s', {name}) END"
    return (
        f"CASE WHEN {name} IS DISTINCT FROM NULL"
        " THEN ARRAY(SELECT CASE WHEN u IS DISTINCT FROM NULL"
        f" THEN format('%s', u) END FROM (SELECT unnest({name}) AS u) s) END,"
        f" ARRAY(SELECT array_length({name}, d)"
        f" FROM generate_series(1, coalesce(array_ndims({name}), 0)) d)"
    )


def expected_scalar(kind, text):
    if text is None:
        return None
    if kind == NUMBER:
        return text if text in _NOT_FINITE else Number(text)
    if kind == BOOLEAN:
        return {"t": True, "f": False}[text]
    if kind == JSON:
        return JsonText(text.replace("\n", " ").replace("\r", " "))
    if kind in (TIMESTAMP, TIMESTAMPTZ):
        found = _MOMENT.fullmatch(text)
        if not found:
            return text
        day, clock, zone = found.groups()
        assert bool(zone) == (kind == TIMESTAMPTZ), text
        return f"{day}T{clock}" + ("Z" if zone else "")
    assert kind == TEXT
    return text


def expected_array(kind, texts, lengths):
    if texts is None:
        return None
    elements = iter([expected_scalar(kind, text) for text in texts])

    def build(depth):
        if depth == len(lengths):
            return next(elements)
        return [build(depth + 1) for _ in range(lengths[depth])]

    return build(0) if lengths else []


def expectations(columns, row):
    """Expected values by column name. `row` holds the results of sql_of() in order."""
    result = {}
    cells = iter(row)
    for column in columns:
        if column.array:
            result[column.name] = expected_array(column.kind, next(cells), next(cells))
        else:
            result[column.name] = expected_scalar(column.kind, next(cells))
    return result


def mismatch(expected, actual, raw):
    """Why `actual` (out of the line `raw`) is not `expected`; None when it is."""
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"expected {expected!r}, got {actual!r}"
        faults = (mismatch(e, a, raw) for e, a in zip(expected, actual))
        return next((fault for fault in faults if fault), None)
    if isinstance(expected, JsonText):
        if expected.encode() not in raw:
            return f"JSON is not verbatim: {expected!r}, got {actual!r}"
        expected = parse_json(expected)
    if type(expected) is not type(actual) or expected != actual:
        return f"expected {expected!r}, got {actual!r}"
    return None
