"""What every supported server must give: each operation, its order, identity and metadata."""

import re

from harness import Number
from harness.events import FIELD_ORDER, parse_lsn

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def server_commit_time(db, xid):
    return db.value(
        "SELECT to_char(pg_xact_commit_timestamp(%s::text::xid) AT TIME ZONE 'UTC',"
        " 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
        (str(xid),),
    )


def test_insert_update_and_delete_arrive_in_order(each_db, pipeline):
    each_db.execute("CREATE TABLE orders (id int PRIMARY KEY, status text, paid boolean)")
    kaptanto = pipeline(each_db, tables=["orders"]).start_streaming()
    each_db.execute(
        "INSERT INTO orders VALUES (1, 'new', false)",
        "UPDATE orders SET status = 'paid', paid = true WHERE id = 1",
        "DELETE FROM orders WHERE id = 1",
    )
    insert, update, delete = kaptanto.drain()

    assert [e.operation for e in (insert, update, delete)] == ["insert", "update", "delete"]
    assert {(e.schema, e.table) for e in (insert, update, delete)} == {("public", "orders")}
    assert all(e.key == {"id": Number(1)} for e in (insert, update, delete))
    assert insert.before is None
    assert insert.after == {"id": Number(1), "status": "new", "paid": False}
    assert update.before is None
    assert update.after == {"id": Number(1), "status": "paid", "paid": True}
    assert delete.before == {"id": Number(1)}
    assert delete.after is None


def test_fields_come_in_the_documented_order(each_db, pipeline):
    each_db.execute("CREATE TABLE t (z int, a int, m int, PRIMARY KEY (m, z))")
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    each_db.execute("INSERT INTO t VALUES (1, 2, 3)")
    (event,) = kaptanto.drain()

    assert list(event.data) == FIELD_ORDER
    assert list(event.after) == ["z", "a", "m"], "columns in table order"
    assert list(event.key) == ["m", "z"], "key columns in index order"
    assert list(event.metadata)[:5] == ["lsn", "tx_id", "commit_ts", "seq", "snapshot"]
    assert event.data["source"] == "default"


