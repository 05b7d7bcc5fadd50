"""Existing rows: each once as a `read`, then every change, in per-key order, whatever happens."""

import json
import random
import sqlite3
import threading
import time

import pytest

from harness import Number, run_command
from harness.waiting import wait_until

CONTROL = ("snapshot_started", "snapshot_complete", "snapshot_all_complete")


def backfill(pipeline, db, tables, **snapshot):
    return pipeline(db, tables, config={"snapshot": {"mode": "initial", **snapshot}})


def control_types(kaptanto):
    return [e.metadata["control_type"] for e in kaptanto.events if e.operation == "control"]


def wait_complete(kaptanto, timeout=60.0):
    seen = 0

    def complete(events):
        nonlocal seen
        fresh, seen = events[seen:], len(events)
        return any(event.operation == "control"
                   and event.metadata["control_type"] == "snapshot_all_complete"
                   for event in fresh)

    kaptanto.wait_for(complete, timeout, "the end of the backfill")


def reads(kaptanto, table):
    return [e for e in kaptanto.events if e.operation == "read" and e.table == table]


def state_of(kaptanto, table):
    with sqlite3.connect(f"file:{kaptanto.data_dir}/backfill.db?mode=ro", uri=True) as database:
        names = [row[0] for row in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert names, "no tables in backfill.db"
    done = run_command("backfill", "status", table, "--data-dir", kaptanto.data_dir, "--json",
                       "--port", "1")
    assert done.code == 0, done
    return json.loads(done.out)["backfills"][0]


def test_every_row_once_then_changes(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)",
                    "INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, 5000) g")
    kaptanto = backfill(pipeline, each_db, ["t"]).start_streaming()
    wait_complete(kaptanto)
    each_db.execute("UPDATE t SET v = 'new' WHERE id = 7", "DELETE FROM t WHERE id = 8")
    kaptanto.drain()
    found = reads(kaptanto, "t")
    assert sorted(int(e.key["id"]) for e in found) == list(range(1, 5001))
    assert all(e.before is None and e.after["v"] == f"v{e.key['id']}" for e in found)
    assert all(e.metadata["snapshot"] is True for e in found)
    assert len({e.idempotency_key for e in found}) == len({e.id for e in found}) == 5000
    assert [e.operation for e in kaptanto.events if e.table == "t"][-2:] == ["update", "delete"]
    kinds = [c for c in control_types(kaptanto) if c in CONTROL]
    assert kinds[-1] == "snapshot_all_complete" and kinds.count("snapshot_complete") == 2
    kaptanto.stop()


def test_a_second_start_reads_nothing_again(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    kaptanto = backfill(pipeline, db, ["t"]).start_streaming()
    wait_complete(kaptanto)
    kaptanto.stop()
    db.execute("INSERT INTO t VALUES (2)")
    kaptanto.start_streaming()
    events = kaptanto.drain()
    assert [e.operation for e in events if e.table == "t"] == ["insert"]
    kaptanto.stop()


def test_a_table_added_later_is_read_alone(db, pipeline):
    db.execute("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)",
               "CREATE TABLE b (id int PRIMARY KEY)", "INSERT INTO b VALUES (1), (2)")
    kaptanto = backfill(pipeline, db, ["a"]).start_streaming()
    wait_complete(kaptanto)
    kaptanto.stop()
    kaptanto.config["tables"]["b"] = {}
    kaptanto.start_streaming()
    wait_complete(kaptanto)
    assert len(reads(kaptanto, "b")) == 2 and not reads(kaptanto, "a")
    kaptanto.stop()


def test_modes_per_table(db, pipeline):
    for name in ("never_t", "always_t", "once_t"):
        db.execute(f"CREATE TABLE {name} (id int PRIMARY KEY)", f"INSERT INTO {name} VALUES (1)")
    kaptanto = pipeline(db, config={
        "tables": {"never_t": {"snapshot": "never"}, "always_t": {"snapshot": "always"},
                   "once_t": {"snapshot": "initial"}},
        "snapshot": {"mode": "never"}})
    kaptanto.start_streaming()
    wait_complete(kaptanto)
    assert not reads(kaptanto, "never_t")
    assert len(reads(kaptanto, "always_t")) == len(reads(kaptanto, "once_t")) == 1
    kaptanto.stop()
    kaptanto.start_streaming()
    wait_complete(kaptanto)
    assert len(reads(kaptanto, "always_t")) == 1 and not reads(kaptanto, "once_t")
    kaptanto.stop()


def test_initial_only_ends_when_all_is_delivered(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY)",
               "INSERT INTO t SELECT generate_series(1, 30000)")
    kaptanto = pipeline(db, ["t"], config={"snapshot": {"mode": "initial_only"}})
    kaptanto.start()
    assert kaptanto.wait_exit(60) == 0
    assert len(reads(kaptanto, "t")) == 30000
    kaptanto.start()
    assert kaptanto.wait_exit(30) == 0, "nothing left to do"


