"""Write load for the crash loop, with a ledger of the truth.

A trigger on each table writes every row change into table `ledger`, inside the same transaction and
savepoint: what is rolled back leaves no entry, and what is committed does, whatever the client
was told before its connection broke. Ledger ids grow in the order of the changes of a transaction,
and of the changes of a key across transactions, since the row stays locked until the commit.
"""

import random
import threading

import psycopg2

TABLES = ["item", "doc", "pair", "scratch"]

SCHEMA = [
    "CREATE TABLE item (id bigint PRIMARY KEY, writer int, v bigint, pad text)",
    "CREATE TABLE doc (k text PRIMARY KEY, n int, body text)",
    "ALTER TABLE doc ALTER body SET STORAGE EXTERNAL",
    "ALTER TABLE doc REPLICA IDENTITY FULL",
    "CREATE TABLE pair (v int, b int, a int, big text, PRIMARY KEY (a, b))",
    "ALTER TABLE pair ALTER big SET STORAGE EXTERNAL",
    "CREATE TABLE scratch (id bigint PRIMARY KEY, v int)",
    "CREATE TABLE ledger (id bigserial PRIMARY KEY, xid bigint, relation text, operation text,"
    " old_row json, new_row json)",
    """
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO ledger (xid, relation, operation, old_row, new_row) VALUES (
        pg_current_xact_id()::text::bigint, TG_TABLE_NAME, lower(TG_OP),
        CASE WHEN TG_OP IN ('UPDATE', 'DELETE') THEN to_json(OLD) END,
        CASE WHEN TG_OP IN ('INSERT', 'UPDATE') THEN to_json(NEW) END);
      RETURN NULL;
    END $$
    """,
    *[
        f"CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION note()"
        for table in TABLES
    ],
    *[
        f"CREATE TRIGGER note_truncate AFTER TRUNCATE ON {table} EXECUTE FUNCTION note()"
        for table in TABLES
    ],
]

BODY = "(SELECT string_agg(md5((i + {0})::text), '') FROM generate_series(1, 100) i)"


