"""What the configuration leaves out never arrives, and never holds the slot back."""

import pytest

from harness import Number, wait_until


def test_only_listed_columns_arrive(each_db, pipeline):
    each_db.execute(
        "CREATE TABLE users (id int PRIMARY KEY, name text, secret text)",
        "ALTER TABLE users REPLICA IDENTITY FULL",
    )
    config = {"tables": {"public.users": {"columns": ["name", "id"]}}}
    kaptanto = pipeline(each_db, config=config).start_streaming()
    each_db.execute(
        "INSERT INTO users VALUES (1, 'a', 'hush-1')",
        "UPDATE users SET secret = 'hush-2'",
        "DELETE FROM users",
    )
    insert, update, delete = kaptanto.drain()

    row = {"id": Number(1), "name": "a"}
    assert (insert.before, insert.after) == (None, row)
    assert (update.before, update.after) == (row, row)
    assert (delete.before, delete.after) == (row, None)
    assert all(b"hush" not in e.raw and b"secret" not in e.raw for e in (insert, update, delete))


def test_key_is_there_even_when_not_listed(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, a int, b int)")
    kaptanto = pipeline(db, config={"tables": {"t": {"columns": ["a"]}}}).start_streaming()
    db.execute("INSERT INTO t VALUES (1, 2, 3)", "DELETE FROM t")
    insert, delete = kaptanto.drain()

    assert insert.key == delete.key == {"id": Number(1)}
    assert insert.after == {"a": Number(2)}


def test_hidden_column_does_not_show_as_unchanged(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, a int, big text)",
               "ALTER TABLE t ALTER big SET STORAGE EXTERNAL")
    kaptanto = pipeline(db, config={"tables": {"t": {"columns": ["id", "a"]}}}).start_streaming()
    db.execute("INSERT INTO t VALUES (1, 1, repeat('x', 10000))", "UPDATE t SET a = 2")
    _, update = kaptanto.drain()

    assert update.after == {"id": Number(1), "a": Number(2)}
    assert b"big" not in update.raw


WHERE = {
    "n > 10": [11, 20, 100],
    "n >= 10 AND n < 100": [10, 11, 20],
    "NOT (n = 10 OR n = 11)": [9, 20, 100],
    "n IN (9, 100)": [9, 100],
    "s = 'ten'": [10],
    "s IS NULL": [9],
    "s IS NOT NULL AND s != 'ten'": [11, 20, 100],
    "paid = 'true'": [20],
    "after.n > 11": [20, 100],
    "": [9, 10, 11, 20, 100],
}


@pytest.mark.parametrize("where", WHERE)
def test_where_on_inserts(db, pipeline, where):
    db.execute("CREATE TABLE t (n numeric PRIMARY KEY, s text, paid boolean)")
    kaptanto = pipeline(db, config={"tables": {"public.t": {"where": where}}}).start_streaming()
    db.execute(
        "INSERT INTO t VALUES (9, NULL, false), (10, 'ten', false), (11, 'x', false),"
        " (20, 'x', true), (100, 'x', false)"
    )

    assert [int(e.after["n"]) for e in kaptanto.drain()] == WHERE[where]


def test_where_sees_the_old_row_of_a_delete(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v int)", "ALTER TABLE t REPLICA IDENTITY FULL")
    config = {"tables": {"t": {"where": "before.v = 1 AND after.v = 2 OR v = 3"}}}
    kaptanto = pipeline(db, config=config).start_streaming()
    db.execute(
        "INSERT INTO t VALUES (1, 1), (2, 5)",
        "UPDATE t SET v = 2 WHERE id = 1",
        "UPDATE t SET v = 3 WHERE id = 2",
        "DELETE FROM t WHERE id = 2",
        "DELETE FROM t WHERE id = 1",
    )
    events = kaptanto.drain()

    assert [(e.operation, int(e.key["id"])) for e in events] == [
        ("update", 1), ("update", 2), ("delete", 2)
    ]


