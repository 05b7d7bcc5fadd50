"""Connections break; nothing is lost and nothing comes twice."""

import pytest

from harness import Cluster, TcpProxy, wait_until


def insert(db, first, last):
    db.execute(f"INSERT INTO t SELECT i FROM generate_series({first}, {last}) i")


def ids(events):
    return [int(e.key["id"]) for e in events]


@pytest.fixture
def running(db, pipeline):
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY)")
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    insert(db, 1, 100)
    return kaptanto


def test_walsender_terminated(running):
    db = running.db
    for round_ in range(1, 6):
        pid = running.wait_streaming()
        db.execute(f"SELECT pg_terminate_backend({pid})")
        insert(db, round_ * 100 + 1, round_ * 100 + 100)
        db.wait_walsender(other_than=pid)

    assert ids(running.drain()) == list(range(1, 601))
    assert running.runs == 1 and running.alive()


def test_walsender_terminated_in_the_middle_of_a_large_transaction(db, pipeline):
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY)")
    db.set(logical_decoding_work_mem="64kB")
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    cursor = db.connect(autocommit=False).cursor()
    for part in range(4):
        pid = kaptanto.wait_streaming()
        first = part * 5000 + 1
        cursor.execute(f"INSERT INTO t SELECT i FROM generate_series({first}, {first + 4999}) i")
        db.execute(f"SELECT pg_terminate_backend({pid})")
        db.wait_walsender(other_than=pid)
    cursor.connection.commit()

    assert ids(kaptanto.drain()) == list(range(1, 20_001))


@pytest.mark.parametrize("mode", ["fast", "immediate"])
@pytest.mark.parametrize("version", [14, 15, 16, 17, 18])
def test_server_restarted(version, mode, pipeline):
    with Cluster(version) as cluster:
        db = cluster.new_database()
        db.execute("CREATE TABLE t (id bigint PRIMARY KEY)")
        kaptanto = pipeline(db, tables=["t"]).start_streaming()
        for round_ in range(2):
            insert(db, round_ * 1000, round_ * 1000 + 999)
            cluster.restart(mode)
            db.reconnect()
            kaptanto.wait_streaming(timeout=40)
        insert(db, 2000, 2999)

        assert ids(kaptanto.drain()) == list(range(3000))
        kaptanto.stop()


def test_server_is_away_for_a_while_and_back_off_is_bounded(pipeline):
    with Cluster(15) as cluster:
        db = cluster.new_database()
        db.execute("CREATE TABLE t (id bigint PRIMARY KEY)")
        kaptanto = pipeline(db, tables=["t"]).start_streaming()
        insert(db, 1, 10)
        assert ids(kaptanto.drain()) == list(range(1, 11))
        cluster.stop("fast")
        cpu = kaptanto.cpu_seconds()
        records = len(kaptanto.log)
        # Several attempts, each later than the last; no hot loop and no flood of log lines.
        wait_until(lambda: len(kaptanto.log) >= records + 4, 30, "attempts in the log")
        assert kaptanto.cpu_seconds() - cpu < 1.0
        assert len(kaptanto.log) - records < 60
        cluster.start()
        db.reconnect()
        kaptanto.wait_streaming(timeout=40)
        insert(db, 11, 20)

        assert ids(kaptanto.drain())[10:] == list(range(11, 21))
        kaptanto.stop()


def test_start_before_the_server_is_up(pipeline, cluster):
    with Cluster(15) as own:
        db = own.new_database()
        db.execute("CREATE TABLE t (id bigint PRIMARY KEY)")
        own.stop("fast")
        kaptanto = pipeline(db, tables=["t"]).start()
        wait_until(lambda: kaptanto.log, 10, "a first log line")
        own.start()
        db.reconnect()
        kaptanto.wait_streaming(timeout=40)
        insert(db, 1, 10)

        assert ids(kaptanto.drain()) == list(range(1, 11))
        kaptanto.stop()


@pytest.fixture
def through_proxy(db, pipeline):
    """A pipeline whose only way to the server is a proxy."""
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY)")
    db.set(wal_sender_timeout="2s")
    with TcpProxy(db.cluster.port) as proxy:
        config = {"source": db.dsn(port=proxy.port)}
        kaptanto = pipeline(db, tables=["t"], config=config).start_streaming()
        yield kaptanto, proxy
        kaptanto.kill()


def test_connection_cut(through_proxy):
    kaptanto, proxy = through_proxy
    for round_ in range(5):
        pid = kaptanto.wait_streaming()
        insert(kaptanto.db, round_ * 500, round_ * 500 + 499)
        proxy.cut()
        kaptanto.db.wait_walsender(other_than=pid, timeout=30)

    assert ids(kaptanto.drain()) == list(range(2500))


def test_connection_cut_and_refused_for_a_while(through_proxy):
    kaptanto, proxy = through_proxy
    insert(kaptanto.db, 0, 9)
    assert ids(kaptanto.drain()) == list(range(10))
    proxy.refuse()
    accepted = proxy.accepted
    proxy.cut()
    insert(kaptanto.db, 10, 19)
    wait_until(lambda: proxy.accepted >= accepted + 3, 30, "attempts")
    proxy.flow()

    assert ids(kaptanto.drain(timeout=60)) == list(range(20))


def test_stalled_connection_is_given_up_and_replaced(through_proxy):
    """No byte in either direction and no reset: the silence itself must be noticed."""
    kaptanto, proxy = through_proxy
    insert(kaptanto.db, 0, 9)
    assert ids(kaptanto.drain()) == list(range(10))
    pid = kaptanto.wait_streaming()
    proxy.stall()
    insert(kaptanto.db, 10, 19)
    # The server gives up after wal_sender_timeout; we must as well, and connect anew.
    wait_until(lambda: kaptanto.db.walsender() != pid, 30, "the server's end gone")
    accepted = proxy.accepted
    wait_until(lambda: proxy.accepted > accepted, 60, "a new attempt")
    proxy.flow()

    assert ids(kaptanto.drain(timeout=60)) == list(range(20))


def test_journal_has_no_duplicates_after_many_reconnects(running):
    db = running.db
    for round_ in range(1, 8):
        pid = running.wait_streaming()
        insert(db, round_ * 100 + 1, round_ * 100 + 100)
        db.execute(f"SELECT pg_terminate_backend({pid})")
        db.wait_walsender(other_than=pid)
    running.drain()
    running.stop()
    journal = running.journal_events()

    assert ids([e for e in journal if e.table == "t"]) == list(range(1, 801))
    assert len({e.idempotency_key for e in journal}) == len(journal)
