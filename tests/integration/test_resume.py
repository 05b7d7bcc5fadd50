"""Stopped or killed and started again: no event missing, repeats only behind the saved cursor."""

import pytest

from harness import wait_until


@pytest.fixture
def kaptanto(db, pipeline):
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY, v int)")
    return pipeline(db, tables=["t"])


def insert(db, first, last):
    db.execute(f"INSERT INTO t SELECT i, 0 FROM generate_series({first}, {last}) i")


def ids(events):
    return [int(e.key["id"]) for e in events]


def test_clean_stop_repeats_nothing(kaptanto):
    db = kaptanto.db
    collected = []
    for run in range(4):
        kaptanto.start_streaming()
        insert(db, run * 100, run * 100 + 49)
        collected += ids(kaptanto.drain())
        kaptanto.stop()
        insert(db, run * 100 + 50, run * 100 + 99)
    kaptanto.start_streaming()
    collected += ids(kaptanto.drain())

    assert collected == list(range(400))


def test_kill_loses_nothing_and_repeats_are_byte_for_byte_the_same(kaptanto):
    db = kaptanto.db
    seen = {}
    order = []
    for run in range(6):
        kaptanto.start_streaming()
        insert(db, run * 100, run * 100 + 99)
        kaptanto.wait_for(lambda events: events)
        kaptanto.kill()
        for event in kaptanto.events:
            if event.idempotency_key in seen:
                assert seen[event.idempotency_key] == event.raw
            else:
                seen[event.idempotency_key] = event.raw
                order.append(event)
    kaptanto.start_streaming()
    for event in kaptanto.drain():
        if event.idempotency_key not in seen:
            order.append(event)
        assert seen.setdefault(event.idempotency_key, event.raw) == event.raw
    rows = [e for e in order if e.table == "t"]

    assert ids(rows) == list(range(600)), "first deliveries come in commit order"
    assert len({e.id for e in rows}) == len(rows)


def test_repeats_after_a_kill_begin_at_one_point(kaptanto):
    """A run after a kill is a suffix of what came before, followed by what is new."""
    db = kaptanto.db
    kaptanto.start_streaming()
    insert(db, 0, 999)
    first = [e.idempotency_key for e in kaptanto.drain()]
    kaptanto.kill()
    insert(db, 1000, 1099)
    kaptanto.start_streaming()
    second = [e.idempotency_key for e in kaptanto.drain()]
    repeated = [key for key in second if key in set(first)]

    assert repeated == first[len(first) - len(repeated):]
    assert len(second) == len(repeated) + 100


def test_cursor_is_saved_while_running(kaptanto):
    """Long after the delivery, a kill repeats little: the cursor does not wait for the end."""
    db = kaptanto.db
    kaptanto.start_streaming()
    insert(db, 0, 999)
    kaptanto.drain()
    wait_until(lambda: kaptanto.saved_cursor() >= 1001, 10, "cursor saved")
    kaptanto.kill()
    insert(db, 1000, 1009)
    kaptanto.start_streaming()

    assert ids(kaptanto.drain()) == list(range(1000, 1010))


def test_unread_events_are_delivered_by_the_next_run(kaptanto):
    """The pipe was full and nobody read: the journal holds what stdout could not take."""
    db = kaptanto.db
    kaptanto.start(reading="later").wait_streaming()
    insert(db, 0, 49_999)
    position = db.wal_position()
    kaptanto.wait_acknowledged(position)
    kaptanto.kill()
    first = ids(e for e in kaptanto.events if e.table == "t")
    kaptanto.start_streaming()
    second = ids(kaptanto.drain(timeout=60))

    assert first == list(range(len(first)))
    assert second == list(range(second[0], 50_000))
    assert second[0] <= len(first)


def test_stop_with_a_full_pipe_is_quick(kaptanto):
    db = kaptanto.db
    kaptanto.start(reading="later").wait_streaming()
    insert(db, 0, 49_999)
    kaptanto.wait_acknowledged(db.wal_position())
    kaptanto.process.terminate()
    assert kaptanto.process.wait(5) == 0
    kaptanto.read_stdout()
    kaptanto.wait_exit()
    first = ids(e for e in kaptanto.events if e.table == "t")
    kaptanto.start_streaming()
    second = ids(kaptanto.drain(timeout=60))

    # A line that was torn by the stop is delivered again, whole.
    assert first == list(range(len(first)))
    assert second == list(range(second[0], 50_000))
    assert len(first) - 1 <= second[0] <= len(first)


def test_output_none_captures_without_delivering(db, pipeline):
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY, v int)")
    kaptanto = pipeline(db, tables=["t"], config={"output": "none"}).start_streaming()
    insert(db, 1, 100)
    kaptanto.wait_acknowledged(db.wal_position())
    assert kaptanto.events == []
    kaptanto.stop()

    assert ids(kaptanto.journal_events()) == list(range(1, 101))


def test_events_captured_without_output_reach_stdout_later(db, pipeline):
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY, v int)")
    kaptanto = pipeline(db, tables=["t"], config={"output": "none"}).start_streaming()
    insert(db, 1, 100)
    kaptanto.wait_acknowledged(db.wal_position())
    kaptanto.stop()
    kaptanto.config["output"] = "stdout"
    kaptanto.start_streaming()

    assert ids(kaptanto.drain()) == list(range(1, 101))


def test_data_directory_belongs_to_us_alone(kaptanto):
    kaptanto.start_streaming()
    assert kaptanto.data_dir.stat().st_mode & 0o777 == 0o700


def test_log_and_state_survive_small_segments(db, pipeline):
    """Many segment files, several restarts, every event once."""
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY, pad text)")
    kaptanto = pipeline(db, tables=["t"], config={"journal": {"segment-bytes": 1 << 20}})
    collected = []
    for run in range(3):
        kaptanto.start_streaming()
        db.execute(
            "INSERT INTO t SELECT i, repeat('x', 500)"
            f" FROM generate_series({run * 5000}, {run * 5000 + 4999}) i"
        )
        collected += ids(kaptanto.drain())
        kaptanto.stop()

    assert collected == list(range(15_000))
    assert ids(e for e in kaptanto.journal_events() if e.table == "t") == list(range(15_000))
