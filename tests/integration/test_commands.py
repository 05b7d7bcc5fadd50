"""The commands beside the pipeline, as a person or a script calls them."""

import json
import shutil
import subprocess

import pytest

from harness import Cluster, run_command

SHELLS = ["bash", "zsh", "fish"]
FLAGS = ["--source", "--tables", "--config", "--output", "--port", "--data-dir", "--retention",
         "--log-level", "--source-id", "--all-tables"]
COMMANDS = ["validate", "doctor", "version", "schema", "completion", "journal"]


def test_version():
    done = run_command("version")
    assert done.code == 0 and done.err == "", done
    assert "kaptanto" in done.out or "commit" in done.out
    assert done.out.count("\n") == 1
    assert run_command("--version").code == 0


def test_version_as_json():
    done = run_command("version", "--json")
    assert done.code == 0, done
    assert json.loads(done.out)["version"]


def test_help_names_every_flag_and_command():
    done = run_command("--help")
    assert done.code == 0 and done.err == "", done
    for word in ["kaptanto", *FLAGS, *COMMANDS]:
        assert word in done.out, word


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command):
    done = run_command(command, "--help")
    assert done.code == 0 and command in done.out, done


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_a_script_of_its_shell(shell, tmp_path):
    done = run_command("completion", shell)
    assert done.code == 0 and done.err == "", done
    assert "kaptanto" in done.out and "tables" in done.out
    if shutil.which(shell):
        path = tmp_path / "completion"
        path.write_text(done.out)
        checked = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr


