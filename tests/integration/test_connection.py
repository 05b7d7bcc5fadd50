"""Ways to reach the server: forms of DSN, several hosts, sockets, TLS with channel binding."""

import os
import pwd
import shutil
import subprocess

import pytest

from harness import Cluster, run_command
from harness.cluster import PASSWORD_GROUP


def assert_streams(kaptanto):
    kaptanto.start_streaming()
    assert kaptanto.drain() == []
    kaptanto.stop()


@pytest.mark.parametrize(
    "form",
    [
        "postgres://postgres@127.0.0.1:{port}/{db}",
        "postgresql://127.0.0.1:{port}/{db}?user=postgres&connect_timeout=5",
        "host=127.0.0.1 port={port} dbname={db} user=postgres",
        "host='{socket}' port={port} dbname={db} user=postgres",
        "postgresql:///{db}?host={socket}&port={port}&user=postgres",
        "postgresql://postgres@127.0.0.1:1,127.0.0.1:{port}/{db}?target_session_attrs=primary",
        "postgresql://postgres@localhost:{port}/{db}?application_name=mine",
    ],
)
def test_forms_of_dsn(db, pipeline, form):
    dsn = form.format(port=db.cluster.port, db=db.name, socket=db.cluster.folder)
    assert_streams(pipeline(db, config={"source": dsn}))


def test_our_sessions_can_be_told_by_their_name(db, pipeline):
    kaptanto = pipeline(db)
    pid = kaptanto.start_streaming().wait_streaming()
    name = db.value(f"SELECT application_name FROM pg_stat_replication WHERE pid = {pid}")
    assert name.startswith("kaptanto")


def test_source_may_come_from_a_file(db, pipeline, tmp_path):
    secret = tmp_path / "dsn"
    secret.write_text(db.dsn() + "\n")
    assert_streams(pipeline(db, config={"source": None, "source-file": str(secret)}))


def test_source_may_come_from_the_environment(db, pipeline):
    assert_streams(pipeline(db, config={"source": None}, env={"KAPTANTO_SOURCE": db.dsn()}))


def test_settings_in_the_dsn_reach_the_walsender(db, pipeline):
    dsn = db.dsn(query="?options=-c%20wal_sender_timeout%3D4321ms")
    kaptanto = pipeline(db, config={"source": dsn}).start_streaming()
    assert kaptanto.drain() == []


# -- TLS ------------------------------------------------------------------------------------------


def make_certificate(folder, name):
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    subprocess.run(
        ["openssl", "req", "-new", "-x509", "-days", "2", "-nodes", "-subj", f"/CN={name}",
         "-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )
    key.chmod(0o600)
    return key, certificate


# 17 and newer write long values past their 8 KB buffer, in TLS records of up to 16 KB.
@pytest.fixture(scope="module", params=[15, 18])
def tls(request, tmp_path_factory):
    """A server with TLS, a role with a password, and the certificate to trust."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl command")
    folder = tmp_path_factory.mktemp("tls")
    with Cluster(request.param) as cluster:
        for file, name in zip(make_certificate(folder, "localhost"), ("server.key", "server.crt")):
            target = cluster.data / name
            shutil.copy(file, target)
            target.chmod(0o600)
            if os.geteuid() == 0:
                owner = pwd.getpwnam("postgres")
                os.chown(target, owner.pw_uid, owner.pw_gid)
        with open(cluster.data / "postgresql.auto.conf", "a") as file:
            file.write("ssl = on\n")
        cluster.restart()
        db = cluster.new_database()
        db.execute("CREATE ROLE reader LOGIN SUPERUSER PASSWORD 'right'",
                   f"GRANT {PASSWORD_GROUP} TO reader")
        yield db, folder


def tls_dsn(db, query, host="127.0.0.1", password="right"):
    return db.dsn(user="reader", password=password, host=host, query=query)


def test_tls_with_verification_and_channel_binding(tls, pipeline):
    db, folder = tls
    query = f"?sslmode=verify-full&sslrootcert={folder}/localhost.crt&channel_binding=require"
    kaptanto = pipeline(db, config={"source": tls_dsn(db, query)})
    pid = kaptanto.start_streaming().wait_streaming()
    assert db.value(f"SELECT ssl FROM pg_stat_ssl WHERE pid = {pid}")
    assert kaptanto.drain() == []
    kaptanto.stop()


@pytest.mark.parametrize("query", ["sslmode=verify-full", "sslmode=verify-ca"])
def test_tls_with_a_certificate_that_we_do_not_trust(tls, tmp_path, query):
    db, folder = tls
    make_certificate(tmp_path, "stranger")
    dsn = tls_dsn(db, f"?{query}&sslrootcert={tmp_path}/stranger.crt")
    done = run_command("--source", dsn, "--tables", "kaptanto_marker", "--data-dir", tmp_path / "d")
    assert done.code == 4, done
    assert len(done.error_lines) == 1 and "certificate" in done.err, done
    assert "right" not in done.err


def test_tls_with_a_root_certificate_that_is_missing(tls, tmp_path):
    db, _ = tls
    dsn = tls_dsn(db, "?sslmode=verify-full&sslrootcert=/nowhere/root.crt")
    done = run_command("--source", dsn, "--tables", "kaptanto_marker", "--data-dir", tmp_path / "d")
    assert done.code == 4, done
    assert "/nowhere/root.crt" in done.err


def test_wrong_password_over_tls(tls, tmp_path):
    db, _ = tls
    dsn = tls_dsn(db, "?sslmode=require", password="wrong-one")
    done = run_command("--source", dsn, "--tables", "kaptanto_marker", "--data-dir", tmp_path / "d")
    assert done.code == 4, done
    assert "password" in done.err and "wrong-one" not in done.err


def test_server_that_accepts_only_tls_from_a_client_without(tls, pipeline):
    """sslmode=prefer, libpq's default, takes TLS where there is TLS."""
    db, _ = tls
    kaptanto = pipeline(db, config={"source": tls_dsn(db, "")})
    pid = kaptanto.start_streaming().wait_streaming()
    assert db.value(f"SELECT ssl FROM pg_stat_ssl WHERE pid = {pid}")


def test_rows_of_any_size_over_tls_arrive_without_a_push(tls, pipeline):
    """A part of a TLS record that stays behind in the library makes no socket readable."""
    db, _ = tls
    db.execute("CREATE TABLE payloads (id int PRIMARY KEY, payload text)")
    kaptanto = pipeline(db, ["payloads"], config={"source": tls_dsn(db, "?sslmode=require")})
    kaptanto.start_streaming()
    sizes = [*range(7_000, 50_000, 1_111), 100_000, 1_000_000, 3_000_000]
    for count, size in enumerate(sizes, 1):
        db.execute(f"INSERT INTO payloads VALUES ({count}, repeat('x', {size}))")
        # Well below the interval of statuses, whose answers would be such a push.
        events = kaptanto.wait_count(count, timeout=5)
        assert len(events[-1].after["payload"]) == size
    kaptanto.stop()
    db.execute("DROP TABLE payloads")