def test_initial_only_of_one_table_leaves_its_changes_out(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v int)",
               "INSERT INTO t SELECT g, 0 FROM generate_series(1, 1000) g")
    kaptanto = pipeline(db, config={"tables": {"t": {"snapshot": "initial_only"}}})
    kaptanto.start_streaming()
    db.execute("UPDATE t SET v = 1 WHERE id <= 500")
    wait_complete(kaptanto)
    db.execute("INSERT INTO t VALUES (5000, 5)")
    kaptanto.drain()
    assert {e.operation for e in kaptanto.events if e.table == "t"} == {"read", "control"}
    assert len(reads(kaptanto, "t")) == 1000
    kaptanto.stop()


def test_columns_condition_and_hostile_names(db, pipeline):
    db.execute('CREATE SCHEMA "S.x"',
               'CREATE TABLE "S.x"."T""é" ("Id" int PRIMARY KEY, "a\'b" text, c int)',
               'INSERT INTO "S.x"."T""é" SELECT g, \'x\' || g, g FROM generate_series(1, 100) g')
    kaptanto = pipeline(db, config={
        "tables": {'"S.x"."T""é"': {"columns": ["Id", "a'b"], "where": "c > 90"}},
        "snapshot": {"mode": "initial"}})
    kaptanto.start_streaming()
    wait_complete(kaptanto)
    found = reads(kaptanto, 'T"é')
    assert sorted(int(e.key["Id"]) for e in found) == list(range(91, 101))
    assert all(list(e.after) == ["Id", "a'b"] for e in found)
    kaptanto.stop()


def test_values_are_those_of_the_stream(each_db, pipeline):
    """A row read and the same row streamed have the same bytes in key and after."""
    each_db.execute(
        "CREATE TABLE t (id numeric(30, 10) PRIMARY KEY, f float8, r real, ts timestamptz,"
        " d date, b bytea, j jsonb, a int[], t text, i interval, n numeric)",
        "INSERT INTO t VALUES (1.5, 'NaN', 'Infinity', 'infinity', '0044-03-15 BC', '\\x00ff',"
        " '{\"a\": [1, 2]}', '{{1,NULL},{3,4}}', E'tab\\t\\\\ \\n \"q\"', '1 mon -2 days', 'NaN'),"
        " (2, 1e-300, 0.1, '2024-01-01 12:00:00.123456+02', 'infinity', '', 'null', '{}', '',"
        " '00:00:00', 12345678901234567890.123456789)")
    kaptanto = backfill(pipeline, each_db, ["t"]).start_streaming()
    wait_complete(kaptanto)
    each_db.execute("UPDATE t SET id = id")
    kaptanto.drain()

    def bodies(operation):
        found = {}
        for event in kaptanto.events:
            if event.table == "t" and event.operation == operation:
                raw = event.raw
                found[raw[raw.index(b'"key":'):raw.index(b',"before"')]] = raw[
                    raw.index(b'"after":'):raw.index(b',"metadata"')]
        return found

    assert bodies("read") == bodies("update")
    assert len(bodies("read")) == 2
    kaptanto.stop()


