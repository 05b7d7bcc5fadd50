"""A changed table shape: one control event before the first row of the new shape, and only then."""

import pytest

from harness import Number


def kinds(events):
    """(operation, number of columns) of each event."""
    return [(e.operation, len(e.after or {})) for e in events]


def assert_schema_control(event, table):
    assert event.operation == "control"
    assert (event.schema, event.table) == ("public", table)
    assert event.metadata["control_type"] == "schema_changed"
    assert event.idempotency_key


@pytest.fixture
def running(edge_db, pipeline):
    """A pipeline that has seen one row of table t."""
    edge_db.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    kaptanto = pipeline(edge_db, tables=["t"]).start_streaming()
    edge_db.execute("INSERT INTO t VALUES (1, 1)")
    assert kinds(kaptanto.drain()) == [("insert", 2)]
    return kaptanto


CHANGES = {
    "column added": ("ADD COLUMN w text", {"id": Number(2), "v": Number(2), "w": None}),
    "column dropped": ("DROP COLUMN v", {"id": Number(2)}),
    "column renamed": ("RENAME COLUMN v TO renamed", {"id": Number(2), "renamed": Number(2)}),
    "type changed": ("ALTER COLUMN v TYPE text", {"id": Number(2), "v": "2"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_change_while_running(running, change):
    statement, row = CHANGES[change]
    db = running.db
    db.execute(f"ALTER TABLE t {statement}")
    columns = "id" if change == "column dropped" else "id, " + list(row)[1]
    values = "2" if change == "column dropped" else "2, 2"
    db.execute(f"INSERT INTO t ({columns}) VALUES ({values})", "DELETE FROM t WHERE id = 2")
    _, control, insert, delete = running.drain()

    assert_schema_control(control, "t")
    assert insert.after == row
    assert delete.operation == "delete"


@pytest.mark.parametrize("change", CHANGES)
def test_change_while_down(running, change):
    statement, row = CHANGES[change]
    db = running.db
    running.stop()
    db.execute(f"ALTER TABLE t {statement}")
    columns = "id" if change == "column dropped" else "id, " + list(row)[1]
    values = "2" if change == "column dropped" else "2, 2"
    db.execute(f"INSERT INTO t ({columns}) VALUES ({values})")
    running.start_streaming()
    control, insert = running.drain()

    assert_schema_control(control, "t")
    assert insert.after == row


def test_no_control_event_without_a_change(running):
    db = running.db
    first = running.wait_streaming()
    db.execute(f"SELECT pg_terminate_backend({first})")
    db.wait_walsender(other_than=first)
    db.execute("INSERT INTO t VALUES (2, 2)", "ANALYZE t", "CREATE INDEX ON t (v)")
    db.execute("INSERT INTO t VALUES (3, 3)")
    assert kinds(running.drain()) == [("insert", 2)] * 3

    running.stop()
    running.start_streaming()
    db.execute("INSERT INTO t VALUES (4, 4)")
    assert kinds(running.drain()) == [("insert", 2)]


def test_change_inside_a_transaction_with_rows_of_both_shapes(running):
    running.db.transaction(
        "INSERT INTO t VALUES (2, 2)",
        "ALTER TABLE t ADD COLUMN w int DEFAULT 9",
        "INSERT INTO t VALUES (3, 3, 3)",
        "ALTER TABLE t DROP COLUMN v",
        "INSERT INTO t VALUES (4, 4)",
    )
    events = running.drain()[1:]

    assert kinds(events) == [
        ("insert", 2), ("control", 0), ("insert", 3), ("control", 0), ("insert", 2)
    ]
    assert len({e.tx_id for e in events}) == 1
    assert len({e.idempotency_key for e in events}) == len(events)
    assert [e.position for e in events] == sorted(e.position for e in events)


def test_table_dropped_and_made_again_with_another_shape(running):
    running.db.execute(
        "DROP TABLE t",
        "CREATE TABLE t (code text PRIMARY KEY, a int, b int)",
    )
    # A managed publication takes the new table in when kaptanto sets it up again.
    running.stop()
    running.start_streaming()
    running.db.execute("INSERT INTO t VALUES ('x', 1, 2)")
    control, insert = running.drain()

    assert_schema_control(control, "t")
    assert insert.key == {"code": "x"}
    assert insert.after == {"code": "x", "a": Number(1), "b": Number(2)}


def test_table_made_again_while_all_tables_are_captured(edge_db, pipeline):
    edge_db.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    kaptanto = pipeline(edge_db, config={"tables": None, "all-tables": True}).start_streaming()
    edge_db.execute("INSERT INTO t VALUES (1, 1)")
    edge_db.execute("DROP TABLE t", "CREATE TABLE t (code text PRIMARY KEY, a int, b int)")
    edge_db.execute("INSERT INTO t VALUES ('x', 1, 2)", "DELETE FROM t")
    first, control, insert, delete = kaptanto.drain()

    assert first.key == {"id": Number(1)}
    assert_schema_control(control, "t")
    assert insert.key == delete.key == {"code": "x"}


def test_changed_primary_key_changes_the_key_of_events(running):
    running.db.execute(
        "ALTER TABLE t DROP CONSTRAINT t_pkey", "ALTER TABLE t ADD PRIMARY KEY (v, id)"
    )
    running.db.execute("INSERT INTO t VALUES (2, 20)", "DELETE FROM t WHERE id = 2")
    events = [e for e in running.drain()[1:] if e.operation != "control"]

    assert [e.key for e in events] == [{"v": Number(20), "id": Number(2)}] * 2


def test_changed_replica_identity_shows_in_before(running):
    running.db.execute(
        "ALTER TABLE t REPLICA IDENTITY FULL", "UPDATE t SET v = 2", "DELETE FROM t"
    )
    update, delete = [e for e in running.drain()[1:] if e.operation != "control"]

    assert update.before == {"id": Number(1), "v": Number(1)}
    assert delete.before == {"id": Number(1), "v": Number(2)}
    assert update.key == delete.key == {"id": Number(1)}


def test_control_event_survives_kill_and_is_not_repeated(running):
    """Killed anywhere around the change, the log holds exactly one control event for it."""
    db = running.db
    db.execute("ALTER TABLE t ADD COLUMN w int", "INSERT INTO t VALUES (2, 2, 2)")
    first = running.drain()[1:]
    running.kill()
    db.execute("INSERT INTO t VALUES (3, 3, 3)")
    running.start_streaming()
    second = running.drain()
    by_id = {}
    for event in first + second:
        assert by_id.setdefault(event.id, event.raw) == event.raw

    controls = [e for e in by_id.values() if b'"operation":"control"' in e]
    assert len(controls) == 1
