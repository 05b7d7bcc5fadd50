"""Differential oracle: for generated rows of every type, the event holds what the server prints.

Two oracles: the type's own output function (as `format('%s', v)` gives it under our session
settings), with array structure taken from unnest() and array_length(); and to_json() where it is
defined the same way.
"""

import io

import pytest

from harness import Number
from harness.events import parse_json
from harness.value_oracle import expectations, mismatch, sql_of
from harness.value_types import DEFINITIONS, EXTENSIONS, all_columns, rows_of

SEED = 20260726
ROWS = {14: 1500, 15: 3000, 16: 1500, 17: 1500, 18: 3000}

PINNED = [
    "SET client_encoding = 'UTF8'",
    "SET datestyle = 'ISO'",
    "SET intervalstyle = 'postgres'",
    "SET timezone = 'UTC'",
    "SET extra_float_digits = 1",
    "SET bytea_output = 'hex'",
]


def prepare_types(db):
    for extension in EXTENSIONS:
        db.execute(f"CREATE EXTENSION {extension}")
    db.execute(*DEFINITIONS, *PINNED)


def server_has_xml(db):
    try:
        db.execute("SELECT '<a/>'::xml")
    except Exception as fault:
        assert "unsupported XML feature" in str(fault)
        return False
    return True


def copy_escape(text):
    if text is None:
        return "\\N"
    for plain, escaped in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return text


def copy_rows(db, table, rows):
    data = "".join("\t".join(map(copy_escape, row)) + "\n" for row in rows)
    with db.connection.cursor() as cursor:
        cursor.copy_expert(f"COPY {table} FROM STDIN", io.StringIO(data))


def test_values_of_every_type(each_db, pipeline):
    db = each_db
    prepare_types(db)
    columns = all_columns(with_xml=server_has_xml(db))
    count = ROWS[db.cluster.version]
    declared = ", ".join(f'"{column.name}" {column.sql}' for column in columns)
    db.execute(f"CREATE TABLE every_type (row_id int PRIMARY KEY, {declared})")
    kaptanto = pipeline(db, tables=["every_type"]).start_streaming()
    rows = rows_of(columns, count, SEED)
    copy_rows(db, "every_type", [[str(i), *row] for i, row in enumerate(rows)])
    events = kaptanto.drain(timeout=120)

    assert len(events) == count
    check_output_functions(db, columns, events)
    check_to_json(db, columns, events)


def check_output_functions(db, columns, events):
    wanted = ", ".join(sql_of(column) for column in columns)
    faults = []
    for event, row in zip(events, db.rows(f"SELECT {wanted} FROM every_type ORDER BY row_id")):
        assert list(event.after) == ["row_id", *[column.name for column in columns]]
        for name, expected in expectations(columns, row).items():
            fault = mismatch(expected, event.after[name], event.raw)
            if fault:
                faults.append(f"row {event.after['row_id']}, {name}: {fault}")
    assert not faults, f"{len(faults)} wrong values (seed {SEED}):\n" + "\n".join(faults[:30])


def check_to_json(db, columns, events):
    columns = [column for column in columns if column.to_json]
    wanted = ", ".join(f'to_json("{column.name}")::text' for column in columns)
    faults = []
    for event, row in zip(events, db.rows(f"SELECT {wanted} FROM every_type ORDER BY row_id")):
        for column, text in zip(columns, row):
            expected = None if text is None else parse_json(text)
            if expected != event.after[column.name]:
                faults.append(f"row {event.after['row_id']}, {column.name}: to_json says"
                              f" {expected!r}, the event {event.after[column.name]!r}")
    assert not faults, f"{len(faults)} wrong values (seed {SEED}):\n" + "\n".join(faults[:30])


def test_numeric_of_the_greatest_length(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY, v numeric)")
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    whole, part = "9" * 131072, "7" * 16383
    each_db.execute(
        f"INSERT INTO t VALUES (1, {whole}.{part})",
        f"INSERT INTO t VALUES (2, -{whole}.{part})",
        f"INSERT INTO t VALUES (3, 0.{'0' * 16382}1)",
    )
    values = [event.after["v"] for event in kaptanto.drain()]

    assert values[0] == Number(f"{whole}.{part}")
    assert values[1] == Number(f"-{whole}.{part}")
    assert values[2] == Number(f"0.{'0' * 16382}1")


def test_values_of_a_megabyte(each_db, pipeline):
    each_db.execute(
        "CREATE TABLE t (id int PRIMARY KEY, words text, bytes bytea, js json, jsb jsonb,"
        " list int[], texts text[])",
        "ALTER TABLE t REPLICA IDENTITY FULL",
    )
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    words = 'a"b\\c\n' * 180_000
    js = '{"k" : "' + "x" * 1_000_000 + '",\n "n": [' + ",".join(["1.0"] * 10_000) + "]}"
    with each_db.connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO t VALUES (1, %s, decode(repeat('00ff5c22', 262144), 'hex'), %s, %s,"
            " ARRAY(SELECT generate_series(1, 150000)), ARRAY[%s, NULL, %s])",
            (words, js, js, words, words),
        )
        cursor.execute("UPDATE t SET id = 2")
    insert, update = kaptanto.drain(timeout=60)

    assert insert.after["words"] == words
    assert insert.after["bytes"] == "\\x" + "00ff5c22" * 262144
    assert js.replace("\n", " ").encode() in insert.raw
    assert insert.after["list"] == [Number(i) for i in range(1, 150001)]
    assert insert.after["texts"] == [words, None, words]
    assert update.before == insert.after
    assert update.after == {**insert.after, "id": Number(2)}


