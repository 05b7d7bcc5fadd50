"""Logical messages (pg_logical_emit_message): an outbox without a table."""

from harness import Number


def emit(transactional, prefix, content):
    return f"SELECT pg_logical_emit_message({transactional}, '{prefix}', '{content}')"


def test_messages_are_events_when_asked_for(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    config = {"postgres": {"messages": ["outbox", "audit.*"]}}
    kaptanto = pipeline(each_db, tables=["t"], config=config).start_streaming()
    each_db.transaction(
        "INSERT INTO t VALUES (1)",
        emit("true", "outbox", '{"order": 1, "note": "line\nbreak \u00e9"}'),
        emit("true", "other", "not asked for"),
        emit("true", "audit.login", ""),
        "INSERT INTO t VALUES (2)",
    )
    events = kaptanto.drain()

    assert [e.operation for e in events] == ["insert", "message", "message", "insert"]
    outbox, audit = events[1:3]
    assert outbox.table == ""
    assert outbox.key == {"prefix": "outbox"}
    content = '{"order": 1, "note": "line\nbreak \u00e9"}'
    assert outbox.after == {"prefix": "outbox", "content": content}
    assert outbox.before is None
    assert audit.after == {"prefix": "audit.login", "content": ""}
    assert len({e.tx_id for e in events}) == 1
    assert len({e.idempotency_key for e in events}) == 4
    assert [e.position for e in events] == sorted(e.position for e in events)


def test_messages_are_not_captured_by_default(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    kaptanto = pipeline(each_db, tables=["t"]).start_streaming()
    each_db.execute(emit("true", "outbox", "x"), emit("false", "outbox", "y"))

    assert kaptanto.drain() == []


def test_rolled_back_transactional_message_is_not_seen(db, pipeline):
    config = {"postgres": {"messages": ["*"]}}
    kaptanto = pipeline(db, config=config).start_streaming()
    db.execute(f"BEGIN; {emit('true', 'p', 'rolled back')}; ROLLBACK")
    db.transaction(
        emit("true", "p", "kept"), "SAVEPOINT s", emit("true", "p", "lost"), "ROLLBACK TO s"
    )
    (event,) = kaptanto.drain()

    assert event.after == {"prefix": "p", "content": "kept"}


def test_message_outside_transactions_is_seen_even_if_rolled_back(each_db, pipeline):
    config = {"postgres": {"messages": ["*"]}}
    kaptanto = pipeline(each_db, config=config).start_streaming()
    each_db.execute(f"BEGIN; {emit('false', 'p', 'now')}; ROLLBACK", emit("false", "p", "later"))
    # A non-transactional message is flushed with the next commit.
    events = kaptanto.drain()

    assert [(e.operation, e.after["content"]) for e in events] == [
        ("message", "now"), ("message", "later")
    ]
    assert len({e.id for e in events}) == 2
    assert len({e.idempotency_key for e in events}) == 2


def test_messages_outside_transactions_are_not_repeated_in_the_log(db, pipeline):
    """Killed and restarted, each such message keeps its one identity."""
    db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    kaptanto = pipeline(db, tables=["t"], config={"postgres": {"messages": ["*"]}})
    seen = {}
    number = 0
    for _ in range(3):
        kaptanto.start_streaming()
        for _ in range(5):
            number += 1
            db.execute(emit("false", "p", f"m{number}"), f"INSERT INTO t VALUES ({number})")
        for event in kaptanto.drain():
            assert seen.setdefault(event.idempotency_key, event.raw) == event.raw
        kaptanto.kill()
    contents = [raw.split(b'"content":"')[1].split(b'"')[0].decode()
                for raw in seen.values() if b'"operation":"message"' in raw]

    assert contents == [f"m{i}" for i in range(1, 16)]


def test_content_that_is_not_text_is_not_lost(db, pipeline):
    config = {"postgres": {"messages": ["*"]}}
    kaptanto = pipeline(db, config=config).start_streaming()
    db.execute("SELECT pg_logical_emit_message(true, 'p', '\\x00ff41'::bytea)")
    (event,) = kaptanto.drain()

    assert event.after == {"prefix": "p", "content_hex": "\\x00ff41"}


def test_messages_of_a_streamed_transaction(db, pipeline):
    db.set(logical_decoding_work_mem="64kB")
    db.execute("CREATE TABLE t (id int PRIMARY KEY, pad text)")
    config = {"postgres": {"messages": ["p"]}}
    kaptanto = pipeline(db, tables=["t"], config=config).start_streaming()
    rows = "INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series({}, {}) i"
    db.transaction(
        rows.format(1, 2000),
        emit("true", "p", "first"),
        "SAVEPOINT s",
        emit("true", "p", "lost"),
        rows.format(2001, 4000),
        "ROLLBACK TO s",
        emit("true", "p", "second"),
    )
    events = kaptanto.drain()

    assert [e.after["content"] for e in events if e.operation == "message"] == ["first", "second"]
    assert events[0].key == {"id": Number(1)}
    assert len(events) == 2002
