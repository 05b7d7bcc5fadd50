"""A slot that is lost, foreign, moved or busy: never a silent gap, always a coded stop."""

import pytest

from harness import wait_until


@pytest.fixture
def used(db, pipeline):
    """A pipeline that streamed three rows and was stopped."""
    db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    db.execute("INSERT INTO t VALUES (1), (2), (3)")
    assert len(kaptanto.drain()) == 3
    kaptanto.stop()
    return kaptanto


def expect_stop(kaptanto, code, *words):
    """The process ends with `code` and one error that holds every word."""
    kaptanto.start()
    assert kaptanto.wait_exit(20) == code, kaptanto.describe()
    errors = [str(r).lower() for r in kaptanto.log if r["level"] in ("error", "plain")]
    assert len(errors) == 1, kaptanto.describe()
    for word in words:
        assert word.lower() in errors[0], (word, errors)
    assert kaptanto.events == []


def test_slot_and_publication_are_made_on_first_start(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    kaptanto = pipeline(each_db, tables=["t"], config={"source-id": "first_1"}).start_streaming()

    assert each_db.slot("kaptanto_first_1").plugin == "pgoutput"
    assert each_db.rows("SELECT pubname FROM pg_publication") == [("kaptanto_pub_first_1",)]
    kaptanto.stop()
    assert each_db.slot("kaptanto_first_1") is not None, "the slot outlives the process"


def test_slot_dropped_while_down(used):
    used.db.execute("SELECT pg_drop_replication_slot('kaptanto_default')")
    used.db.execute("INSERT INTO t VALUES (4)")
    expect_stop(used, 5, "kaptanto_default")
    assert used.db.slot() is None, "it was not made anew behind the user's back"


def test_slot_dropped_while_running(used):
    used.start_streaming()
    pid = used.wait_streaming()
    used.db.execute(f"SELECT pg_terminate_backend({pid})")

    def dropped():
        try:
            used.db.execute("SELECT pg_drop_replication_slot('kaptanto_default')")
        except Exception:
            used.db.execute("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
                            " WHERE slot_name = 'kaptanto_default'")
            return False
        return True

    wait_until(dropped, 20, "slot dropped")
    assert used.wait_exit(40) == 5, used.describe()


def test_slot_of_another_plugin(db, pipeline):
    db.execute("SELECT pg_create_logical_replication_slot('kaptanto_default', 'test_decoding')")
    expect_stop(pipeline(db), 5, "kaptanto_default", "test_decoding")
    assert db.slot().plugin == "test_decoding"


def test_physical_slot_of_our_name(db, pipeline):
    db.execute("SELECT pg_create_physical_replication_slot('kaptanto_default')")
    try:
        expect_stop(pipeline(db), 5, "kaptanto_default")
    finally:
        db.execute("SELECT pg_drop_replication_slot('kaptanto_default')")


def test_slot_of_another_database(db, cluster, pipeline):
    other = cluster.new_database()
    try:
        other.execute("SELECT pg_create_logical_replication_slot('kaptanto_default', 'pgoutput')")
        expect_stop(pipeline(db), 5, "kaptanto_default", other.name)
    finally:
        other.drop()


def test_slot_advanced_by_another_consumer(used):
    used.db.execute("INSERT INTO t VALUES (4)")
    used.db.execute(
        "SELECT pg_replication_slot_advance('kaptanto_default', pg_current_wal_lsn())"
    )
    expect_stop(used, 5, "kaptanto_default", "accept-gap")


def test_accepted_gap_goes_on_and_says_so(used):
    used.db.execute("INSERT INTO t VALUES (4)")
    used.db.execute(
        "SELECT pg_replication_slot_advance('kaptanto_default', pg_current_wal_lsn())"
    )
    used.config["postgres"] = {"accept-gap": True}
    used.start_streaming()
    used.db.execute("INSERT INTO t VALUES (5)")
    gap, insert = used.drain()

    assert gap.operation == "control"
    assert gap.metadata["control_type"] == "gap"
    assert int(insert.key["id"]) == 5
    assert b"/" in gap.raw, "the bounds of the gap are in the event"


def test_lost_slot_is_made_anew_when_the_gap_is_accepted(used):
    used.db.execute("SELECT pg_drop_replication_slot('kaptanto_default')")
    used.db.execute("INSERT INTO t VALUES (4)")
    used.config["postgres"] = {"accept-gap": True}
    used.start_streaming()
    used.db.execute("INSERT INTO t VALUES (5)")
    gap, insert = used.drain()

    assert (gap.operation, gap.metadata["control_type"]) == ("control", "gap")
    assert int(insert.key["id"]) == 5


def test_gap_is_reported_once(used):
    used.db.execute("SELECT pg_drop_replication_slot('kaptanto_default')")
    used.config["postgres"] = {"accept-gap": True}
    used.start_streaming()
    assert [e.operation for e in used.drain()] == ["control"]
    used.stop()
    used.start_streaming()
    assert used.drain() == []


def test_another_server_behind_the_same_name_is_refused(used, newest_cluster):
    """Same database, slot and table names, but not the server that our journal came from."""
    other = newest_cluster.new_database()
    try:
        other.execute(
            "CREATE TABLE t (id int PRIMARY KEY)",
            "SELECT pg_create_logical_replication_slot('kaptanto_default', 'pgoutput')",
        )
        used.config["source"] = other.dsn()
        expect_stop(used, 5)
    finally:
        other.drop()


def test_invalidated_slot(pipeline):
    """The server gave the slot's WAL up (max_slot_wal_keep_size)."""
    from harness import Cluster

    settings = {"max_slot_wal_keep_size": "1MB", "max_wal_size": "32MB"}
    with Cluster(18, settings) as own:
        db = own.new_database()
        db.execute("CREATE TABLE t (id int PRIMARY KEY, pad text)")
        kaptanto = pipeline(db, tables=["t"]).start_streaming()
        kaptanto.stop()

        def invalidated():
            db.execute("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) i",
                       "TRUNCATE t", "CHECKPOINT")
            return db.value("SELECT wal_status FROM pg_replication_slots") == "lost"

        wait_until(invalidated, 60, "slot invalidated")
        expect_stop(kaptanto, 5, "kaptanto_default")


def test_busy_slot_is_waited_for(db, pipeline):
    """A second process on the same slot streams when the first is gone."""
    db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    first = pipeline(db, tables=["t"]).start_streaming()
    second = pipeline(db, tables=["t"]).start()
    second.wait_log("active")
    db.execute("INSERT INTO t VALUES (1)")
    assert len(first.drain()) == 1
    assert second.alive() and second.events == []
    first.stop()
    second.wait_streaming(timeout=60)
    db.execute("INSERT INTO t VALUES (2)")

    assert [int(e.key["id"]) for e in second.drain()] == [2]


def test_second_process_on_the_same_data_directory_is_refused(db, pipeline, tmp_path):
    first = pipeline(db).start_streaming()
    second = pipeline(db, config={"data-dir": str(first.data_dir), "source-id": "other"})
    expect_stop(second, 6, str(first.data_dir))
    assert first.alive()


def test_data_directory_is_free_after_a_kill(db, pipeline):
    kaptanto = pipeline(db).start_streaming()
    kaptanto.kill()
    kaptanto.start_streaming()


def test_slot_with_a_configured_name(db, pipeline):
    kaptanto = pipeline(db, config={"postgres": {"slot": "my_own_slot"}}).start_streaming()
    assert db.slot("my_own_slot").active
    kaptanto.stop()


def test_slot_is_made_while_a_long_transaction_is_open(db, pipeline):
    """The server waits for running transactions; we wait with it and stop when asked."""
    db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    blocker = db.connect(autocommit=False)
    blocker.cursor().execute("INSERT INTO t VALUES (1)")
    kaptanto = pipeline(db, tables=["t"]).start()
    wait_until(lambda: db.slot(), 20, "slot being made")
    assert kaptanto.alive()
    blocker.commit()
    kaptanto.wait_streaming()
    db.execute("INSERT INTO t VALUES (2)")

    assert [int(e.key["id"]) for e in kaptanto.drain()] == [2]


def test_stop_while_the_slot_is_being_made(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    blocker = db.connect(autocommit=False)
    blocker.cursor().execute("INSERT INTO t VALUES (1)")
    kaptanto = pipeline(db, tables=["t"]).start()
    wait_until(lambda: db.slot(), 20, "slot being made")
    kaptanto.stop(timeout=5)
    blocker.rollback()


@pytest.mark.parametrize("version", [17, 18])
def test_failover_slot_where_the_server_has_them(version, pipeline):
    from conftest import shared_cluster

    db = shared_cluster(version).new_database()
    try:
        kaptanto = pipeline(db, config={"postgres": {"slot-failover": True}}).start_streaming()
        assert db.value(
            "SELECT failover FROM pg_replication_slots WHERE slot_name = 'kaptanto_default'"
        )
        kaptanto.stop()
    finally:
        db.drop()


def test_failover_slot_on_an_older_server_is_refused(db, pipeline):
    kaptanto = pipeline(db, config={"postgres": {"slot-failover": True}}).start()
    assert kaptanto.wait_exit() in (3, 4), kaptanto.describe()
    assert "17" in kaptanto.stderr
