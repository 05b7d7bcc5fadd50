"""Hostile names and very wide tables."""

import pytest

from harness import Number

NAMES = [
    'we"ird',
    "dots.in.name",
    "UPPER Case",
    "emoji 🦫 and ß",
    "back\\slash",
    "new\nline",
    "percent % s",
    "'single'",
    "select",
    "x" * 63,
    "é" * 31,
    "*",
]


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def test_hostile_table_and_column_names(each_db, pipeline):
    tables = [f'public.{quote(name)}' for name in NAMES]
    for name in NAMES:
        each_db.connection.cursor().execute(
            f"CREATE TABLE {quote(name)} ({quote(name)} int PRIMARY KEY, v text)"
        )
    kaptanto = pipeline(each_db, tables=tables).start_streaming()
    for name in NAMES:
        each_db.execute(f"INSERT INTO {quote(name)} VALUES (1, 'x')")
    events = kaptanto.drain()

    assert [e.table for e in events] == NAMES
    for name, event in zip(NAMES, events):
        assert event.key == {name: Number(1)}
        assert event.after == {name: Number(1), "v": "x"}
        assert f":public.{name}:" in event.idempotency_key


def test_same_table_name_in_two_schemas(each_db, pipeline):
    each_db.execute("CREATE SCHEMA north", "CREATE SCHEMA south")
    each_db.execute(
        "CREATE TABLE north.orders (id int PRIMARY KEY, v text)",
        "CREATE TABLE south.orders (v text, id int PRIMARY KEY)",
        "CREATE TABLE public.orders (id int PRIMARY KEY)",
    )
    kaptanto = pipeline(each_db, tables=["north.orders", "south.orders"]).start_streaming()
    each_db.execute(
        "INSERT INTO public.orders VALUES (1)",
        "INSERT INTO north.orders VALUES (1, 'n')",
        "INSERT INTO south.orders VALUES ('s', 1)",
    )
    north, south = kaptanto.drain()

    assert (north.schema, north.table, north.after["v"]) == ("north", "orders", "n")
    assert (south.schema, south.table, south.after["v"]) == ("south", "orders", "s")
    assert north.idempotency_key != south.idempotency_key


def test_names_may_be_quoted_in_parts(db, pipeline):
    db.execute('CREATE SCHEMA "My Schema"', 'CREATE TABLE "My Schema"."A.b" (id int PRIMARY KEY)')
    kaptanto = pipeline(db, tables=['"My Schema"."A.b"']).start_streaming()
    db.execute('INSERT INTO "My Schema"."A.b" VALUES (1)')
    (event,) = kaptanto.drain()

    assert (event.schema, event.table) == ("My Schema", "A.b")


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_sixteen_hundred_columns(db, pipeline, identity):
    columns = ", ".join(f"c{i} smallint" for i in range(1, 1600))
    db.execute(f"CREATE TABLE wide (id int PRIMARY KEY, {columns})")
    db.execute(f"ALTER TABLE wide REPLICA IDENTITY {identity}")
    kaptanto = pipeline(db, tables=["wide"]).start_streaming()
    values = ", ".join("NULL" if i % 3 == 0 else str(i % 10) for i in range(1, 1600))
    db.execute(
        f"INSERT INTO wide VALUES (1, {values})", "UPDATE wide SET c1599 = 7", "DELETE FROM wide"
    )
    insert, update, delete = kaptanto.drain()

    assert len(insert.after) == 1600
    assert insert.after == {
        "id": Number(1),
        **{f"c{i}": None if i % 3 == 0 else Number(i % 10) for i in range(1, 1600)},
    }
    assert update.after == {**insert.after, "c1599": Number(7)}
    assert len(delete.before) == (1600 if identity == "FULL" else 1)


def test_a_key_of_thirty_two_columns(db, pipeline):
    names = [f"k{i:02}" for i in range(32)]
    columns = ", ".join(f"{name} int" for name in names)
    order = list(reversed(names))
    db.execute(f"CREATE TABLE t ({columns}, PRIMARY KEY ({', '.join(order)}))")
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    db.execute(f"INSERT INTO t VALUES ({', '.join(map(str, range(32)))})")
    (event,) = kaptanto.drain()

    assert list(event.key) == order
