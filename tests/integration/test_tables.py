"""More than columns and rows: partitions, generated and dropped columns, inheritance."""

import pytest

from harness import Number


def test_partitioned_table_is_seen_through_its_root(each_db, pipeline):
    each_db.execute(
        "CREATE TABLE sales (id int, region text, v int, PRIMARY KEY (region, id))"
        " PARTITION BY LIST (region)",
        "CREATE TABLE sales_eu PARTITION OF sales FOR VALUES IN ('eu')",
        # Another column order underneath must not show.
        "CREATE TABLE sales_us (v int, gone int, region text NOT NULL, id int NOT NULL)",
        "ALTER TABLE sales_us DROP COLUMN gone",
        "ALTER TABLE sales ATTACH PARTITION sales_us FOR VALUES IN ('us')",
    )
    kaptanto = pipeline(each_db, tables=["sales"]).start_streaming()
    each_db.execute(
        "INSERT INTO sales VALUES (1, 'eu', 10), (2, 'us', 20)",
        "CREATE TABLE sales_asia PARTITION OF sales FOR VALUES IN ('asia')",
        "INSERT INTO sales VALUES (3, 'asia', 30)",
        "UPDATE sales SET v = 31 WHERE region = 'asia'",
        "DELETE FROM sales WHERE region = 'us'",
    )
    events = kaptanto.drain()

    assert {(e.schema, e.table) for e in events} == {("public", "sales")}
    assert [e.operation for e in events] == ["insert", "insert", "insert", "update", "delete"]
    assert events[1].after == {"id": Number(2), "region": "us", "v": Number(20)}
    assert events[2].key == {"region": "asia", "id": Number(3)}
    assert events[4].before == {"id": Number(2), "region": "us"}


def test_row_that_moves_between_partitions_is_a_delete_and_an_insert(each_db, pipeline):
    each_db.execute(
        "CREATE TABLE p (id int PRIMARY KEY, v int) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)",
        "INSERT INTO p VALUES (1, 1)",
    )
    kaptanto = pipeline(each_db, tables=["p"]).start_streaming()
    each_db.execute("UPDATE p SET id = 11")
    events = kaptanto.drain()

    assert [(e.table, e.operation, e.key["id"]) for e in events] == [
        ("p", "delete", Number(1)), ("p", "insert", Number(11))
    ]


def test_truncate_of_a_partitioned_table(each_db, pipeline):
    each_db.execute(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)",
    )
    kaptanto = pipeline(each_db, tables=["p"]).start_streaming()
    each_db.execute("TRUNCATE p")
    (event,) = kaptanto.drain()

    assert (event.operation, event.table) == ("truncate", "p")


def test_nested_partitions(each_db, pipeline):
    each_db.execute(
        "CREATE TABLE p (a int, b int, PRIMARY KEY (a, b)) PARTITION BY LIST (a)",
        "CREATE TABLE p_1 PARTITION OF p FOR VALUES IN (1) PARTITION BY LIST (b)",
        "CREATE TABLE p_1_1 PARTITION OF p_1 FOR VALUES IN (1)",
    )
    kaptanto = pipeline(each_db, tables=["p"]).start_streaming()
    each_db.execute("INSERT INTO p VALUES (1, 1)")
    (event,) = kaptanto.drain()

    assert (event.table, event.after) == ("p", {"a": Number(1), "b": Number(1)})


def test_glob_over_a_partitioned_table_gives_each_row_once(each_db, pipeline):
    each_db.execute(
        "CREATE TABLE log (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (10) TO (20)",
    )
    kaptanto = pipeline(each_db, tables=["log*"]).start_streaming()
    each_db.execute("INSERT INTO log VALUES (1), (11)")
    events = kaptanto.drain()

    assert sorted(str(e.after["id"]) for e in events) == ["1", "11"]


def test_inherited_tables_are_tables_of_their_own(db, pipeline):
    db.execute(
        "CREATE TABLE parent (id int PRIMARY KEY)",
        "CREATE TABLE child (extra int, PRIMARY KEY (id)) INHERITS (parent)",
    )
    kaptanto = pipeline(db, tables=["parent", "child"]).start_streaming()
    db.execute("INSERT INTO parent VALUES (1)", "INSERT INTO child VALUES (2, 3)")
    events = kaptanto.drain()

    assert [(e.table, e.after) for e in events] == [
        ("parent", {"id": Number(1)}), ("child", {"id": Number(2), "extra": Number(3)})
    ]


def test_generated_columns(each_db, pipeline):
    """Servers before 18 never send them; 18 can, and a managed publication asks for stored ones."""
    each_db.execute(
        "CREATE TABLE t (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED, v int)"
    )
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    each_db.execute("INSERT INTO t (id, v) VALUES (4, 1)", "UPDATE t SET v = 2")
    insert, update = kaptanto.drain()

    if each_db.cluster.version >= 18:
        assert insert.after == {"id": Number(4), "twice": Number(8), "v": Number(1)}
        assert update.after == {"id": Number(4), "twice": Number(8), "v": Number(2)}
    else:
        assert insert.after == {"id": Number(4), "v": Number(1)}
        assert update.after == {"id": Number(4), "v": Number(2)}


def test_identity_column_is_an_ordinary_column(db, pipeline):
    db.execute("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v int)")
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    db.execute("INSERT INTO t (v) VALUES (5)")
    (event,) = kaptanto.drain()

    assert event.after == {"id": Number(1), "v": Number(5)}


def test_columns_dropped_before_the_start_do_not_show(each_db, pipeline):
    each_db.execute(
        "CREATE TABLE t (a int, b text, id int PRIMARY KEY, c int)",
        "ALTER TABLE t DROP COLUMN a",
        "ALTER TABLE t DROP COLUMN c",
        "ALTER TABLE t ADD COLUMN d int DEFAULT 4",
    )
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    each_db.execute("INSERT INTO t (b, id) VALUES ('x', 1)")
    (event,) = kaptanto.drain()

    assert event.after == {"b": "x", "id": Number(1), "d": Number(4)}


def test_default_that_the_server_adds_without_a_rewrite(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1)")
    db.execute("ALTER TABLE t ADD COLUMN d text DEFAULT 'late'")
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    db.execute("UPDATE t SET v = 2")
    (event,) = kaptanto.drain()

    assert event.after == {"id": Number(1), "v": Number(2), "d": "late"}


@pytest.mark.parametrize("kind", ["UNLOGGED", "TEMPORARY"])
def test_tables_that_leave_no_wal_are_no_trouble(db, pipeline, kind):
    kaptanto = pipeline(db, config={"tables": None, "all-tables": True}).start_streaming()
    db.execute(f"CREATE {kind} TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")

    assert kaptanto.drain() == []


def test_copy_and_upsert_and_trigger_changes_are_seen(db, pipeline):
    db.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v int)",
        "CREATE TABLE audit (id serial PRIMARY KEY, t_id int)",
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN INSERT INTO public.audit (t_id) VALUES (NEW.id); RETURN NEW; END'",
        "CREATE TRIGGER note AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION note()",
    )
    kaptanto = pipeline(db, tables=["t", "audit"]).start_streaming()
    db.execute(
        "INSERT INTO t VALUES (1, 1)",
        "INSERT INTO t VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET v = excluded.v",
    )
    events = kaptanto.drain()

    assert [(e.table, e.operation) for e in events] == [
        ("t", "insert"), ("audit", "insert"), ("t", "update")
    ]