def test_where_may_use_a_column_that_is_not_listed(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    config = {"tables": {"t": {"columns": ["id"], "where": "v = 1"}}}
    kaptanto = pipeline(db, config=config).start_streaming()
    db.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    (event,) = kaptanto.drain()

    assert event.after == {"id": Number(1)}


def test_only_listed_operations_arrive(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    config = {"tables": {"t": {"operations": ["insert", "delete"]}}}
    kaptanto = pipeline(each_db, config=config).start_streaming()
    each_db.execute(
        "INSERT INTO t VALUES (1, 1)", "UPDATE t SET v = 2", "DELETE FROM t", "TRUNCATE t"
    )

    assert [e.operation for e in kaptanto.drain()] == ["insert", "delete"]


def test_filtered_changes_are_counted_in_seq(db, pipeline):
    """seq numbers every row change of the transaction, so that filters do not renumber events."""
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    kaptanto = pipeline(db, config={"tables": {"t": {"where": "v = 1"}}}).start_streaming()
    db.transaction("INSERT INTO t VALUES (1, 0), (2, 1), (3, 0), (4, 1)")

    assert [e.seq for e in kaptanto.drain()] == [1, 3]


@pytest.mark.parametrize(
    ("pattern", "tables"),
    [
        ("shop.*", {"shop.orders", "shop.items"}),
        ("*.orders", {"shop.orders", "public.orders"}),
        ("orders*", {"shop.orders", "public.orders", "public.orders_2026"}),
        ("shop.orders", {"shop.orders"}),
        ('"shop"."orders"', {"shop.orders"}),
    ],
)
def test_table_globs(db, pipeline, pattern, tables):
    db.execute(
        "CREATE SCHEMA shop",
        "CREATE TABLE shop.orders (id int PRIMARY KEY)",
        "CREATE TABLE shop.items (id int PRIMARY KEY)",
        "CREATE TABLE orders (id int PRIMARY KEY)",
        "CREATE TABLE orders_2026 (id int PRIMARY KEY)",
    )
    kaptanto = pipeline(db, tables=[pattern]).start_streaming()
    for table in ("shop.orders", "shop.items", "orders", "orders_2026"):
        db.execute(f"INSERT INTO {table} VALUES (1)")

    assert {f"{e.schema}.{e.table}" for e in kaptanto.drain()} == tables


# -- a stream that has nothing for us still moves its slot -----------------------------------------


def assert_slot_follows(db, position, timeout=20):
    wait_until(
        lambda: db.slot().confirmed_flush >= position, timeout, "confirmed_flush_lsn moving on"
    )


def generate_wal(connection, table, megabytes):
    with connection.cursor() as cursor:
        for _ in range(megabytes):
            cursor.execute(
                f"INSERT INTO {table} SELECT i, repeat('x', 1000) FROM generate_series(1, 950) i"
            )


QUICK = {"postgres": {"status-interval": "500ms"}}


def test_filtered_out_rows_move_the_slot(db, pipeline):
    db.execute("CREATE TABLE t (id int, pad text)", "ALTER TABLE t REPLICA IDENTITY FULL")
    config = {**QUICK, "tables": {"t": {"where": "id = 0"}}}
    kaptanto = pipeline(db, config=config).start_streaming()
    generate_wal(db.connection, "t", 4)

    assert_slot_follows(db, db.wal_position())
    assert kaptanto.events == []


def test_rows_of_other_tables_move_the_slot(db, pipeline):
    db.execute("CREATE TABLE quiet (id int PRIMARY KEY)", "CREATE TABLE busy (id int, pad text)")
    pipeline(db, tables=["quiet"], config=QUICK).start_streaming()
    generate_wal(db.connection, "busy", 4)

    assert_slot_follows(db, db.wal_position())


def test_another_busy_database_does_not_make_the_server_retain_wal(each_cluster, each_db, pipeline):
    """Five segments of foreign WAL, a checkpoint each: at most about one segment is retained."""
    segment = 16 << 20
    other = each_cluster.new_database()
    try:
        each_db.execute("CREATE TABLE quiet (id int PRIMARY KEY)")
        other.execute("CREATE TABLE busy (id int, pad text)")
        pipeline(each_db, tables=["quiet"], config=QUICK).start_streaming()
        for _ in range(5):
            generate_wal(other.connection, "busy", 16)
            position = other.wal_position()
            assert_slot_follows(each_db, position)
            # restart_lsn follows a running-transactions record, which a checkpoint writes.
            other.execute("CHECKPOINT")
            wait_until(
                lambda: other.wal_position() - each_db.slot().restart <= segment,
                20, "restart_lsn moving on",
            )
    finally:
        other.drop()


def test_position_that_only_moved_idly_survives_a_restart(db, pipeline):
    """A restart after idle feedback is no gap: what was acknowledged was recorded."""
    db.execute("CREATE TABLE quiet (id int PRIMARY KEY)", "CREATE TABLE busy (id int, pad text)")
    kaptanto = pipeline(db, tables=["quiet"], config=QUICK).start_streaming()
    for number in range(3):
        generate_wal(db.connection, "busy", 1)
        assert_slot_follows(db, db.wal_position())
        if number % 2:
            kaptanto.kill()
        else:
            kaptanto.stop()
        db.execute(f"INSERT INTO quiet VALUES ({number})")
        kaptanto.start_streaming()
        assert [int(e.key["id"]) for e in kaptanto.drain()] == [number]