def test_bash_completion_completes():
    script = (
        f"source <('{binary()}' completion bash) &&"
        " COMP_WORDS=(kaptanto --ta) COMP_CWORD=1 COMP_LINE='kaptanto --ta' COMP_POINT=13 &&"
        " f=$(complete -p kaptanto | sed -E 's/.*-F ([^ ]+).*/\\1/') &&"
        " $f kaptanto --ta kaptanto &&"
        " printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert "--tables" in done.stdout, (done.stdout, done.stderr)


def binary():
    from harness import kaptanto_binary

    return kaptanto_binary()


def test_schema_is_a_json_schema_that_knows_the_keys():
    done = run_command("schema")
    assert done.code == 0 and done.err == "", done
    schema = json.loads(done.out)
    assert "$schema" in schema
    properties = schema["properties"]
    for key in ["source", "tables", "output", "port", "data-dir", "retention", "log-level",
                "source-id",
                "all-tables", "values", "journal", "postgres"]:
        assert key in properties, key
    assert set(properties["values"]["properties"]) == {"int8", "numeric", "mode"}
    assert schema.get("additionalProperties") is False


# -- validate --------------------------------------------------------------------------------------


def test_validate_accepts_a_good_file(tmp_path):
    path = tmp_path / "k.yaml"
    path.write_text(
        "source: ${DSN:-postgresql://127.0.0.1/db}\n"
        "retention: 7d\n"
        "log-level: warn\n"
        "tables:\n"
        "  orders: {}\n"
        '  public."Camel.Case":\n'
        "    columns: [id, name]\n"
        "    where: \"status = 'paid' AND total > 10\"\n"
        "    operations: [insert, update]\n"
        "  'logs_*':\n"
        "postgres:\n"
        "  messages: ['outbox*']\n"
        "  status-interval: 5s\n"
        "values:\n"
        "  int8: string\n"
    )
    done = run_command("validate", "--config", path)
    assert done.code == 0, done
    done = run_command("validate", "--config", path, "--json")
    assert done.code == 0 and json.loads(done.out), done


def test_validate_names_all_faults_at_once(tmp_path):
    path = tmp_path / "k.yaml"
    path.write_text(
        "source: postgresql://127.0.0.1/db\n"
        "porrt: 1\n"
        "output: sdtout\n"
        "retention: soon\n"
        "tables:\n"
        "  t:\n"
        "    where: 'a >< 1'\n"
        "    colums: [a]\n"
    )
    done = run_command("validate", "--config", path)
    assert done.code == 3, done
    for word in ["porrt", "sdtout", "soon", "where", "colums"]:
        assert word in done.out + done.err, (word, done)

    done = run_command("validate", "--config", path, "--json")
    assert done.code == 3, done
    text = json.dumps(json.loads(done.out))
    for word in ["porrt", "sdtout", "soon", "where", "colums"]:
        assert word in text, (word, text)


def test_validate_needs_no_server_and_touches_no_file(tmp_path):
    done = run_command("validate", "--source", "postgresql://x@127.0.0.1:1/none", "--tables", "t",
                       cwd=tmp_path)
    assert done.code == 0, done
    assert list(tmp_path.iterdir()) == []


def test_flags_win_over_environment_and_file(db, pipeline, tmp_path):
    kaptanto = pipeline(db, config={"source-id": "from_file", "log-level": "error"})
    kaptanto.flags = ["--source-id", "from_flag"]
    kaptanto.env = {"KAPTANTO_SOURCE_ID": "from_env", "KAPTANTO_LOG_LEVEL": "info"}
    kaptanto.config["source-id"] = "from_flag"  # for the harness, which waits for this slot
    kaptanto.start_streaming()
    assert db.slot("kaptanto_from_flag") is not None
    assert kaptanto.log, "the environment's log level won over the file's"


# -- doctor ----------------------------------------------------------------------------------------


def doctor(db_dsn, *flags):
    done = run_command("doctor", "--source", db_dsn, "--json", *flags)
    return done, json.loads(done.out)


def checks_of(report):
    checks = report["checks"] if isinstance(report, dict) else report
    return {check["name"]: check for check in checks}


def test_doctor_finds_a_good_server_good(each_db):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    done = run_command("doctor", "--source", each_db.dsn(), "--tables", "t")
    assert done.code == 0, done
    done, report = doctor(each_db.dsn(), "--tables", "t")
    assert done.code == 0, done
    checks = checks_of(report)
    assert "wal_level" in checks
    assert not [check for check in checks.values() if check["verdict"] == "fail"], checks


def test_doctor_shows_all_faults_of_a_server_at_once_with_their_mending():
    settings = {"wal_level": "replica", "max_replication_slots": "1"}
    with Cluster(15, settings) as cluster:
        db = cluster.new_database()
        db.execute("SELECT pg_create_physical_replication_slot('other')",
                   "CREATE TABLE keyless (v int)")
        db.execute("CREATE ROLE weak LOGIN")
        done, report = doctor(db.dsn(user="weak"), "--tables", "keyless,absent")
        assert done.code == 10, done
        bad = [check for check in checks_of(report).values() if check["verdict"] != "pass"]
        text = json.dumps(bad)
        for word in ["wal_level", "max_replication_slots", "REPLICATION", "absent", "keyless"]:
            assert word in text, (word, text)
        assert all(check["fix"] for check in bad if check["verdict"] == "fail"), bad
        weak = db.dsn(user="weak")
        person = run_command("doctor", "--source", weak, "--tables", "keyless,absent")
        assert person.code == 10
        assert ("ALTER SYSTEM SET wal_level" in person.out
                or "wal_level = logical" in person.out), person


def test_doctor_finds_orphan_slots_and_changes_nothing(db):
    db.execute("SELECT pg_create_logical_replication_slot('kaptanto_forgotten', 'pgoutput')")
    done, report = doctor(db.dsn(), "--tables", "kaptanto_marker")
    assert "kaptanto_forgotten" in json.dumps(report), report
    assert done.code in (0, 10)
    assert db.slot("kaptanto_forgotten") is not None
    assert db.value("SELECT count(*) FROM pg_publication") == 0


def test_doctor_of_a_server_that_is_away():
    done, report = doctor("postgresql://x:hush-hush@127.0.0.1:1/none", "--tables", "t")
    assert done.code == 10, done
    assert "hush" not in done.out + done.err
    assert [c for c in checks_of(report).values() if c["verdict"] == "fail"]


def test_doctor_while_the_pipeline_runs(db, pipeline):
    kaptanto = pipeline(db).start_streaming()
    done, report = doctor(db.dsn(), "--tables", "kaptanto_marker")
    assert done.code == 0, (done, report)
    assert kaptanto.alive()


# -- journal inspect -------------------------------------------------------------------------------


@pytest.fixture
def journal(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    db.execute("INSERT INTO t SELECT generate_series(1, 100)")
    db.execute("DELETE FROM t WHERE id = 1")
    delivered = kaptanto.drain()
    kaptanto.stop()
    return kaptanto, delivered


def test_journal_inspect_summarises(journal):
    kaptanto, _ = journal
    done = run_command("journal", "inspect", kaptanto.journal)
    assert done.code == 0, done
    assert "1..102" in done.out, "100 inserts, a delete and the marker"
    done = run_command("journal", "inspect", kaptanto.journal, "--json")
    records = [json.loads(line) for line in done.out.splitlines()]
    assert {record["type"] for record in records} == {"segment", "frame", "end"}
    assert records[-1]["events"] == 102 and records[-1]["faults"] == 0


def test_journal_inspect_prints_the_events_as_they_were_delivered(journal):
    kaptanto, delivered = journal
    assert [e.raw for e in kaptanto.journal_events()] == [e.raw for e in delivered]
    done = run_command("journal", "inspect", kaptanto.journal, "--events")
    assert done.code == 0, done
    assert all(event.raw.decode().strip() in done.out for event in delivered)


def test_journal_inspect_of_a_running_pipeline(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    db.execute("INSERT INTO t VALUES (1)")
    kaptanto.drain()
    done = run_command("journal", "inspect", kaptanto.journal)
    assert done.code == 0, done
    assert kaptanto.alive()


@pytest.mark.parametrize("make", ["nothing", "empty", "file"])
def test_journal_inspect_of_something_else(make, tmp_path):
    path = tmp_path / "x"
    if make == "empty":
        path.mkdir()
    if make == "file":
        path.write_text("hello")
    done = run_command("journal", "inspect", path)
    assert done.code not in (0, 1, 134, 139), done
    assert len(done.error_lines) == 1 and str(path) in done.err, done


def test_journal_inspect_names_damage(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    kaptanto = pipeline(db, tables=["t"]).start_streaming()
    for number in range(3):
        db.execute(f"INSERT INTO t VALUES ({number})")
        kaptanto.drain()
    kaptanto.stop()
    path = next(p for p in sorted((kaptanto.data_dir / "events").iterdir()) if p.is_file())
    data = bytearray(path.read_bytes())
    data[data.find(b'"operation":"insert"')] ^= 0x20
    path.write_bytes(data)
    done = run_command("journal", "inspect", kaptanto.journal)
    assert done.code == 7, done
    assert path.name in done.out + done.err