def test_metadata_is_what_the_server_says(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    before = each_db.wal_position()
    xid = each_db.transaction("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    after = each_db.wal_position()
    events = kaptanto.drain()

    assert len(events) == 2
    commit_time = server_commit_time(each_db, xid)
    for index, event in enumerate(events):
        assert event.tx_id == xid & 0xFFFFFFFF
        assert event.seq == index
        assert event.metadata["snapshot"] is False
        assert event.metadata["commit_ts"] == commit_time
        assert event.data["timestamp"] == commit_time
        assert before <= event.lsn < after
        assert re.fullmatch(r"[0-9A-F]+/[0-9A-F]+", event.metadata["lsn"])
        assert isinstance(event.metadata["tx_id"], Number)
        assert isinstance(event.metadata["seq"], Number)


def test_idempotency_key_holds_source_table_key_operation_and_position(each_db, pipeline):
    each_db.execute("CREATE TABLE t (a text, b int, PRIMARY KEY (a, b))")
    kaptanto = pipeline(each_db, tables=["t"], config={"source-id": "shop_1"}).start_streaming()
    each_db.transaction("INSERT INTO t VALUES ('x:\"y', 1)", "DELETE FROM t")
    insert, delete = kaptanto.drain()

    lsn = insert.metadata["lsn"]
    key = r'{"a":"x:\"y","b":1}'
    assert insert.idempotency_key == f"shop_1:public.t:{key}:insert:{lsn}:0"
    assert delete.idempotency_key == f"shop_1:public.t:{key}:delete:{lsn}:1"
    assert insert.data["source"] == "shop_1"


def test_id_is_a_ulid_of_the_commit_time(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    xid = each_db.transaction(*[f"INSERT INTO t VALUES ({i})" for i in range(50)])
    events = kaptanto.drain()

    milliseconds = each_db.value(
        "SELECT floor(extract(epoch FROM pg_xact_commit_timestamp(%s::text::xid)) * 1000)::bigint",
        (str(xid),),
    )
    ids = [event.id for event in events]
    assert all(len(i) == 26 and set(i) <= set(CROCKFORD) for i in ids)
    decoded = 0
    for letter in ids[0][:10]:
        decoded = decoded * 32 + CROCKFORD.index(letter)
    assert decoded == milliseconds
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids), "ids sort in the order of the changes"


def test_transactions_are_not_mixed_and_keep_commit_order(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY, who text)")
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    first, second = each_db.connect(autocommit=False), each_db.connect(autocommit=False)
    with first.cursor() as a, second.cursor() as b:
        for i in range(0, 40, 2):
            a.execute("INSERT INTO t VALUES (%s, 'first')", (i,))
            b.execute("INSERT INTO t VALUES (%s, 'second')", (i + 1,))
    second.commit()
    first.commit()
    events = kaptanto.drain()

    assert [e.after["who"] for e in events] == ["second"] * 20 + ["first"] * 20
    assert [e.seq for e in events] == [*range(20), *range(20)]
    assert parse_lsn(events[0].metadata["lsn"]) < parse_lsn(events[-1].metadata["lsn"])


def test_rolled_back_work_is_never_seen(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    each_db.execute("BEGIN; INSERT INTO t VALUES (1); ROLLBACK")
    each_db.transaction(
        "INSERT INTO t VALUES (2)",
        "SAVEPOINT s",
        "INSERT INTO t VALUES (3)",
        "ROLLBACK TO s",
        "INSERT INTO t VALUES (4)",
    )
    assert [str(e.after["id"]) for e in kaptanto.drain()] == ["2", "4"]


def test_truncate_is_an_event(each_db, pipeline):
    each_db.execute(
        "CREATE TABLE t (id serial PRIMARY KEY, v int)", "INSERT INTO t (v) VALUES (1)"
    )
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    each_db.execute("TRUNCATE t", "TRUNCATE t RESTART IDENTITY")
    plain, restarting = kaptanto.drain()

    for event in (plain, restarting):
        assert event.operation == "truncate"
        assert (event.schema, event.table) == ("public", "t")
        assert (event.key, event.before, event.after) == ({}, None, None)
    assert plain.metadata["cascade"] is False
    assert plain.metadata["restart_identity"] is False
    assert restarting.metadata["restart_identity"] is True


def test_truncate_cascade_gives_one_event_per_table(each_db, pipeline):
    each_db.execute(
        "CREATE TABLE parent (id int PRIMARY KEY)",
        "CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent)",
        "CREATE TABLE bystander (id int PRIMARY KEY)",
    )
    kaptanto = pipeline(each_db, tables=["parent", "child", "bystander"]).start_streaming()
    each_db.execute("TRUNCATE parent CASCADE")
    events = kaptanto.drain()

    assert [e.operation for e in events] == ["truncate", "truncate"]
    assert {e.table for e in events} == {"parent", "child"}
    assert all(e.metadata["cascade"] is True for e in events)
    assert len({e.idempotency_key for e in events}) == 2
    assert [e.seq for e in events] == [0, 1]


def test_null_and_empty_text_are_told_apart(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY, a text, b text)")
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    each_db.execute("INSERT INTO t VALUES (1, NULL, '')")
    (event,) = kaptanto.drain()

    assert event.after == {"id": Number(1), "a": None, "b": ""}


def test_several_statements_on_one_row_are_all_events(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    each_db.transaction(
        "INSERT INTO t VALUES (1, 0)",
        *["UPDATE t SET v = v + 1"] * 5,
        "DELETE FROM t",
        "INSERT INTO t VALUES (1, 100)",
    )
    events = kaptanto.drain()

    assert [e.operation for e in events] == ["insert", *["update"] * 5, "delete", "insert"]
    assert [str(e.after["v"]) for e in events if e.after] == ["0", "1", "2", "3", "4", "5", "100"]
    assert len({e.idempotency_key for e in events}) == len(events)


def test_all_tables_follows_tables_made_later(each_db, pipeline):
    kaptanto = pipeline(each_db, config={"tables": None, "all-tables": True}).start_streaming()
    each_db.execute("CREATE TABLE later (id int PRIMARY KEY)", "INSERT INTO later VALUES (1)")
    events = kaptanto.drain()

    assert [(e.table, e.operation) for e in events if e.operation != "control"] == [
        ("later", "insert")
    ]
