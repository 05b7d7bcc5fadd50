"""Keys and row images for each replica identity, and columns that the server does not send.

One run per server version makes every change; the tests look at what arrived.
"""

import pytest

from conftest import shared_cluster
from harness import SUPPORTED_VERSIONS, Kaptanto, Number

# Incompressible and longer than a page's share, so that it is stored out of line.
BIG = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 400) i)"

SCHEMA = [
    "CREATE TABLE by_default (id int PRIMARY KEY, code text UNIQUE, v int)",
    "CREATE TABLE by_full (v int, id int PRIMARY KEY, code text)",
    "ALTER TABLE by_full REPLICA IDENTITY FULL",
    "CREATE TABLE by_index (id int PRIMARY KEY, b int NOT NULL, a text NOT NULL, v int)",
    "CREATE UNIQUE INDEX by_index_ab ON by_index (a, b)",
    "ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_ab",
    "CREATE TABLE by_nothing (id int PRIMARY KEY, v int)",
    "ALTER TABLE by_nothing REPLICA IDENTITY NOTHING",
    "CREATE TABLE keyless (v int, w text)",
    "CREATE TABLE keyless_full (v int, w text)",
    "ALTER TABLE keyless_full REPLICA IDENTITY FULL",
    "CREATE TABLE toast_default (id int PRIMARY KEY, big text, v int)",
    "ALTER TABLE toast_default ALTER big SET STORAGE EXTERNAL",
    "CREATE TABLE toast_full (id int PRIMARY KEY, big text, v int)",
    "ALTER TABLE toast_full ALTER big SET STORAGE EXTERNAL",
    "ALTER TABLE toast_full REPLICA IDENTITY FULL",
]
CHANGES = [
    "INSERT INTO by_default VALUES (1, 'a', 10)",
    "UPDATE by_default SET v = 11",
    "UPDATE by_default SET id = 2",
    "DELETE FROM by_default",
    "INSERT INTO by_full VALUES (10, 1, NULL)",
    "UPDATE by_full SET v = 11",
    "UPDATE by_full SET id = 2",
    "DELETE FROM by_full",
    "INSERT INTO by_index VALUES (1, 7, 'x', 10)",
    "UPDATE by_index SET v = 11",
    "UPDATE by_index SET id = 2",
    "UPDATE by_index SET a = 'y'",
    "DELETE FROM by_index",
    "INSERT INTO by_nothing VALUES (1, 10)",
    "INSERT INTO keyless VALUES (1, 'same'), (1, 'same'), (2, 'other')",
    "INSERT INTO keyless_full VALUES (1, 'x')",
    "UPDATE keyless_full SET v = 2",
    "DELETE FROM keyless_full",
    f"INSERT INTO toast_default VALUES (1, {BIG}, 1)",
    "UPDATE toast_default SET v = 2",
    "UPDATE toast_default SET big = 'short'",
    f"UPDATE toast_default SET big = {BIG} || 'x'",
    "UPDATE toast_default SET id = 2",
    "UPDATE toast_default SET big = NULL",
    "DELETE FROM toast_default",
    f"INSERT INTO toast_full VALUES (1, {BIG}, 1)",
    "UPDATE toast_full SET v = 2",
    "DELETE FROM toast_full",
]
TABLES = [
    "by_default", "by_full", "by_index", "keyless_full", "toast_default", "toast_full",
]
# Publishing updates of these would make the server refuse them, from everyone.
INSERT_ONLY = ["by_nothing", "keyless"]


@pytest.fixture(scope="module", params=SUPPORTED_VERSIONS, ids=lambda v: f"pg{v}")
def events(request, tmp_path_factory):
    """Events by table."""
    db = shared_cluster(request.param).new_database()
    config = {"tables": {name: {"operations": ["insert"]} for name in INSERT_ONLY}}
    kaptanto = Kaptanto(tmp_path_factory.mktemp("identity"), db, TABLES, config)
    try:
        db.execute(*SCHEMA)
        kaptanto.start_streaming()
        db.execute(*CHANGES)
        arrived = kaptanto.drain()
    finally:
        kaptanto.kill()
        db.drop()
    return {table: [e for e in arrived if e.table == table] for table in TABLES + INSERT_ONLY}


def row(**columns):
    return {name: Number(v) if isinstance(v, int) else v for name, v in columns.items()}


def images(events):
    return [(e.operation, e.key, e.before, e.after) for e in events]


def test_default_identity(events):
    assert images(events["by_default"]) == [
        ("insert", row(id=1), None, row(id=1, code="a", v=10)),
        ("update", row(id=1), None, row(id=1, code="a", v=11)),
        ("update", row(id=2), row(id=1), row(id=2, code="a", v=11)),
        ("delete", row(id=2), row(id=2), None),
    ]