KEYS = {
    "bigint": ("bigint", "9007199254740993 + g"),
    "uuid": ("uuid", "md5(g::text)::uuid"),
    "bytea": ("bytea", "decode(md5(g::text), 'hex')"),
    "text": ('text COLLATE "C"', "'k é ' || md5(g::text)"),
    "natural_text": ("text", "chr(97 + g % 26) || 'Ä' || g"),
    "timestamptz": ("timestamptz", "'2024-01-01'::timestamptz + g * interval '1.000001 s'"),
    "numeric": ("numeric", "g + 0.1::numeric ^ 20"),
    "enum": ("pair", None),
    "float8": ("float8", "g / 3.0::float8"),
    "char": ("char(12)", "'c' || g"),
}


class Writers:
    """Clients that change tables as fast as they can, until they are told to stop."""

    def __init__(self, db, tables, rows, seed):
        self.db, self.tables, self.rows = db, tables, rows
        self.stop = threading.Event()
        self.faults = []
        self.threads = [threading.Thread(target=self._run, args=(seed + i,)) for i in range(2)]
        for thread in self.threads:
            thread.start()

    def _run(self, seed):
        chance = random.Random(seed)
        try:
            with self.db.connect() as connection:
                while not self.stop.is_set():
                    self._one(connection, chance)
        except Exception as fault:  # pylint: disable=broad-except
            self.faults.append(fault)

    def _one(self, connection, chance):
        name, (_, expression) = chance.choice(list(self.tables.items()))
        g = chance.randrange(2 * self.rows)
        key = f"(SELECT {expression} FROM (SELECT {g}::int AS g) s)"
        other = f"(SELECT {expression} FROM (SELECT {g + 2 * self.rows}::int AS g) s)"
        big = "(SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 200))"
        statement = chance.choices([
            f"INSERT INTO {name} VALUES ({key}, nextval('versions'), 'i', {big})"
            " ON CONFLICT (k) DO UPDATE SET n = nextval('versions'), v = 'u'",
            f"UPDATE {name} SET n = nextval('versions'), v = v || '+' WHERE k = {key}",
            f"UPDATE {name} SET n = nextval('versions'), big = {big} WHERE k = {key}",
            f"DELETE FROM {name} WHERE k = {key}",
            f"UPDATE {name} SET k = {other}, n = nextval('versions') WHERE k = {key}"
            f" AND NOT EXISTS (SELECT FROM {name} WHERE k = {other})",
            f"TRUNCATE {name}",
        ], weights=[30, 30, 10, 20, 10, 0.02])[0]
        with connection.cursor() as cursor:
            try:
                cursor.execute(statement)
                connection.commit()
            except Exception as fault:  # pylint: disable=broad-except
                connection.rollback()
                # Two writers may meet; anything else is a fault of the test.
                if getattr(fault, "pgcode", None) not in ("23505", "40P01"):
                    raise

    def finish(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(30)
        assert not self.faults, self.faults


class Model:
    """What a consumer makes of the events of one table; complains about anything out of order."""

    def __init__(self, identity_full):
        self.full = identity_full
        self.rows = {}
        self.newest = {}  # version of each key ever seen; deleted keys included
        self.truncated = 0
        self.reads = 0

    def apply(self, event):
        key = json.dumps(event.key, sort_keys=True)
        if event.operation == "truncate":
            self.truncated = max([self.truncated, *self.newest.values()])
            self.rows.clear()
        elif event.operation == "delete":
            self.rows.pop(key, None)
        elif event.operation in ("insert", "update", "read"):
            version = int(event.after["n"])
            row = dict(self.rows.get(key, {}))
            if event.operation == "read":
                self.reads += 1
                assert version >= self.newest.get(key, 0), f"stale read: {event.raw[:300]}"
                assert version > self.truncated, f"read of a truncated row: {event.raw[:300]}"
                assert key in self.rows or version > self.newest.get(key, 0), \
                    f"read of a deleted row: {event.raw[:300]}"
            if event.operation == "update" and event.before and not self.full:
                old = json.dumps({"k": event.before["k"]}, sort_keys=True)
                if old != key:
                    row = self.rows.pop(old, row)
            row.update(event.after)
            self.rows[key] = row
            self.newest[key] = max(version, self.newest.get(key, 0))


@pytest.mark.parametrize("seed", range(2))
def test_no_read_is_ever_stale_and_the_end_is_the_table(edge_db, pipeline, seed):
    db, rows = edge_db, 3000
    db.execute("CREATE TYPE pair AS ENUM (" + ", ".join(f"'e{i}'" for i in range(400)) + ")",
               "CREATE SEQUENCE versions")
    tables = {}
    for kind, (sql_type, expression) in KEYS.items():
        expression = expression or "('e' || g % 400)::pair"
        name = f"t_{kind}"
        tables[name] = (sql_type, expression)
        db.execute(f"CREATE TABLE {name} (k {sql_type} PRIMARY KEY, n bigint, v text, big text)",
                   f"ALTER TABLE {name} ALTER big SET STORAGE EXTERNAL",
                   f"INSERT INTO {name} SELECT {expression}, nextval('versions'), 's',"
                   f" repeat('y', 3000) FROM generate_series(1, {rows}) g ON CONFLICT DO NOTHING")
    writers = Writers(db, tables, rows, 100 * seed)
    try:
        kaptanto = backfill(pipeline, db, list(tables), workers=3).start_streaming()
        wait_complete(kaptanto, 120)
    finally:
        writers.finish()
    kaptanto.drain(60)
    models = {name: Model(False) for name in tables}
    for event in kaptanto.events:
        if event.table in models:
            models[event.table].apply(event)
    for name, model in models.items():
        wanted = {}
        for k, n, v, big in db.rows(f"SELECT to_jsonb(k)::text, n, v, md5(big) FROM {name}"):
            wanted[k] = (n, v)
        assert len(model.rows) == len(wanted), name
        found = sorted((int(row["n"]), row["v"]) for row in model.rows.values())
        assert found == sorted(wanted.values()), name
        # An out-of-line value that an update did not send came with the read.
        assert all(row.get("big") for row in model.rows.values()), name
    assert sum(model.reads for model in models.values()) > rows
    kaptanto.stop()


def test_kill_in_the_middle_repeats_at_most_what_was_out(db, pipeline):
    rows, workers = 200_000, 2
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)",
               f"INSERT INTO t SELECT g, md5(g::text) FROM generate_series(1, {rows}) g")
    kaptanto = backfill(pipeline, db, ["t"], workers=workers)
    seen, runs = {}, 0
    while True:
        kaptanto.start()
        if runs < 8:
            kaptanto.wait_for(lambda events: len(events) >= 5_000, 60)
            kaptanto.kill()
        else:
            wait_complete(kaptanto, 60)
        runs += 1
        chunks = {}
        for event in reads(kaptanto, "t"):
            number = event.metadata["chunk"]
            if event.idempotency_key in seen and seen[event.idempotency_key] != (runs, number):
                chunks[number] = chunks.get(number, 0) + 1
            seen[event.idempotency_key] = (runs, number)
        assert len(chunks) <= 3 * workers, f"run {runs}: {chunks}"
        if runs > 8:
            break
    kaptanto.stop()
    assert len(seen) == rows, "nothing is missing, and repeated rows have the same identity"


