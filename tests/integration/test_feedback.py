"""The server hears from us in time whatever our reader does."""

import pytest

from harness import wait_until
from harness.waiting import hold_for


def load(db, rows=60_000):
    db.execute(
        f"INSERT INTO t SELECT i, repeat('x', 300) FROM generate_series(1, {rows}) i"
    )


@pytest.mark.parametrize("timeout", [1, 3])
def test_blocked_reader_does_not_lose_the_connection(each_db, pipeline, timeout):
    """Nobody reads the pipe for more than three times wal_sender_timeout."""
    each_db.set(wal_sender_timeout=f"{timeout}s")
    each_db.execute("CREATE TABLE t (id bigint PRIMARY KEY, pad text)")
    kaptanto = pipeline(each_db, tables=["t"])
    pid = kaptanto.start(reading="later").wait_streaming()
    load(each_db)
    hold_for(3.5 * timeout, lambda: each_db.walsender() == pid, "the same walsender")
    # Meanwhile everything went into the journal and was acknowledged.
    position = each_db.wal_position()
    wait_until(lambda: each_db.slot().confirmed_flush >= position, 20, "acknowledged")
    kaptanto.read_stdout()

    assert len(kaptanto.drain()) == 60_000
    assert each_db.walsender() == pid


def test_idle_connection_stays(db, pipeline):
    db.set(wal_sender_timeout="1s")
    kaptanto = pipeline(db)
    pid = kaptanto.start_streaming().wait_streaming()
    hold_for(4, lambda: db.walsender() == pid, "the same walsender")


def test_large_transaction_longer_than_the_timeout(db, pipeline):
    """While the server decodes and we spill, feedback goes on."""
    db.set(wal_sender_timeout="1s", logical_decoding_work_mem="64kB")
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY, pad text)")
    kaptanto = pipeline(db, tables=["t"])
    pid = kaptanto.start(reading="count").wait_streaming()
    cursor = db.connect(autocommit=False).cursor()
    for part in range(15):
        cursor.execute(
            "INSERT INTO t SELECT i, repeat('x', 100)"
            f" FROM generate_series({part * 10_000}, {part * 10_000 + 9_999}) i"
        )
        cursor.execute("SELECT pg_sleep(0.25)")
    cursor.connection.commit()
    kaptanto.wait_lines(150_000)

    assert db.walsender() == pid


def test_position_moves_when_the_server_never_asks(db, pipeline):
    """With wal_sender_timeout=0 the server requests no reply."""
    db.set(wal_sender_timeout="0")
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY, pad text)")
    kaptanto = pipeline(db, tables=["t"], config={"postgres": {"status-interval": "500ms"}})
    kaptanto.start_streaming()
    for _ in range(3):
        db.execute("INSERT INTO t VALUES (1, 'x')", "DELETE FROM t")
        position = db.wal_position()
        wait_until(lambda: db.slot().confirmed_flush >= position, 20, "position moving")


def test_position_is_acknowledged_soon_after_it_is_durable(db, pipeline):
    """Long before the status interval: the synchronous_standby_names case."""
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY, pad text)")
    kaptanto = pipeline(db, tables=["t"], config={"postgres": {"status-interval": "10s"}})
    kaptanto.start_streaming()
    db.execute("INSERT INTO t VALUES (1, 'x')")
    lsn = db.wal_position()
    wait_until(lambda: db.slot().confirmed_flush >= lsn, 5, "acknowledged before the interval")


def test_nothing_is_acknowledged_that_could_be_lost(db, pipeline):
    """The journal always holds all up to confirmed_flush_lsn: killed, nothing is missing."""
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY, pad text)")
    kaptanto = pipeline(db, tables=["t"])
    seen = set()
    for run in range(5):
        kaptanto.start_streaming()
        for i in range(20):
            db.execute(f"INSERT INTO t VALUES ({run * 20 + i}, repeat('y', 100000))")
        kaptanto.kill()
        seen |= {int(e.key["id"]) for e in kaptanto.events if e.table == "t"}
    kaptanto.start_streaming()
    seen |= {int(e.key["id"]) for e in kaptanto.drain()}

    assert seen == set(range(100))