def test_keys_of_many_types_render_like_values(each_db, pipeline):
    db = each_db
    prepare_types(db)
    columns = [
        column for column in all_columns(with_xml=False)
        if column.name in ("int8", "num", "float8", "flag", "words", "bytes", "stamp", "moment",
                           "day", "span", "guid", "ip", "feeling", "d_price", "ci", "comp",
                           "a_int4",
                           "a_words", "r_int4", "padded")
    ]
    for column in columns:
        db.execute(f"CREATE TABLE key_{column.name} (k {column.sql} PRIMARY KEY)")
    kaptanto = pipeline(db, tables=[f"key_{column.name}" for column in columns]).start_streaming()
    for column in columns:
        with db.connection.cursor() as cursor:
            for value in column.edges:
                cursor.execute(f"INSERT INTO key_{column.name} VALUES (%s) ON CONFLICT DO NOTHING",
                               (value,))
        db.execute(f"DELETE FROM key_{column.name}")
    events = kaptanto.drain()

    assert {event.table for event in events} == {f"key_{column.name}" for column in columns}
    inserted = {}
    for event in events:
        at = (event.table, repr(event.key))
        if event.operation == "insert":
            assert event.key == event.after
            inserted[at] = event
        else:
            assert event.operation == "delete" and event.key == event.before
            assert at in inserted, f"deleted key {event.key} was never inserted in this form"


@pytest.fixture
def numbers(db):
    db.execute(
        "CREATE TABLE t (id bigint PRIMARY KEY, n numeric, f float8, s smallint, b boolean,"
        " big bigint[], ns numeric[], j jsonb, at timestamptz)"
    )
    return db


NUMBERS = (
    "INSERT INTO t VALUES (9007199254740993, 1.50, 0.5, 7, true, '{1,NULL}', '{2.0,NaN}',"
    " '{\"a\":1}', '2026-01-02 03:04:05Z')"
)


def test_int8_as_string(numbers, pipeline):
    kaptanto = pipeline(numbers, tables=["t"], config={"values": {"int8": "string"}})
    kaptanto.start_streaming()
    numbers.execute(NUMBERS)
    (event,) = kaptanto.drain()

    assert event.after["id"] == "9007199254740993"
    assert event.key == {"id": "9007199254740993"}
    assert event.after["big"] == ["1", None]
    assert event.after["n"] == Number("1.50")
    assert event.after["s"] == Number(7)


def test_numeric_as_string(numbers, pipeline):
    kaptanto = pipeline(numbers, tables=["t"], config={"values": {"numeric": "string"}})
    kaptanto.start_streaming()
    numbers.execute(NUMBERS)
    (event,) = kaptanto.drain()

    assert event.after["n"] == "1.50"
    assert event.after["ns"] == ["2.0", "NaN"]
    assert event.after["id"] == Number("9007199254740993")


def test_text_mode_gives_the_servers_text_for_all(numbers, pipeline):
    kaptanto = pipeline(numbers, tables=["t"], config={"values": {"mode": "text"}})
    kaptanto.start_streaming()
    numbers.execute(NUMBERS, "INSERT INTO t (id) VALUES (1)")
    event, nulls = kaptanto.drain()

    assert event.after == {
        "id": "9007199254740993", "n": "1.50", "f": "0.5", "s": "7", "b": "t", "big": "{1,NULL}",
        "ns": "{2.0,NaN}", "j": '{"a": 1}', "at": "2026-01-02 03:04:05+00",
    }
    assert set(nulls.after.values()) == {"1", None}


def test_session_defaults_of_the_database_do_not_show(db, pipeline):
    """The server's own output settings must not leak into events."""
    db.set(datestyle="German, DMY", intervalstyle="iso_8601", extra_float_digits="-3",
           bytea_output="escape", timezone="America/New_York")
    db.execute(
        "CREATE TABLE t (id int PRIMARY KEY, d date, s timestamp, z timestamptz, i interval,"
        " f float8, b bytea)"
    )
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    db.execute(
        "INSERT INTO t VALUES (1, '2026-01-02', '2026-01-02 03:04:05', '2026-01-02 03:04:05Z',"
        " '1 day 02:00', 0.1::float8 + 0.2, '\\x00ff')"
    )
    (event,) = kaptanto.drain()

    assert event.after == {
        "id": Number(1), "d": "2026-01-02", "s": "2026-01-02T03:04:05",
        "z": "2026-01-02T03:04:05Z", "i": "1 day 02:00:00", "f": Number("0.30000000000000004"),
        "b": "\\x00ff",
    }


def test_types_made_while_running_are_known(db, pipeline):
    """An enum array or domain that is newer than the stream still renders as what it is."""
    kaptanto = pipeline(db, config={"tables": None, "all-tables": True}).start_streaming()
    db.execute(
        "CREATE TYPE colour AS ENUM ('red', 'blue')",
        "CREATE DOMAIN amount AS numeric",
        "CREATE TABLE t (id int PRIMARY KEY, c colour, cs colour[], a amount, amounts amount[])",
        "INSERT INTO t VALUES (1, 'red', '{red,NULL,blue}', 1.50, '{1.0,NULL}')",
    )
    (event,) = [e for e in kaptanto.drain() if e.operation == "insert"]

    assert event.after == {
        "id": Number(1), "c": "red", "cs": ["red", None, "blue"], "a": Number("1.50"),
        "amounts": [Number("1.0"), None],
    }


def test_database_of_another_encoding(cluster, pipeline):
    """Text of a LATIN1 database arrives as UTF-8."""
    db = cluster.new_database(encoding="LATIN1")
    try:
        db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        kaptanto = pipeline(db, tables=["t"]).start_streaming()
        db.execute("INSERT INTO t VALUES (1, 'caf\u00e9 \u00df')")
        (event,) = kaptanto.drain()
        assert event.after["v"] == "caf\u00e9 \u00df"
        kaptanto.stop()
    finally:
        db.drop()