def test_sigterm_in_the_middle_ends_soon_and_goes_on_later(db, pipeline):
    rows = 200_000
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)",
               f"INSERT INTO t SELECT g, md5(g::text) FROM generate_series(1, {rows}) g")
    kaptanto = backfill(pipeline, db, ["t"]).start_streaming()
    kaptanto.wait_for(lambda events: len(events) > 10_000, 60)
    kaptanto.stop(timeout=2)
    first = {int(e.key["id"]) for e in reads(kaptanto, "t")}
    kaptanto.start_streaming()
    wait_complete(kaptanto)
    second = {int(e.key["id"]) for e in reads(kaptanto, "t")}
    assert first | second == set(range(1, rows + 1))
    kaptanto.stop()


def test_a_key_that_changes_in_the_middle_begins_the_table_again(db, pipeline):
    rows = 300_000
    db.execute("CREATE TABLE t (id int PRIMARY KEY, other int NOT NULL, v text)",
               f"INSERT INTO t SELECT g, {rows} - g, 'v' FROM generate_series(1, {rows}) g")
    kaptanto = backfill(pipeline, db, ["t"], workers=1).start_streaming()
    kaptanto.wait_for(lambda events: len(events) > 1_000, 60)
    db.execute("ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (other)")
    wait_complete(kaptanto)
    last = reads(kaptanto, "t")[-1].metadata["snapshot_id"]
    again = [e for e in reads(kaptanto, "t") if e.metadata["snapshot_id"] == last]
    assert {int(e.after["id"]) for e in again} == set(range(1, rows + 1))
    assert set(again[-1].key) in ({"id"}, {"other"})
    kaptanto.stop()


