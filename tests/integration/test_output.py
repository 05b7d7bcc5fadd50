"""Standard output and signals."""

import os
import signal
import subprocess
import time

import pytest

from harness import kaptanto_binary, wait_until


@pytest.fixture
def table(db):
    db.execute("CREATE TABLE t (id bigint PRIMARY KEY, pad text)")
    return db


def load(db, first, last):
    db.execute(f"INSERT INTO t SELECT i, repeat('x', 200) FROM generate_series({first}, {last}) i")


def clean(kaptanto):
    """No stack trace and no error in the log."""
    assert not [r for r in kaptanto.log if r["level"] in ("error", "plain")], kaptanto.stderr


def test_reader_that_leaves_ends_the_process_cleanly(table, pipeline):
    """kaptanto | head -1"""
    kaptanto = pipeline(table, tables=["t"])
    read, write = os.pipe()
    kaptanto.start(output=write)
    os.close(write)
    head = subprocess.Popen(["head", "-n", "1"], stdin=read, stdout=subprocess.PIPE)
    os.close(read)
    kaptanto.wait_streaming()
    load(table, 1, 1000)
    line, _ = head.communicate(timeout=20)
    assert b'"operation":"insert"' in line
    # The next event finds the pipe closed, if a part of the first thousand did not.
    load(table, 1001, 1010)
    started = time.monotonic()

    assert kaptanto.wait_exit(10) == 0, kaptanto.describe()
    assert time.monotonic() - started < 5
    clean(kaptanto)


def test_nothing_is_lost_after_a_reader_left(table, pipeline):
    kaptanto = pipeline(table, tables=["t"])
    read, write = os.pipe()
    kaptanto.start(output=write)
    os.close(write)
    kaptanto.wait_streaming()
    load(table, 0, 9)
    got = b""
    while got.count(b"\n") < 10:
        got += os.read(read, 1 << 16)
    os.close(read)
    load(table, 10, 19)
    assert kaptanto.wait_exit(10) == 0
    kaptanto.start_streaming()
    rows = [int(e.key["id"]) for e in kaptanto.drain()]

    assert rows[-10:] == list(range(10, 20))
    assert rows == list(range(rows[0], 20))


def test_stdout_may_be_a_file(table, pipeline, tmp_path):
    path = tmp_path / "out.ndjson"
    kaptanto = pipeline(table, tables=["t"])
    with open(path, "ab") as out:
        kaptanto.start(output=out)
    kaptanto.wait_streaming()
    load(table, 1, 500)
    wait_until(lambda: path.read_bytes().count(b"\n") == 500, 20, "lines in the file")
    kaptanto.stop()
    with open(path, "ab") as out:
        kaptanto.start(output=out)
    kaptanto.wait_streaming()
    load(table, 501, 600)
    wait_until(lambda: path.read_bytes().count(b"\n") == 600, 20, "lines in the file")


def test_full_output_device_is_waited_for_and_loses_nothing(table, pipeline):
    kaptanto = pipeline(table, tables=["t"])
    with open("/dev/full", "wb") as full:
        kaptanto.start(output=full)
    kaptanto.wait_streaming()
    load(table, 1, 10)
    kaptanto.wait_log("No space left on device")
    kaptanto.stop()
    kaptanto.start_streaming()

    assert [int(e.key["id"]) for e in kaptanto.drain()] == list(range(1, 11))


@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_stdout_is_refused_and_events_go_into_no_other_file(table, pipeline, closed):
    """What we open first would become descriptor 1, and take the events."""
    kaptanto = pipeline(table, tables=["t"])
    kaptanto.start_streaming()
    load(table, 1, 1)
    assert len(kaptanto.drain()) == 1
    kaptanto.stop()
    load(table, 2, 10)
    config = kaptanto.folder / "kaptanto.yaml"
    done = subprocess.run(
        ["bash", "-c", f"exec timeout 10 '{kaptanto_binary()}' --config '{config}' {closed}"],
        stderr=subprocess.PIPE,
    )
    assert done.returncode == 9, done
    kaptanto.start_streaming()
    assert [int(e.key["id"]) for e in kaptanto.drain()] == list(range(2, 11))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("reading", ["count", "later"])
def test_signal_ends_it_within_two_seconds_under_load(table, pipeline, number, reading):
    kaptanto = pipeline(table, tables=["t"])
    kaptanto.start(reading=reading)
    kaptanto.wait_streaming()
    load(table, 1, 50_000)
    wait_until(lambda: kaptanto.lines > 1000 or reading == "later", 20, "under way")
    kaptanto.process.send_signal(number)
    assert kaptanto.process.wait(2) == 0
    kaptanto.read_stdout()
    kaptanto.wait_exit()
    clean(kaptanto)


def test_signal_while_the_server_is_away(db, pipeline):
    kaptanto = pipeline(db, config={"source": db.dsn(port=1)}).start()
    wait_until(lambda: kaptanto.log, 10, "a log line")
    kaptanto.process.send_signal(signal.SIGTERM)

    assert kaptanto.process.wait(2) == 0


def test_second_signal_while_stopping_is_harmless(table, pipeline):
    kaptanto = pipeline(table, tables=["t"])
    kaptanto.start(reading="later").wait_streaming()
    load(table, 1, 50_000)
    for _ in range(3):
        kaptanto.process.send_signal(signal.SIGTERM)

    assert kaptanto.process.wait(5) in (0, 143, -15)


def test_ignored_hangup_of_a_background_process_is_respected(table, pipeline):
    """Started under nohup, SIGHUP does not end it."""
    kaptanto = pipeline(table, tables=["t"])
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        kaptanto.start()
    finally:
        signal.signal(signal.SIGHUP, previous)
    kaptanto.wait_streaming()
    kaptanto.process.send_signal(signal.SIGHUP)
    load(table, 1, 10)

    assert len(kaptanto.drain()) == 10


def test_stderr_is_one_json_object_per_line(table, pipeline):
    kaptanto = pipeline(table, tables=["t"], config={"log-level": "debug"}).start_streaming()
    load(table, 1, 10)
    kaptanto.drain()
    kaptanto.stop()

    assert kaptanto.log
    for record in kaptanto.log:
        assert record["level"] in ("debug", "info", "warn", "error"), record
        assert record["msg"] and record["time"]


def test_log_level_quiets_the_log(table, pipeline):
    kaptanto = pipeline(table, tables=["t"], config={"log-level": "error"}).start_streaming()
    load(table, 1, 10)
    kaptanto.drain()
    kaptanto.stop()

    assert kaptanto.log == []


def test_row_values_never_reach_the_log(table, pipeline):
    kaptanto = pipeline(table, tables=["t"], config={"log-level": "debug"}).start_streaming()
    table.execute("INSERT INTO t VALUES (1, 'very-private-value')")
    assert len(kaptanto.drain()) == 1
    kaptanto.stop()

    assert "very-private-value" not in kaptanto.stderr


def test_idle_process_is_quiet(table, pipeline):
    """No busy polling: next to no CPU over two seconds, and little memory."""
    kaptanto = pipeline(table, tables=["t"]).start_streaming()
    load(table, 1, 10)
    kaptanto.drain()
    cpu = kaptanto.cpu_seconds()
    end = time.monotonic() + 2
    wait_until(lambda: time.monotonic() >= end, 5, "two idle seconds", interval=0.5)

    assert kaptanto.cpu_seconds() - cpu <= 0.1
    assert kaptanto.rss() <= 60 << 20
