"""Transactions that the server streams before they commit, and ones of any size."""

import pytest

from harness import Number


@pytest.fixture
def streamed(edge_db, pipeline):
    """A pipeline whose server streams every transaction above 64 kB."""
    edge_db.set(logical_decoding_work_mem="64kB")
    edge_db.execute("CREATE TABLE t (id bigint PRIMARY KEY, who text, pad text)")
    return pipeline(edge_db, tables=["t"])


def fill(cursor, first, last, who):
    cursor.execute(
        "INSERT INTO t SELECT i, %s, repeat('x', 100) FROM generate_series(%s::int, %s) i",
        (who, first, last),
    )


def ids(events):
    return [int(e.after["id"]) for e in events]


def streamed_transactions(db):
    return db.value(
        "SELECT stream_txns FROM pg_stat_replication_slots WHERE slot_name = 'kaptanto_default'"
    )


def test_rolled_back_savepoint_removes_only_its_own_rows(streamed):
    db = streamed.db
    streamed.start_streaming()
    with db.connect(autocommit=False).cursor() as cursor:
        fill(cursor, 1, 2000, "kept")
        cursor.execute("SAVEPOINT a")
        fill(cursor, 2001, 4000, "lost")
        cursor.execute("SAVEPOINT b")
        fill(cursor, 4001, 5000, "lost too")
        cursor.execute("RELEASE b")
        cursor.execute("ROLLBACK TO a")
        fill(cursor, 5001, 7000, "kept")
        cursor.execute("SAVEPOINT c")
        fill(cursor, 7001, 8000, "kept")
        cursor.execute("RELEASE c")
        cursor.connection.commit()
    events = streamed.drain()

    assert ids(events) == [*range(1, 2001), *range(5001, 8001)]
    assert [e.seq for e in events] == list(range(5000))
    assert len({e.idempotency_key for e in events}) == 5000
    assert streamed_transactions(db) > 0, "the server did stream it"


def test_aborted_transaction_leaves_nothing(streamed):
    db = streamed.db
    streamed.start_streaming()
    with db.connect(autocommit=False).cursor() as cursor:
        fill(cursor, 1, 5000, "lost")
        cursor.connection.rollback()
        fill(cursor, 1, 10, "kept")
        cursor.connection.commit()

    assert ids(streamed.drain()) == list(range(1, 11))


def test_interleaved_large_transactions_stay_whole(streamed):
    db = streamed.db
    streamed.start_streaming()
    sessions = [db.connect(autocommit=False).cursor() for _ in range(4)]
    for part in range(5):
        for number, cursor in enumerate(sessions):
            first = number * 100_000 + part * 1000
            fill(cursor, first, first + 999, f"session {number}")
            if part == 2:
                cursor.execute("SAVEPOINT s")
                fill(cursor, first + 50_000, first + 50_999, "lost")
                cursor.execute("ROLLBACK TO s")
        db.execute(f"INSERT INTO t VALUES ({900_000 + part}, 'small', '')")
    for number in (2, 0, 3):
        sessions[number].connection.commit()
    sessions[1].connection.rollback()
    events = streamed.drain()

    runs = []
    for event in events:
        if not runs or runs[-1][0] != event.tx_id:
            runs.append((event.tx_id, []))
        runs[-1][1].append(event)
    assert len({xid for xid, _ in runs}) == len(runs), "no transaction is split"
    whole = [part for _, part in runs]
    assert [part[0].after["who"] for part in whole] == ["small"] * 5 + [
        "session 2", "session 0", "session 3"
    ]
    for part, number in zip(whole[5:], (2, 0, 3)):
        assert ids(part) == list(range(number * 100_000, number * 100_000 + 5000))
        assert [e.seq for e in part] == list(range(5000))