def test_a_locked_table_does_not_hold_up_others(db, pipeline):
    db.execute("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)",
               "CREATE TABLE b (id int PRIMARY KEY)", "INSERT INTO b VALUES (1)")
    kaptanto = pipeline(db, ["a", "b"], config={"snapshot": {"mode": "never"}}).start_streaming()
    kaptanto.stop()
    kaptanto.config["snapshot"] = {"mode": "initial", "workers": 1, "lock-timeout": "100ms"}
    with db.connect(autocommit=False) as holder, holder.cursor() as cursor:
        cursor.execute("LOCK TABLE a IN ACCESS EXCLUSIVE MODE")
        kaptanto.start_streaming()
        kaptanto.wait_for(lambda _: len(reads(kaptanto, "b")) == 1)
        assert not reads(kaptanto, "a")
        holder.rollback()
    wait_complete(kaptanto)
    assert len(reads(kaptanto, "a")) == 1
    kaptanto.stop()


def test_without_a_key_under_writes_every_row_comes_and_goes(db, pipeline):
    """Counting equal rows: what was read and inserted, less what was deleted, is the table."""
    db.execute("CREATE TABLE t (a int, b text)", "ALTER TABLE t REPLICA IDENTITY FULL",
               "INSERT INTO t SELECT g % 5000, 'row' FROM generate_series(1, 60000) g")
    kaptanto = backfill(pipeline, db, ["t"]).start_streaming()
    with db.connect() as connection, connection.cursor() as cursor:
        for i in range(400):
            cursor.execute(f"INSERT INTO t VALUES ({10_000 + i}, 'new')")
            cursor.execute(f"DO $$ BEGIN BEGIN INSERT INTO t VALUES ({20_000 + i}, 'nested');"
                           " EXCEPTION WHEN others THEN NULL; END; END $$")
            cursor.execute(f"DELETE FROM t WHERE a = {i * 7 % 5000}")
            cursor.execute(f"UPDATE t SET b = 'changed' WHERE a = {(i * 11 + 3) % 5000}")
    wait_complete(kaptanto)
    kaptanto.drain()
    count = {}

    def add(row, by):
        key = (str(row["a"]), row["b"])
        count[key] = count.get(key, 0) + by

    for event in kaptanto.events:
        if event.table != "t" or event.operation == "control":
            continue
        if event.operation in ("update", "delete"):
            add(event.before, -1)
        if event.operation != "delete":
            add(event.after, 1)
    wanted = {(str(a), b): n for a, b, n in db.rows("SELECT a, b, count(*) FROM t GROUP BY 1, 2")}
    # A change of a row that was not read yet takes away what never came.
    found = {key: number for key, number in count.items() if number > 0}
    assert found == wanted
    kaptanto.stop()


def test_tables_without_a_key(db, pipeline):
    db.execute("CREATE TABLE t (a int, b text)", "ALTER TABLE t REPLICA IDENTITY FULL",
               "INSERT INTO t SELECT g % 100, 'row' FROM generate_series(1, 20000) g")
    kaptanto = backfill(pipeline, db, ["t"]).start_streaming()
    wait_complete(kaptanto)
    found = reads(kaptanto, "t")
    assert len(found) == 20000
    assert len({e.idempotency_key for e in found}) == 20000, "equal rows are told apart"
    kaptanto.stop()


def test_a_partitioned_table_is_read_under_its_own_name(each_db, pipeline):
    each_db.execute(
        "CREATE TABLE p (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE p2 (v text, id int NOT NULL)",
        "ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (100) TO (1000)",
        "INSERT INTO p SELECT g, 'v' || g FROM generate_series(1, 500) g")
    kaptanto = backfill(pipeline, each_db, ["p"]).start_streaming()
    wait_complete(kaptanto)
    found = reads(kaptanto, "p")
    assert sorted(int(e.key["id"]) for e in found) == list(range(1, 501))
    assert all(e.after["v"] == f"v{e.key['id']}" for e in found)
    kaptanto.stop()


