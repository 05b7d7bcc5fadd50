"""The publication follows the configuration, or is left alone when it is the user's own."""

import pytest

from harness import run_command


def published(db, name="kaptanto_pub_default"):
    rows = db.rows(
        "SELECT schemaname || '.' || tablename FROM pg_publication_tables WHERE pubname = %s",
        (name,),
    )
    return {table for (table,) in rows if table != "public.kaptanto_marker"}


@pytest.fixture
def tables(edge_db):
    for name in ("a", "b", "c"):
        edge_db.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, v int)")
    return edge_db


def insert_all(db, value):
    for name in ("a", "b", "c"):
        db.execute(f"INSERT INTO {name} VALUES ({value})")


def names(events):
    return [e.table for e in events if e.operation != "control"]


def test_table_added_and_removed_later(tables, pipeline):
    kaptanto = pipeline(tables, tables=["a"]).start_streaming()
    insert_all(tables, 1)
    assert names(kaptanto.drain()) == ["a"]
    kaptanto.stop()

    kaptanto.config["tables"]["public.b"] = {}
    kaptanto.start_streaming()
    insert_all(tables, 2)
    assert names(kaptanto.drain()) == ["a", "b"]
    assert published(tables) == {"public.a", "public.b"}
    kaptanto.stop()

    del kaptanto.config["tables"]["a"]
    kaptanto.start_streaming()
    insert_all(tables, 3)
    assert names(kaptanto.drain()) == ["b"]
    assert published(tables) == {"public.b"}


def test_from_listed_tables_to_all_and_back(tables, pipeline):
    kaptanto = pipeline(tables, tables=["a"]).start_streaming()
    kaptanto.stop()
    listed = kaptanto.config.pop("tables")
    kaptanto.config["all-tables"] = True
    kaptanto.start_streaming()
    insert_all(tables, 1)
    assert names(kaptanto.drain()) == ["a", "b", "c"]
    kaptanto.stop()

    kaptanto.config["tables"] = listed
    del kaptanto.config["all-tables"]
    kaptanto.start_streaming()
    insert_all(tables, 2)
    assert names(kaptanto.drain()) == ["a"]


def test_unchanged_configuration_leaves_the_publication_untouched(tables, pipeline):
    kaptanto = pipeline(tables, tables=["a", "c"]).start_streaming()
    version = ("SELECT xmin::text FROM pg_publication"
               " UNION ALL SELECT xmin::text FROM pg_publication_rel")
    before = sorted(tables.rows(version))
    kaptanto.stop()
    kaptanto.start_streaming()

    assert sorted(tables.rows(version)) == before


def test_changes_to_the_publication_are_logged(tables, pipeline):
    kaptanto = pipeline(tables, tables=["a"]).start_streaming()
    kaptanto.wait_log("create publication")
    kaptanto.stop()
    kaptanto.config["tables"]["b"] = {}
    kaptanto.start_streaming()
    kaptanto.wait_log("alter publication")


def test_managed_publication_that_someone_changed_is_mended(tables, pipeline):
    kaptanto = pipeline(tables, tables=["a", "b"]).start_streaming()
    kaptanto.stop()
    tables.execute(
        "ALTER PUBLICATION kaptanto_pub_default DROP TABLE b",
        "ALTER PUBLICATION kaptanto_pub_default SET (publish = 'insert')",
    )
    kaptanto.start_streaming()
    insert_all(tables, 1)
    tables.execute("DELETE FROM a", "DELETE FROM b", "TRUNCATE a")

    assert [(e.table, e.operation) for e in kaptanto.drain()] == [
        ("a", "insert"), ("b", "insert"), ("a", "delete"), ("b", "delete"), ("a", "truncate")
    ]


EXISTING = {"postgres": {"publication": "mine", "publication-mode": "existing"}}


def test_existing_publication_is_left_alone(tables, pipeline):
    tables.execute("CREATE PUBLICATION mine FOR TABLE a, b, kaptanto_marker")
    before = tables.rows("SELECT xmin::text FROM pg_publication")
    kaptanto = pipeline(tables, tables=["a"], config=EXISTING).start_streaming()
    insert_all(tables, 1)

    assert names(kaptanto.drain()) == ["a"], "the configuration still decides what arrives"
    assert published(tables, "mine") == {"public.a", "public.b"}
    assert tables.rows("SELECT xmin::text FROM pg_publication") == before
    assert tables.value("SELECT count(*) FROM pg_publication") == 1