def test_streaming_can_be_turned_off(streamed):
    db = streamed.db
    streamed.config["postgres"] = {"streaming": False}
    streamed.start_streaming()
    with db.connect(autocommit=False).cursor() as cursor:
        fill(cursor, 1, 3000, "kept")
        cursor.connection.commit()

    assert ids(streamed.drain()) == list(range(1, 3001))
    assert streamed_transactions(db) == 0


def test_nothing_of_an_open_transaction_is_visible(streamed):
    db = streamed.db
    streamed.start_streaming()
    cursor = db.connect(autocommit=False).cursor()
    fill(cursor, 1, 20_000, "open")
    db.execute("INSERT INTO t VALUES (1000000, 'small', '')")
    assert ids(streamed.drain()) == [1_000_000]
    cursor.connection.commit()

    assert ids(streamed.drain())[1:] == list(range(1, 20_001))


def test_restart_in_the_middle_of_a_streamed_transaction(streamed):
    """Parts that were received before a stop or a kill are not counted twice."""
    db = streamed.db
    streamed.start_streaming()
    cursor = db.connect(autocommit=False).cursor()
    fill(cursor, 1, 5000, "a")
    db.execute("INSERT INTO t VALUES (1000000, 'small', '')")
    assert ids(streamed.drain()) == [1_000_000]
    streamed.stop()
    fill(cursor, 5001, 10_000, "b")
    streamed.start_streaming()
    fill(cursor, 10_001, 15_000, "c")
    db.execute("INSERT INTO t VALUES (1000001, 'small', '')")
    assert ids(streamed.drain()) == [1_000_001]
    streamed.kill()
    cursor.connection.commit()
    streamed.start_streaming()
    events = [e for e in streamed.drain() if e.after["who"] != "small"]

    assert ids(events) == list(range(1, 15_001))


def test_schema_change_inside_a_streamed_transaction(streamed):
    db = streamed.db
    streamed.start_streaming()
    with db.connect(autocommit=False).cursor() as cursor:
        fill(cursor, 1, 2000, "old")
        cursor.execute("ALTER TABLE t ADD COLUMN extra int DEFAULT 5")
        fill(cursor, 2001, 4000, "new")
        cursor.connection.commit()
    events = streamed.drain()
    controls = [e for e in events if e.operation == "control"]
    rows = [e for e in events if e.operation == "insert"]

    assert ids(rows) == list(range(1, 4001))
    assert all(("extra" in e.after) == (e.after["who"] == "new") for e in rows)
    assert len(controls) == 1
    assert events.index(controls[0]) == 2000


def test_updates_and_deletes_in_a_streamed_transaction(streamed):
    db = streamed.db
    db.execute("INSERT INTO t SELECT i, 'before', '' FROM generate_series(1, 3000) i")
    streamed.start_streaming()
    db.transaction(
        "UPDATE t SET who = 'updated'",
        "UPDATE t SET id = id + 10000 WHERE id <= 1000",
        "DELETE FROM t WHERE id > 2000",
    )
    events = streamed.drain()

    assert [e.operation for e in events] == (
        ["update"] * 3000 + ["update"] * 1000 + ["delete"] * 2000
    )
    moved = events[3000]
    assert (moved.before, moved.key) == ({"id": Number(1)}, {"id": Number(10001)})


@pytest.mark.parametrize("streaming", [True, False])
def test_memory_stays_flat_in_a_transaction_of_300000_rows(db, pipeline, streaming):
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY, pad text)")
    kaptanto = pipeline(db, tables=["t"], config={"postgres": {"streaming": streaming}})
    db.set(logical_decoding_work_mem="1MB")
    kaptanto.start_streaming(reading="count")
    db.execute(
        "INSERT INTO t SELECT i, repeat(md5(i::text), 8) FROM generate_series(1, 300000) i"
    )
    kaptanto.wait_lines(300_000, timeout=120)

    assert kaptanto.rss_peak() <= 100 << 20, f"{kaptanto.rss_peak() >> 20} MB"