def test_a_table_that_cannot_be_read_stops_alone(db, pipeline):
    db.execute("CREATE TABLE good (id int PRIMARY KEY)", "INSERT INTO good VALUES (1)",
               "CREATE TABLE bad (id int PRIMARY KEY)", "INSERT INTO bad VALUES (1)",
               "CREATE ROLE backfiller LOGIN REPLICATION",
               f'GRANT CREATE ON DATABASE "{db.name}" TO backfiller',
               "GRANT SELECT ON good TO backfiller",
               "CREATE PUBLICATION pair FOR TABLE good, bad")
    try:
        kaptanto = pipeline(db, config={
            "source": db.dsn(user="backfiller"), "tables": {"good": {}, "bad": {}},
            "postgres": {"publication": "pair", "publication-mode": "existing"},
            "snapshot": {"mode": "initial"}})
        del kaptanto.config["tables"]["kaptanto_marker"]
        kaptanto.start()
        kaptanto.wait_for(lambda events: any(e.table == "good" and e.operation == "read"
                                             for e in events))
        wait_until(lambda: state_of(kaptanto, "bad")["state"] == "failed", 20, "failed state")
        assert state_of(kaptanto, "bad")["reason_code"] == "permission"
        db.execute("GRANT SELECT ON bad TO backfiller")
        kaptanto.stop()
        kaptanto.start()
        kaptanto.wait_for(lambda events: any(e.table == "bad" and e.operation == "read"
                                             for e in events))
        kaptanto.stop()
    finally:
        db.execute("DROP OWNED BY backfiller", "DROP ROLE backfiller")


def test_a_table_dropped_in_the_middle_stops_alone(db, pipeline):
    db.execute("CREATE TABLE good (id int PRIMARY KEY)",
               "INSERT INTO good SELECT generate_series(1, 50000)",
               "CREATE TABLE gone (id int PRIMARY KEY, v text)",
               "INSERT INTO gone SELECT g, repeat('x', 500) FROM generate_series(1, 200000) g")
    kaptanto = backfill(pipeline, db, ["good", "gone"]).start_streaming()
    kaptanto.wait_for(lambda events: any(e.table == "gone" for e in events))
    db.execute("DROP TABLE gone")
    wait_until(lambda: state_of(kaptanto, "gone")["state"] == "failed", 60, "failed state")
    kaptanto.wait_for(lambda _: len(reads(kaptanto, "good")) == 50000)
    kaptanto.stop()


def test_the_stream_goes_on_while_a_backfill_waits_for_a_lock(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)",
               "CREATE PUBLICATION made FOR TABLE t, kaptanto_marker")
    kaptanto = pipeline(db, ["t"], config={
        "postgres": {"publication": "made", "publication-mode": "existing"},
        "snapshot": {"mode": "never", "lock-timeout": "200ms"}}).start_streaming()
    kaptanto.stop()
    kaptanto.config["snapshot"]["mode"] = "initial"  # wanted after all
    with db.connect(autocommit=False) as holder, holder.cursor() as cursor:
        cursor.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        kaptanto.start_streaming()
        kaptanto.drain()
        kaptanto.wait_acknowledged(db.wal_position() - 1000)
        wait_until(lambda: "trying again" in kaptanto.log_tail(), 20, "a failed attempt")
        assert not reads(kaptanto, "t")
        holder.rollback()
    wait_complete(kaptanto)
    assert len(reads(kaptanto, "t")) == 1
    kaptanto.stop()


