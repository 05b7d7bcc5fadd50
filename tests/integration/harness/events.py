"""The lines that kaptanto writes, parsed without losing a digit."""

import json


class Number(str):
    """A JSON number as the text it was written in. Never equal to a plain string."""

    __slots__ = ()

    def __eq__(self, other):
        return isinstance(other, Number) and str.__eq__(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self):
        return f"Number({str(self)})"


def _reject_constant(text):
    raise ValueError(f"{text} is not JSON")


def parse_json(text):
    """Parses JSON; numbers become Number."""
    return json.loads(
        text, parse_float=Number, parse_int=Number, parse_constant=_reject_constant
    )


FIELD_ORDER = [
    "id",
    "idempotency_key",
    "timestamp",
    "source",
    "operation",
    "schema",
    "table",
    "key",
    "before",
    "after",
    "metadata",
]


class Event:
    """One event line. `raw` keeps its bytes, `data` the parsed object."""

    __slots__ = ("raw", "data")

    def __init__(self, raw):
        self.raw = raw
        self.data = parse_json(raw.decode("utf-8"))

    @property
    def id(self):
        return self.data["id"]

    @property
    def idempotency_key(self):
        return self.data["idempotency_key"]

    @property
    def operation(self):
        return self.data["operation"]

    @property
    def schema(self):
        return self.data["schema"]

    @property
    def table(self):
        return self.data["table"]

    @property
    def key(self):
        return self.data["key"]

    @property
    def before(self):
        return self.data["before"]

    @property
    def after(self):
        return self.data["after"]

    @property
    def metadata(self):
        return self.data["metadata"]

    @property
    def tx_id(self):
        return int(self.metadata["tx_id"])

    @property
    def seq(self):
        return int(self.metadata["seq"])

    @property
    def lsn(self):
        return parse_lsn(self.metadata["lsn"])

    @property
    def position(self):
        return (self.lsn, self.seq)

    def __repr__(self):
        text = self.raw.decode("utf-8", "replace").rstrip()
        return f"Event({text[:400]})"


def parse_line(raw):
    """Parses one line, which must end in a line break and hold no other."""
    assert raw.endswith(b"\n"), f"unfinished line: {raw[:200]!r}"
    return Event(raw)


def parse_lsn(text):
    high, low = text.split("/")
    return (int(high, 16) << 32) | int(low, 16)