def test_full_identity_keeps_the_primary_key_as_key(events):
    assert images(events["by_full"]) == [
        ("insert", row(id=1), None, row(v=10, id=1, code=None)),
        ("update", row(id=1), row(v=10, id=1, code=None), row(v=11, id=1, code=None)),
        ("update", row(id=2), row(v=11, id=1, code=None), row(v=11, id=2, code=None)),
        ("delete", row(id=2), row(v=11, id=2, code=None), None),
    ]


def test_index_identity_uses_the_index_columns(events):
    assert images(events["by_index"]) == [
        ("insert", row(a="x", b=7), None, row(id=1, b=7, a="x", v=10)),
        ("update", row(a="x", b=7), None, row(id=1, b=7, a="x", v=11)),
        ("update", row(a="x", b=7), None, row(id=2, b=7, a="x", v=11)),
        ("update", row(a="y", b=7), row(b=7, a="x"), row(id=2, b=7, a="y", v=11)),
        ("delete", row(a="y", b=7), row(b=7, a="y"), None),
    ]
    assert list(events["by_index"][0].key) == ["a", "b"], "in index order"


def test_nothing_identity_still_has_its_primary_key(events):
    assert images(events["by_nothing"]) == [("insert", row(id=1), None, row(id=1, v=10))]


def test_rows_without_any_key_have_a_key_of_their_own(events):
    inserts = events["keyless"]
    assert [e.after for e in inserts] == [
        row(v=1, w="same"), row(v=1, w="same"), row(v=2, w="other")
    ]
    for event in inserts:
        assert list(event.key) == ["$row"]
        assert isinstance(event.key["$row"], str) and event.key["$row"]
    assert inserts[0].key != inserts[2].key
    assert len({e.idempotency_key for e in inserts}) == 3


def test_full_identity_without_any_key(events):
    insert, update, delete = events["keyless_full"]
    assert all(list(e.key) == ["$row"] for e in (insert, update, delete))
    assert (update.before, update.after) == (row(v=1, w="x"), row(v=2, w="x"))
    assert (delete.before, delete.after) == (row(v=2, w="x"), None)
    assert delete.key == update.key, "a row keeps its key from the change that made it"


def test_unchanged_large_value_is_named_and_left_out(events):
    insert, update, short, long, moved, null, delete = events["toast_default"]
    big = insert.after["big"]
    assert len(big) == 400 * 32
    assert update.after == row(id=1, v=2)
    assert update.metadata["unchanged"] == ["big"]
    assert short.after == row(id=1, big="short", v=2)
    assert long.after == row(id=1, big=big + "x", v=2)
    assert (moved.key, moved.before, moved.after) == (row(id=2), row(id=1), row(id=2, v=2))
    assert moved.metadata["unchanged"] == ["big"]
    assert null.after == row(id=2, big=None, v=2)
    assert delete.before == row(id=2)
    assert all("unchanged" not in e.metadata for e in (insert, short, long, null, delete))


def test_unchanged_large_value_is_filled_in_under_full_identity(events):
    insert, update, delete = events["toast_full"]
    assert update.after == {**insert.after, "v": Number(2)}
    assert update.before == insert.after
    assert "unchanged" not in update.metadata
    assert delete.before == update.after


def test_large_key_that_a_delete_leaves_behind(db, pipeline):
    """A replica identity key is sent whole even where the row holds it out of line."""
    db.execute(
        "CREATE TABLE t (k text PRIMARY KEY, big text, v int)",
        "ALTER TABLE t ALTER k SET STORAGE EXTERNAL",
    )
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    key = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 75) i)"
    db.execute(f"INSERT INTO t VALUES ({key}, {BIG}, 1)", "UPDATE t SET v = 2", "DELETE FROM t")
    insert, update, delete = kaptanto.drain()

    assert len(insert.key["k"]) == 75 * 32
    assert insert.key == update.key == delete.key == delete.before


INSERTS = {"tables": {"without_a_key": {"operations": ["insert"]}}}


def test_a_keyless_table_is_warned_about(db, pipeline):
    db.execute("CREATE TABLE without_a_key (v int)")
    kaptanto = pipeline(db, config=INSERTS).start_streaming()
    record = kaptanto.wait_log("without_a_key")
    assert record["level"] == "warn"


def test_a_keyless_table_is_not_published_unasked(db, pipeline):
    """It would break the application: the server refuses updates of such a table once published."""
    db.execute("CREATE TABLE without_a_key (v int)", "INSERT INTO without_a_key VALUES (1)")
    kaptanto = pipeline(db, tables=["without_a_key"]).start()
    assert kaptanto.wait_exit() == 4, kaptanto.describe()
    assert "REPLICA IDENTITY FULL" in kaptanto.stderr
    db.execute("UPDATE without_a_key SET v = 2")
    assert db.slot() is None