def test_server_that_forbids_messages(db, pipeline):
    """Nothing needs pg_logical_emit_message: WAL positions do."""
    function = "pg_logical_emit_message(boolean, text, text)"
    db.execute("CREATE TABLE t (id int PRIMARY KEY)",
               "INSERT INTO t SELECT generate_series(1, 20000)",
               "CREATE ROLE plain LOGIN REPLICATION",
               f'GRANT CREATE ON DATABASE "{db.name}" TO plain', "ALTER TABLE t OWNER TO plain",
               "CREATE PUBLICATION plain FOR TABLE t",
               f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
    try:
        kaptanto = pipeline(db, config={
            "source": db.dsn(user="plain"), "tables": {"t": {}},
            "postgres": {"publication": "plain", "publication-mode": "existing"},
            "snapshot": {"mode": "initial"}})
        del kaptanto.config["tables"]["kaptanto_marker"]
        kaptanto.start()
        wait_complete(kaptanto)
        assert len(reads(kaptanto, "t")) == 20000
        kaptanto.stop()
    finally:
        db.execute(f"GRANT EXECUTE ON FUNCTION {function} TO PUBLIC",
                   "DROP OWNED BY plain", "DROP ROLE plain")


def test_ten_thousand_tables_are_ready_to_stream_soon(db, pipeline):
    db.execute("DO $$ BEGIN FOR i IN 1..10000 LOOP"
               " EXECUTE format('CREATE TABLE many_%s (id int PRIMARY KEY)', i);"
               " IF i % 500 = 0 THEN COMMIT; END IF; END LOOP; END $$")
    db.execute("CREATE PUBLICATION everything FOR ALL TABLES")
    kaptanto = pipeline(db, config={
        "all-tables": True, "snapshot": {"mode": "initial"},
        "postgres": {"publication": "everything", "publication-mode": "existing"}})
    began = time.monotonic()
    kaptanto.start_streaming()
    db.execute("INSERT INTO many_777 VALUES (1)")
    kaptanto.wait_for(lambda events: any(e.table == "many_777" for e in events), 60)
    assert time.monotonic() - began < 20, "not a measurement: one query per table takes minutes"
    kaptanto.stop()


def test_on_demand(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v int)",
               "INSERT INTO t SELECT g, g % 10 FROM generate_series(1, 1000) g")
    port = str(random.randrange(20000, 50000))
    kaptanto = pipeline(db, ["t"], config={
        "snapshot": {"mode": "never"}, "port": int(port), "admin": {"enabled": True}})
    kaptanto.start_streaming()
    done = run_command("backfill", "start", "t", "--where", "v = 3", "--port", port)
    assert done.code == 0, done
    wait_complete(kaptanto)
    assert len(reads(kaptanto, "t")) == 100
    assert {e.after["v"] for e in reads(kaptanto, "t")} == {Number(3)}
    done = run_command("backfill", "start", "nothing", "--port", port)
    assert done.code != 0 and "nothing" in done.err, done
    done = run_command("backfill", "status", "--port", port, "--json")
    assert done.code == 0
    states = {b["table"]: b for b in json.loads(done.out)["backfills"]}
    assert states["public.t"]["state"] == "complete"
    assert states["public.t"]["rows_emitted"] == 100
    kaptanto.stop()
    done = run_command("backfill", "status", "--data-dir", kaptanto.data_dir, "--port", port)
    assert done.code == 0 and "public.t" in done.out, done


def test_pause_resume_and_cancel(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)",
               "INSERT INTO t SELECT g, repeat('x', 300) FROM generate_series(1, 300000) g")
    port = str(random.randrange(20000, 50000))
    kaptanto = pipeline(db, ["t"], config={
        "snapshot": {"mode": "initial"}, "port": int(port), "admin": {"enabled": True}})
    kaptanto.start_streaming()
    kaptanto.wait_for(lambda events: any(e.table == "t" and e.operation == "read" for e in events))
    assert run_command("backfill", "pause", "t", "--port", port).code == 0
    wait_until(lambda: state_of(kaptanto, "t")["state"] == "paused", 20, "paused")
    kaptanto.drain()
    paused = len(reads(kaptanto, "t"))
    assert paused < 300000
    assert run_command("backfill", "resume", "t", "--port", port).code == 0
    wait_complete(kaptanto)
    assert {int(e.key["id"]) for e in reads(kaptanto, "t")} == set(range(1, 300001))
    assert run_command("backfill", "cancel", "t", "--port", port).code != 0, "it is complete"
    kaptanto.stop()
