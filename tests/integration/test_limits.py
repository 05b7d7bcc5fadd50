"""Bounds of the event log: its size pauses the source, retention deletes only what is passed."""

import pytest

from harness import wait_until
from harness.waiting import hold_for

SMALL = {"retention": "0s", "journal": {"segment-bytes": "1MiB", "max-bytes": "4MiB"}}


@pytest.fixture
def table(db):
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY, pad text)")
    return db


def load(db, first, last):
    db.execute(f"INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series({first}, {last}) i")


def log_bytes(kaptanto):
    return sum(path.stat().st_size for path in kaptanto.journal.iterdir())


def test_full_log_pauses_the_source_and_nothing_is_lost(table, pipeline):
    table.set(wal_sender_timeout="2s")
    kaptanto = pipeline(table, tables=["t"], config=SMALL)
    pid = kaptanto.start(reading="later").wait_streaming()
    for number in range(40):
        load(table, number * 1000, number * 1000 + 999)
    kaptanto.wait_log("paused")
    hold_for(5, lambda: table.walsender() == pid, "the connection while paused")
    assert log_bytes(kaptanto) <= 5 << 20
    assert table.slot().confirmed_flush < table.wal_position(), "the source waits"
    assert kaptanto.rss() < 100 << 20
    kaptanto.read_stdout()

    assert [int(e.key["id"]) for e in kaptanto.drain(timeout=60)] == list(range(40_000))
    assert table.walsender() == pid
    kaptanto.wait_log("going on")


def test_full_log_survives_kill(table, pipeline):
    kaptanto = pipeline(table, tables=["t"], config=SMALL)
    kaptanto.start(reading="later").wait_streaming()
    for number in range(20):
        load(table, number * 1000, number * 1000 + 999)
    kaptanto.wait_log("paused")
    kaptanto.kill()
    first = [int(e.key["id"]) for e in kaptanto.events if e.table == "t"]
    kaptanto.start_streaming()
    second = [int(e.key["id"]) for e in kaptanto.drain(timeout=60)]

    assert first == list(range(len(first)))
    assert second == list(range(second[0], 20_000)) and second[0] <= len(first)


def test_stop_while_paused_is_quick(table, pipeline):
    kaptanto = pipeline(table, tables=["t"], config=SMALL)
    kaptanto.start(reading="later").wait_streaming()
    for number in range(20):
        load(table, number * 1000, number * 1000 + 999)
    kaptanto.wait_log("paused")
    kaptanto.process.terminate()
    assert kaptanto.process.wait(4) == 0
    kaptanto.read_stdout()
    kaptanto.wait_exit()


def test_transaction_larger_than_the_log_passes_with_a_warning(table, pipeline):
    """Consumers see it only when all of it is there, so waiting for them would last for ever."""
    kaptanto = pipeline(table, tables=["t"], config=SMALL).start_streaming()
    load(table, 1, 20_000)
    kaptanto.wait_log("larger than journal.max-bytes", timeout=60)
    assert len(kaptanto.drain(timeout=60)) == 20_000


def test_retention_deletes_what_all_consumers_have_passed(table, pipeline):
    config = {"retention": "0s", "journal": {"segment-bytes": "1MiB"}}
    kaptanto = pipeline(table, tables=["t"], config=config).start_streaming()
    for number in range(10):
        load(table, number * 1000, number * 1000 + 999)
    assert len(kaptanto.drain()) == 10_000
    wait_until(lambda: log_bytes(kaptanto) <= 3 << 20, 90, "old segments deleted")
    kaptanto.kill()
    load(table, 10_000, 10_009)
    kaptanto.start_streaming()
    assert [int(e.key["id"]) for e in kaptanto.drain()][-10:] == list(range(10_000, 10_010))


def test_retention_keeps_what_is_not_delivered(table, pipeline):
    config = {"retention": "0s", "journal": {"segment-bytes": "1MiB"}}
    kaptanto = pipeline(table, tables=["t"], config=config)
    kaptanto.start(reading="later").wait_streaming()
    for number in range(10):
        load(table, number * 1000, number * 1000 + 999)
    kaptanto.wait_acknowledged(table.wal_position())
    size = log_bytes(kaptanto)
    hold_for(3, lambda: log_bytes(kaptanto) == size, "the log while nobody reads")
    kaptanto.read_stdout()

    assert len(kaptanto.drain()) == 10_000