def test_existing_publication_without_a_configured_table(tables, pipeline):
    tables.execute("CREATE PUBLICATION mine FOR TABLE a, kaptanto_marker")
    kaptanto = pipeline(tables, tables=["a", "b"], config=EXISTING).start()

    assert kaptanto.wait_exit() == 4, kaptanto.describe()
    assert "public.b" in kaptanto.stderr and "mine" in kaptanto.stderr
    assert "ALTER PUBLICATION" in kaptanto.stderr, "the statement that mends it"


def test_existing_publication_that_does_not_exist(tables, pipeline):
    kaptanto = pipeline(tables, tables=["a"], config=EXISTING).start()

    assert kaptanto.wait_exit() == 4, kaptanto.describe()
    assert "mine" in kaptanto.stderr
    assert tables.value("SELECT count(*) FROM pg_publication") == 0


@pytest.mark.parametrize("version", [15, 18])
def test_existing_publication_with_a_column_list(version, pipeline):
    from conftest import shared_cluster

    db = shared_cluster(version).new_database()
    try:
        db.execute("CREATE TABLE a (id int PRIMARY KEY, v int, hidden int)")
        db.execute("CREATE PUBLICATION mine FOR TABLE a (id, v), kaptanto_marker")
        kaptanto = pipeline(db, tables=["a"], config=EXISTING).start_streaming()
        db.execute("INSERT INTO a VALUES (1, 2, 3)", "UPDATE a SET v = 3")
        events = kaptanto.drain()
        assert [list(e.after) for e in events] == [["id", "v"], ["id", "v"]]
        kaptanto.stop()
    finally:
        db.drop()


def test_publication_with_a_configured_name(tables, pipeline):
    config = {"postgres": {"publication": "Named \"by\" me"}}
    kaptanto = pipeline(tables, tables=["a"], config=config).start_streaming()
    insert_all(tables, 1)

    assert names(kaptanto.drain()) == ["a"]
    assert published(tables, "Named \"by\" me") == {"public.a"}


def test_missing_tables_are_all_named_with_suggestions(tables, pipeline):
    kaptanto = pipeline(tables, tables=["public.aa", "b", "nowhere.c"]).start()

    assert kaptanto.wait_exit() == 4, kaptanto.describe()
    assert "public.aa" in kaptanto.stderr and "nowhere.c" in kaptanto.stderr
    assert "public.a" in kaptanto.stderr
    assert tables.slot() is None, "nothing was made"


def test_neither_tables_nor_all_tables_is_refused(tables, pipeline):
    config = pipeline(tables)
    config.config.pop("tables")
    config.start()

    assert config.wait_exit() == 3, config.describe()
    assert "tables" in config.stderr


def test_role_without_the_right_to_publish_is_told_what_to_grant(tables, pipeline):
    tables.execute("DROP ROLE IF EXISTS limited", "CREATE ROLE limited LOGIN REPLICATION")
    kaptanto = pipeline(tables, tables=["a"], config={"source": tables.dsn(user="limited")})
    kaptanto.start()
    try:
        assert kaptanto.wait_exit() == 4, kaptanto.describe()
        assert "GRANT" in kaptanto.stderr or "OWNER" in kaptanto.stderr, kaptanto.stderr
    finally:
        tables.execute("DROP OWNED BY limited", "DROP ROLE limited")


def test_role_without_superuser_works_with_an_existing_publication(tables, pipeline):
    """Replication, CONNECT and SELECT are enough."""
    tables.execute(
        "DROP ROLE IF EXISTS limited",
        "CREATE ROLE limited LOGIN REPLICATION",
        "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO limited",
        "CREATE PUBLICATION mine FOR TABLE a, kaptanto_marker",
    )
    config = {**EXISTING, "source": tables.dsn(user="limited")}
    kaptanto = pipeline(tables, tables=["a"], config=config).start_streaming()
    try:
        insert_all(tables, 1)
        assert names(kaptanto.drain()) == ["a"]
        assert not [r for r in kaptanto.log if r["level"] == "error"], kaptanto.log_tail()
        kaptanto.stop()
    finally:
        tables.execute("DROP OWNED BY limited", "DROP ROLE limited")


def test_plan_is_shown_by_doctor_without_changing_anything(tables):
    done = run_command("doctor", "--source", tables.dsn(), "--tables", "a,b")
    assert done.code in (0, 10), done
    assert tables.value("SELECT count(*) FROM pg_publication") == 0
    assert tables.slot() is None