class Writer(threading.Thread):
    """One session that writes random transactions until told to stop, through any crashes."""

    def __init__(self, database, number, seed):
        super().__init__(daemon=True)
        self._database = database
        self._number = number
        self._random = random.Random(seed)
        self._next_id = number * 1_000_000_000
        self._stopping = threading.Event()
        self._paused = threading.Event()
        self.transactions = 0
        self.fault = None

    def stop(self):
        self._stopping.set()
        self.join(60)
        assert not self.is_alive(), "a writer hangs"
        if self.fault:
            raise self.fault

    def run(self):
        while not self._stopping.is_set():
            try:
                self._session()
            except psycopg2.Error as fault:
                # No code: the connection broke. 57P: the server ends or recovers. It comes back.
                if fault.pgcode and not fault.pgcode.startswith("57P"):
                    self.fault = fault  # shown by stop()
                    return
                self._stopping.wait(0.05)

    def _session(self):
        connection = self._database.cluster.connect(self._database.name, autocommit=False)
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '1s'")
                connection.commit()
                while not self._stopping.is_set():
                    self._transaction(connection, cursor)
                    self._stopping.wait(self._random.expovariate(1 / 0.01))
        finally:
            connection.close()

    def _transaction(self, connection, cursor):
        kinds = [self._small, self._with_savepoints, self._documents, self._large, self._truncating]
        kind = self._random.choices(kinds, weights=[50, 25, 20, 2, 3])[0]
        try:
            kind(cursor)
            if self._random.random() < 0.08:
                connection.rollback()
            else:
                connection.commit()
            self.transactions += 1
        except (psycopg2.errors.LockNotAvailable, psycopg2.errors.DeadlockDetected,
                psycopg2.errors.UniqueViolation):
            connection.rollback()

    # -- kinds of transactions ---------------------------------------------------------------------

    def _small(self, cursor):
        for _ in range(self._random.randrange(1, 6)):
            self._change_item(cursor)

    def _with_savepoints(self, cursor):
        self._change_item(cursor)
        for name in ("a", "b", "c"):
            cursor.execute(f"SAVEPOINT {name}")
            self._small(cursor)
            choice = self._random.random()
            if choice < 0.5:
                cursor.execute(f"ROLLBACK TO {name}")
            elif choice < 0.8:
                cursor.execute(f"RELEASE {name}")
            self._change_pair(cursor)

    def _documents(self, cursor):
        key = f"doc \"{self._random.randrange(30)}\""
        n = self._random.randrange(1_000_000)
        cursor.execute(
            f"INSERT INTO doc VALUES (%s, %s, {BODY.format(n)})"
            " ON CONFLICT (k) DO UPDATE SET n = excluded.n", (key, n),
        )
        if self._random.random() < 0.3:
            cursor.execute("DELETE FROM doc WHERE k = %s", (key,))
        self._change_pair(cursor)

    def _large(self, cursor):
        """More than logical_decoding_work_mem, so that it is streamed before it ends; sometimes so
        much that it goes into the journal in several parts."""
        self._bulk(cursor, self._random.choice([200, 200, 500, 900, 3000]))
        if self._random.random() < 0.7:
            cursor.execute("SAVEPOINT large")
            self._bulk(cursor, self._random.randrange(150, 700))
            cursor.execute("ROLLBACK TO large" if self._random.random() < 0.6 else "RELEASE large")
        first = self._next_id - 100
        cursor.execute("UPDATE item SET v = v + 1 WHERE id >= %s AND writer = %s",
                       (first, self._number))
        cursor.execute("DELETE FROM item WHERE id < %s AND writer = %s", (first, self._number))

    def _truncating(self, cursor):
        for _ in range(3):
            cursor.execute("INSERT INTO scratch VALUES (%s, 1)", (self._new_id(),))
        if self._random.random() < 0.5:
            cursor.execute("TRUNCATE scratch")

    # -- changes -----------------------------------------------------------------------------------

    def _new_id(self):
        self._next_id += 1
        return self._next_id

    def _bulk(self, cursor, count):
        first = self._next_id + 1
        self._next_id += count
        cursor.execute(
            "INSERT INTO item SELECT i, %s, 0, repeat('p', 100) FROM generate_series(%s, %s) i",
            (self._number, first, first + count - 1),
        )

    def _change_item(self, cursor):
        choice = self._random.random()
        # Ids below 50 are shared by all writers, the rest are their own.
        shared = self._random.randrange(50)
        if choice < 0.3:
            cursor.execute("INSERT INTO item VALUES (%s, %s, %s, 'x')",
                           (self._new_id(), self._number, self._random.randrange(1000)))
        elif choice < 0.5:
            cursor.execute(
                "INSERT INTO item VALUES (%s, %s, 0, 'shared')"
                " ON CONFLICT (id) DO UPDATE SET v = item.v + 1, writer = excluded.writer",
                (shared, self._number))
        elif choice < 0.65:
            cursor.execute("DELETE FROM item WHERE id = %s", (shared,))
        elif choice < 0.8:
            # A key change: the old key may be used again by anyone later.
            cursor.execute("UPDATE item SET id = %s WHERE id = %s", (self._new_id(), shared))
        elif choice < 0.9:
            cursor.execute("UPDATE item SET id = %s WHERE id = %s",
                           (shared, self._next_id - self._random.randrange(5)))
        else:
            cursor.execute("UPDATE item SET v = v + 1 WHERE id = %s",
                           (self._next_id - self._random.randrange(20),))

    def _change_pair(self, cursor):
        a, b = self._random.randrange(8), self._random.randrange(4)
        choice = self._random.random()
        if choice < 0.4:
            cursor.execute(
                f"INSERT INTO pair VALUES (1, %s, %s, {BODY.format(b)})"
                " ON CONFLICT (a, b) DO UPDATE SET v = pair.v + 1", (b, a))
        elif choice < 0.7:
            cursor.execute("UPDATE pair SET a = a + 100, v = v + 1 WHERE a = %s AND b = %s", (a, b))
        elif choice < 0.85:
            cursor.execute("UPDATE pair SET a = a - 100 WHERE a = %s AND b = %s", (a + 100, b))
        else:
            cursor.execute("DELETE FROM pair WHERE a IN (%s, %s) AND b = %s", (a, a + 100, b))
