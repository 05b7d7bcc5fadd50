"""Every wrong input: one clear line, its own exit status, nothing changed, no secret shown."""

import json
import os
import pathlib
import pwd

import pytest

from conftest import shared_cluster
from harness import Cluster, run_command
from harness.cluster import PASSWORD_GROUP

SECRET = "s3cr3t-pass/word"


def assert_one_clear_line(done, code, *words):
    """Exit status `code`; stderr has one error line, with every word; no trace, no usage page."""
    assert done.code == code, done
    lines = done.error_lines
    assert len(lines) == 1, done
    for word in words:
        assert word.lower() in lines[0].lower(), (word, lines[0])
    for trace in ("terminate called", "Assertion", "Sanitizer", "what():", ".cc:", "stack"):
        assert trace not in done.err, done
    assert len(lines[0]) < 2000, done
    assert done.out == "", done


@pytest.fixture
def write(tmp_path):
    def write(text, name="kaptanto.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


# -- command line ----------------------------------------------------------------------------------

SOURCE = ["--source", "postgresql://nobody@127.0.0.1:1/none", "--tables", "t"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--tabels", "t"], 2, ["--tabels", "--tables"]),
        (["--sorce=x"], 2, ["--sorce", "--source"]),
        (["-z"], 2, ["-z"]),
        (["validat"], 2, ["validat", "validate"]),
        (["run", "extra"], 2, ["run"]),
        (["--source"], 2, ["--source"]),
        (["--port", "x", *SOURCE], 2, ["port", "x"]),
        (["--port", "70000", *SOURCE], 2, ["port", "70000"]),
        (["--output", "sdtout", *SOURCE], 2, ["sdtout", "stdout"]),
        (["--retention", "5parsecs", *SOURCE], 2, ["retention", "5parsecs"]),
        (["--retention", "-1h", *SOURCE], 2, ["retention", "-1h"]),
        (["--log-level", "loud", *SOURCE], 2, ["loud", "debug"]),
        (["--source-id", "Not OK!", *SOURCE], 2, ["source-id"]),
        (["--tables", 'a."b', "--source", "postgresql://x@127.0.0.1:1/y"], 2, ["tables"]),
        (["--tables", "a.b.c", "--source", "postgresql://x@127.0.0.1:1/y"], 2, ["a.b.c"]),
        (["journal"], 2, ["inspect"]),
        (["journal", "inspect"], 2, []),
        (["completion", "tcsh"], 2, ["tcsh", "bash"]),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_wrong_usage(arguments, code, words, tmp_path):
    """A fault of the command line is status 2 (usage) or 3 (a value that the schema refuses)."""
    done = run_command(*arguments, cwd=tmp_path)
    assert done.code in (code, 3), done
    assert_one_clear_line(done, done.code, *words)
    assert list(tmp_path.iterdir()) == [], "nothing was made"


def test_no_source_at_all(tmp_path):
    done = run_command(cwd=tmp_path)
    assert done.code in (2, 3), done
    assert_one_clear_line(done, done.code, "--source", "--config")


@pytest.mark.parametrize("output", ["grpc", "kafka", "nats", "sqs", "pubsub", "rabbitmq",
                                    "webhook", "vector"])
def test_outputs_that_are_not_built_yet_are_refused(output, tmp_path):
    done = run_command("--output", output, *SOURCE, cwd=tmp_path)
    assert_one_clear_line(done, 3, output)
    assert list(tmp_path.iterdir()) == []


def test_mongodb_is_refused_for_now(tmp_path):
    source = f"mongodb://u:{SECRET}@127.0.0.1/db"
    done = run_command("--source", source, "--tables", "t", cwd=tmp_path)
    assert_one_clear_line(done, 3, "mongodb")
    assert SECRET not in done.err


# -- configuration file ----------------------------------------------------------------------------

GOOD = {"source": "postgresql://nobody@127.0.0.1:1/none", "tables": {"t": {}}}


@pytest.mark.parametrize(
    ("addition", "words"),
    [
        ({"tabels": {}}, ["tabels", "tables"]),
        ({"tables": {"t": {"colums": ["a"]}}}, ["colums", "columns"]),
        ({"tables": {"t": {"where": "a >< 1"}}}, ["where", "t"]),
        ({"tables": {"t": {"where": "a = "}}}, ["where"]),
        ({"tables": {"t": {"operations": ["insert", "upsert"]}}}, ["upsert", "update"]),
        ({"tables": {"a.b.c": {}}}, ["a.b.c"]),
        ({"tables": 5}, ["tables"]),
        ({"port": "many"}, ["port"]),
        ({"port": 65536}, ["port"]),
        ({"output": "sdtout"}, ["sdtout", "stdout"]),
        ({"retention": "7 fortnights"}, ["retention"]),
        ({"values": {"int8": "hex"}}, ["int8", "hex", "string"]),
        ({"values": {"int9": "string"}}, ["int9", "int8"]),
        ({"postgres": {"sloot": "x"}}, ["sloot", "slot"]),
        ({"postgres": {"slot": "Bad Slot"}}, ["slot"]),
        ({"postgres": {"publication-mode": "shared"}}, ["publication-mode", "shared"]),
        ({"postgres": {"streaming": "perhaps"}}, ["streaming"]),
        ({"postgres": {"status-interval": "soon"}}, ["status-interval"]),
        ({"journal": {"segment-bytes": "-5"}}, ["segment-bytes"]),
        ({"log-level": "loud"}, ["log-level", "loud"]),
        ({"source-id": "Bad Id"}, ["source-id"]),
        ({"source": "${NO_SUCH_VARIABLE_HERE}"}, ["NO_SUCH_VARIABLE_HERE"]),
        ({"source": "postgresql://host:notaport/db"}, ["source"]),
        ({"source": ""}, ["source"]),
        ({"source": 5}, ["source"]),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else None,
)
def test_wrong_configuration(addition, words, write, tmp_path):
    path = write(json.dumps({**GOOD, **addition}))
    done = run_command("--config", path, "--data-dir", tmp_path / "data")
    assert_one_clear_line(done, 3, *words)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "text",
    ["tables: [unclosed", "\tsource: x", "source: a\nsource: b\n", "- just\n- a list\n",
     "just text",
     "a: &x [*x]", "\x00\x01\x02", "source: \"\xff\""],
)
def test_file_that_is_not_our_yaml(text, write):
    path = write(text)
    done = run_command("--config", path)
    assert_one_clear_line(done, 3, str(path))


def test_fault_names_file_and_line(write):
    path = write("source: postgresql://x@127.0.0.1:1/y\ntables:\n  t: {}\nporrt: 1\n")
    assert_one_clear_line(run_command("--config", path), 3, f"{path}:4", "porrt")


def test_missing_configuration_file(tmp_path):
    done = run_command("--config", tmp_path / "absent.yaml")
    assert_one_clear_line(done, 3, "absent.yaml", "No such file")


def test_configuration_file_that_is_a_directory(tmp_path):
    assert_one_clear_line(run_command("--config", tmp_path), 3, str(tmp_path))


def test_configuration_file_without_read_permission(tmp_path):
    path = tmp_path / "secret.yaml"
    path.write_text(json.dumps(GOOD))
    path.chmod(0)
    open_folders(tmp_path)
    done = run_command("--config", path, user=unprivileged())
    assert_one_clear_line(done, 3, str(path), "Permission denied")


def unprivileged():
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None


def open_folders(path):
    """Lets another user reach `path`."""
    for folder in (path, *path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != pathlib.Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)


# -- data directory --------------------------------------------------------------------------------


def test_data_directory_that_is_a_file(db, pipeline, tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        done = run_command("--source", db.dsn(), "--tables", "kaptanto_marker", "--data-dir", path)
        assert done.code in (6, 8), done
        assert_one_clear_line(done, done.code, str(path))
    assert db.slot() is None, "the server was not touched"


def test_data_directory_without_write_permission(db, tmp_path):
    folder = tmp_path / "readonly"
    folder.mkdir()
    folder.chmod(0o555)
    open_folders(folder)
    done = run_command("--source", db.dsn(), "--tables", "kaptanto_marker", "--data-dir",
                       folder / "data", user=unprivileged())
    assert done.code in (6, 8), done
    assert_one_clear_line(done, done.code, str(folder / "data"), "Permission denied")
    assert db.slot() is None


def segments(kaptanto):
    return sorted(path for path in (kaptanto.data_dir / "events").iterdir() if path.is_file())


@pytest.fixture
def stopped(db, pipeline):
    """A pipeline with 1,000 events in its journal, stopped."""
    db.execute("CREATE TABLE t (id int PRIMARY KEY, pad text)")
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    for _ in range(10):
        db.execute("INSERT INTO t SELECT coalesce((SELECT max(id) FROM t), 0) + i, repeat('x', 100)"
                   " FROM generate_series(1, 100) i")
        # Delivered, so durable: each hundred was synced by itself.
        events = kaptanto.drain()
    assert len(events) == 1000
    kaptanto.stop()
    return kaptanto


def expect_exit(kaptanto, code, *words):
    kaptanto.start()
    assert kaptanto.wait_exit() == code, kaptanto.describe()
    for word in words:
        assert word in kaptanto.stderr, (word, kaptanto.stderr)
    for trace in ("terminate called", "Assertion", "Sanitizer"):
        assert trace not in kaptanto.stderr


def test_journal_with_a_flipped_bit_in_the_middle(stopped):
    path = segments(stopped)[0]
    data = bytearray(path.read_bytes())
    at = data.find(b"xxxxxxxxxx", 20_000)
    data[at] ^= 0x01
    path.write_bytes(data)
    before = path.read_bytes()
    expect_exit(stopped, 7, path.name)
    assert path.read_bytes() == before, "evidence is kept"


def test_journal_of_a_newer_version(stopped):
    """The header's version comes right after the magic; see docs/formats/journal.md."""
    path = segments(stopped)[0]
    data = bytearray(path.read_bytes())
    data[8] += 1
    path.write_bytes(data)
    expect_exit(stopped, 7, path.name)


def test_journal_with_a_torn_tail_is_mended(stopped):
    """Bytes after the last whole frame are what a crash leaves; they are cut off and logged."""
    path = segments(stopped)[-1]
    data = bytearray(path.read_bytes())
    end = len(bytes(data).rstrip(b"\0"))
    data[end : end + 40] = b"\x5a" * 40
    path.write_bytes(data)
    stopped.start_streaming()
    stopped.db.execute("INSERT INTO t VALUES (5000, '')")
    assert [int(e.key["id"]) for e in stopped.drain()] == [5000]


def test_state_database_that_is_not_one(stopped):
    for name in ("checkpoint.db", "cursors.db"):
        path = stopped.data_dir / name
        assert path.exists()
        saved = path.read_bytes()
        for suffix in ("-wal", "-shm"):
            (stopped.data_dir / (name + suffix)).unlink(missing_ok=True)
        path.write_bytes(b"this is not a database at all" * 100)
        expect_exit(stopped, 7, name)
        path.write_bytes(saved)


def test_missing_segment_is_noticed(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, pad text)")
    config = {"journal": {"segment-bytes": 1 << 20}}
    kaptanto = pipeline(db, tables=["t"], config=config).start_streaming()
    db.execute("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 5000) i")
    kaptanto.drain()
    kaptanto.stop()
    files = segments(kaptanto)
    assert len(files) >= 4
    files[len(files) // 2].unlink()
    expect_exit(kaptanto, 7)


# -- server ----------------------------------------------------------------------------------------


def with_role(db, name, attributes):
    db.execute(f"DROP ROLE IF EXISTS {name}", f"CREATE ROLE {name} LOGIN {attributes}",
               f"GRANT {PASSWORD_GROUP} TO {name}")


@pytest.fixture
def password_role(db):
    with_role(db, "with_password", "SUPERUSER REPLICATION PASSWORD 'right'")
    yield "with_password"
    db.execute("DROP OWNED BY with_password", "DROP ROLE with_password")


def run_against(dsn, tmp_path, *flags):
    return run_command("--source", dsn, "--tables", "kaptanto_marker", "--data-dir",
                       tmp_path / "data", *flags)


def test_wrong_password(db, password_role, tmp_path):
    secret = SECRET.replace("/", "%2F")
    done = run_against(db.dsn(user=password_role, password=secret), tmp_path)
    assert_one_clear_line(done, 4, "password", password_role)
    assert "s3cr3t" not in done.err


def test_right_password_and_channel_binding(db, pipeline, password_role):
    dsn = db.dsn(user=password_role, password="right")
    kaptanto = pipeline(db, config={"source": dsn}).start_streaming()
    kaptanto.stop()
    assert "right@" not in kaptanto.stderr


@pytest.mark.parametrize(
    "form",
    ["postgresql://with_password:{s}@127.0.0.1:{port}/{db}",
     "postgresql://127.0.0.1:{port}/{db}?user=with_password&password={s}",
     "host=127.0.0.1 port={port} dbname={db} user=with_password password='{s}'"],
)
def test_password_is_redacted_in_every_form_of_dsn(db, password_role, tmp_path, form):
    dsn = form.format(s="hush-hush", port=db.cluster.port, db=db.name)
    done = run_against(dsn, tmp_path, "--log-level", "debug")
    assert done.code == 4, done
    assert "hush" not in done.err + done.out


def test_password_may_come_from_the_environment(db, pipeline, password_role):
    dsn = db.dsn(user=password_role, password="${PG_TEST_SECRET}")
    kaptanto = pipeline(db, config={"source": dsn}, env={"PG_TEST_SECRET": "right"})
    kaptanto.start_streaming()
    assert "right" not in pathlib.Path(f"/proc/{kaptanto.process.pid}/cmdline").read_text()
    kaptanto.stop()


def test_password_on_the_command_line_is_not_shown_by_ps(db, tmp_path, password_role):
    """The process hides what the user typed, as far as a process can."""
    import subprocess

    from harness import kaptanto_binary, wait_until

    dsn = db.dsn(user=password_role, password="right")
    process = subprocess.Popen(
        [str(kaptanto_binary()), "--source", dsn, "--tables", "kaptanto_marker",
         "--data-dir", str(tmp_path / "data")],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path,
    )
    try:
        wait_until(lambda: db.walsender(), 20, "streaming")
        line = pathlib.Path(f"/proc/{process.pid}/cmdline").read_text()
        assert ":right@" not in line, line
    finally:
        process.kill()
        process.wait()


def test_role_without_replication_right(db, tmp_path):
    db.execute("DROP ROLE IF EXISTS plain", "CREATE ROLE plain LOGIN",
               "CREATE PUBLICATION mine FOR TABLE kaptanto_marker")
    try:
        done = run_against(db.dsn(user="plain"), tmp_path, "--postgres-publication", "mine",
                           "--postgres-publication-mode", "existing")
        assert_one_clear_line(done, 4, "REPLICATION", "plain")
    finally:
        db.execute("DROP ROLE plain")


def test_unknown_role(db, tmp_path):
    done = run_against(db.dsn(user="nobody_here"), tmp_path)
    assert_one_clear_line(done, 4, "nobody_here")


def test_unknown_database(db, tmp_path):
    done = run_against(db.cluster.dsn("no_such_database"), tmp_path)
    assert_one_clear_line(done, 4, "no_such_database")


def test_tls_required_of_a_server_without_it(db, tmp_path):
    done = run_against(db.dsn(query="?sslmode=require"), tmp_path)
    assert_one_clear_line(done, 4, "SSL")


def test_server_with_wal_level_replica(tmp_path):
    with Cluster(15, {"wal_level": "replica"}) as cluster:
        db = cluster.new_database()
        done = run_against(db.dsn(), tmp_path)
        assert_one_clear_line(done, 4, "wal_level", "logical")
        assert db.value("SELECT count(*) FROM pg_publication") == 0


def test_server_without_free_slots(tmp_path):
    with Cluster(15, {"max_replication_slots": "1"}) as cluster:
        db = cluster.new_database()
        db.execute("SELECT pg_create_physical_replication_slot('other')")
        done = run_against(db.dsn(), tmp_path)
        assert_one_clear_line(done, 4, "max_replication_slots")


def test_standby_is_refused(tmp_path):
    """A server in recovery cannot hold a managed publication."""
    with Cluster(15) as cluster:
        db = cluster.new_database()
        cluster.stop()
        (cluster.data / "standby.signal").touch()
        cluster.start()
        done = run_against(db.dsn(), tmp_path)
        assert done.code == 4, done
        assert "standby" in done.err.lower() or "recovery" in done.err.lower(), done


def test_server_that_is_too_old_or_not_postgresql_is_no_crash(tmp_path):
    """Something else listens there."""
    import socket
    import threading

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def answer():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

    threading.Thread(target=answer, daemon=True).start()
    done = run_command("doctor", "--source", f"postgresql://x@127.0.0.1:{port}/y", "--tables", "t")
    listener.close()
    assert done.code == 10, done
    assert "Sanitizer" not in done.err


def test_shared_cluster_is_still_up():
    """The bad inputs above harmed nobody."""
    assert shared_cluster(15).connect().closed == 0
