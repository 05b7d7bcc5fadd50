"""Metrics, health and status tell what is so: against the server's view, and when things stop."""

import json
import pathlib
import re
import urllib.error
import urllib.request

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from harness import Cluster, run_command
from harness.cluster import free_port
from harness.kaptanto import ROOT
from harness.waiting import hold_for, wait_until

DASHBOARD = ROOT / "deploy" / "grafana" / "kaptanto.json"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
REFERENCE = ROOT / "docs" / "operating" / "metrics.md"
NAME = re.compile(r"\b(?:kaptanto|process)_[a-z0-9_]+\b")


class Admin:
    """A pipeline with its admin API on, and what it says."""

    def __init__(self, pipeline, db, tables, **config):
        self.port = free_port() - 1
        self.kaptanto = pipeline(db, tables, config={
            "port": self.port, "admin": {"enabled": True}, **config})

    def get(self, path):
        """(status, body); (None, reason) when nobody answers."""
        url = f"http://127.0.0.1:{self.port + 1}{path}"
        try:
            with urllib.request.urlopen(url, timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return None, str(error)

    def metrics(self):
        """{(name, labels): value}, and the types by family, as Prometheus' parser reads them."""
        status, text = self.get("/metrics")
        assert status == 200, text
        samples, types = {}, {}
        for family in text_string_to_metric_families(text):
            assert family.name not in types, f"{family.name} twice"
            assert family.documentation
            types[family.name] = family.type
            for sample in family.samples:
                key = (sample.name, tuple(sorted(sample.labels.items())))
                assert key not in samples, key
                samples[key] = sample.value
        return samples, types

    def metric(self, name, **labels):
        """The sum over all series of this name with these labels; None without any."""
        found = [value for (other, has), value in self.metrics()[0].items()
                 if other == name and set(labels.items()) <= set(has)]
        return sum(found) if found else None

    def wait_metric(self, name, condition, timeout=30.0, **labels):
        def holds():
            value = self.metric(name, **labels)
            return value is not None and condition(value)

        wait_until(holds, timeout, f"{name}: {self.metric(name, **labels)}")

    def checks(self):
        """(status of /readyz, {name: (ok, detail)})."""
        status, body = self.get("/readyz")
        document = json.loads(body)
        assert document["ready"] == (status == 200)
        return status, {c["name"]: (c["ok"], c["detail"]) for c in document["checks"]}

    def wait_ready(self, ready=True, timeout=30.0):
        wanted = 200 if ready else 503
        wait_until(lambda: self.get("/readyz")[0] == wanted, timeout, f"readyz {wanted}")

    def command(self, *flags):
        return run_command("status", "--port", self.port, *flags)


def numbers(db, count=10):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)",
               f"INSERT INTO t SELECT g FROM generate_series(1, {count}) g")


@pytest.fixture
def own_db():
    """A database of a server that the test may stop."""
    with Cluster(15) as cluster:
        yield cluster.new_database()


# -- metrics --------------------------------------------------------------------------------------


def test_counts_what_happened(each_db, pipeline):
    each_db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    admin = Admin(pipeline, each_db, ["t"])
    admin.kaptanto.start_streaming()
    each_db.transaction("INSERT INTO t VALUES (1), (2)", "DELETE FROM t WHERE id = 1")
    each_db.execute("ALTER TABLE t ADD COLUMN w int", "INSERT INTO t VALUES (3)")
    delivered = len(admin.kaptanto.drain()) + 1  # and the marker
    admin.wait_metric("kaptanto_consumer_lag_events", lambda lag: lag == 0, consumer="stdout")
    assert admin.metric("kaptanto_events_delivered_total", consumer="stdout") == delivered
    assert admin.metric("kaptanto_journal_last_sequence") == delivered
    assert admin.metric("kaptanto_source_events_total", source="default") == delivered
    assert admin.metric("kaptanto_source_rows_total") == 5
    assert admin.metric("kaptanto_source_transactions_total") >= 3
    assert admin.metric("kaptanto_source_schema_changes_total") == 1
    assert admin.metric("kaptanto_source_received_bytes_total") > 100
    assert admin.metric("kaptanto_errors_total") == 0
    assert admin.metric("kaptanto_source_streaming") == 1
    assert admin.metric("kaptanto_journal_state", state="running") == 1
    admin.wait_metric("kaptanto_checkpoint_flushes_total", lambda count: count >= 1)
    admin.wait_metric("kaptanto_source_lag_bytes", lambda lag: lag == 0)
    admin.kaptanto.stop()


def test_histograms_and_process_are_plausible(db, pipeline):
    numbers(db)
    admin = Admin(pipeline, db, ["t"])
    admin.kaptanto.start_streaming()
    db.execute("UPDATE t SET v = 'x'")
    admin.kaptanto.drain()
    for name in ("kaptanto_journal_fsync_seconds", "kaptanto_journal_batch_bytes",
                 "kaptanto_commit_to_durable_seconds", "kaptanto_durable_to_delivered_seconds"):
        admin.wait_metric(name + "_count", lambda count: count >= 1)
        samples, types = admin.metrics()
        assert types[name] == "histogram"
        buckets = [(float(dict(labels)["le"]), value) for (other, labels), value in samples.items()
                   if other == name + "_bucket"]
        values = [value for _, value in sorted(buckets)]
        assert values == sorted(values) and sorted(buckets)[-1][0] == float("inf")
        assert values[-1] == sum(v for (n, _), v in samples.items() if n == name + "_count")
    # Server and process have the same clock here.
    assert 0 < admin.metric("kaptanto_commit_to_durable_seconds_sum") < 60
    rss = admin.metric("process_resident_memory_bytes")
    assert 0.5 < rss / admin.kaptanto.rss() < 2
    assert admin.metric("process_open_fds") > 10
    assert admin.metric("process_cpu_seconds_total") > 0
    version = run_command("--version").out.split()[-1]
    assert admin.metric("kaptanto_build_info", version=version) == 1
    admin.kaptanto.stop()


def test_lag_grows_while_the_sink_is_blocked(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    admin = Admin(pipeline, db, ["t"])
    admin.kaptanto.start_streaming(reading="later")
    db.execute("INSERT INTO t SELECT g, repeat('x', 500) FROM generate_series(1, 5000) g")
    admin.wait_metric("kaptanto_journal_last_sequence", lambda last: last == 5000)
    admin.wait_metric("kaptanto_consumer_lag_events", lambda lag: 1000 < lag <= 5000)
    behind = admin.metric("kaptanto_consumer_lag_events")
    delivered = admin.metric("kaptanto_events_delivered_total")
    assert behind + delivered == 5000
    # What is in the journal is no lag of the source.
    admin.wait_metric("kaptanto_source_lag_bytes", lambda lag: lag == 0)
    assert admin.checks()[0] == 200
    admin.kaptanto.read_stdout()
    admin.wait_metric("kaptanto_consumer_lag_events", lambda lag: lag == 0)
    assert admin.metric("kaptanto_events_delivered_total") == 5000
    admin.kaptanto.stop()


def test_named_clients_have_a_lag_too(db, pipeline):
    db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    admin = Admin(pipeline, db, ["t"], output="sse")
    admin.kaptanto.start_streaming()
    url = f"http://127.0.0.1:{admin.port}/events?consumer=search&from=earliest"
    with urllib.request.urlopen(url, timeout=20) as stream:
        db.execute("INSERT INTO t VALUES (1), (2)")
        wait_until(lambda: b'"id":2' in stream.readline(), 20, "the second event")
        admin.wait_metric("kaptanto_consumer_lag_events", lambda lag: lag == 0,
                          consumer="sse:search")
    db.execute("INSERT INTO t VALUES (3), (4), (5)")
    admin.wait_metric("kaptanto_consumer_lag_events", lambda lag: lag == 3, consumer="sse:search")
    screen = admin.command()
    assert "sse:search: 3 events behind" in screen.out, screen
    admin.kaptanto.stop()


def test_slot_metrics_are_those_of_the_server(each_db, pipeline):
    numbers(each_db)
    admin = Admin(pipeline, each_db, ["t"])
    admin.kaptanto.start_streaming()

    def server_says():
        return each_db.rows(
            "SELECT wal_status, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint,"
            " safe_wal_size FROM pg_replication_slots WHERE slot_name = 'kaptanto_default'")[0]

    def equal():
        status, retained, safe = server_says()
        return (admin.metric("kaptanto_slot_wal_status", status=status) == 1
                and admin.metric("kaptanto_slot_wal_status") == 1
                and admin.metric("kaptanto_slot_retained_bytes") == retained
                and admin.metric("kaptanto_slot_safe_wal_bytes") == safe)

    wait_until(equal, 60, "slot metrics equal to pg_replication_slots")
    admin.kaptanto.stop()


def test_reconnects_are_counted(db, pipeline):
    numbers(db)
    admin = Admin(pipeline, db, ["t"])
    walsender = admin.kaptanto.start_streaming() and db.walsender()
    admin.wait_metric("kaptanto_source_streaming", lambda value: value == 1)
    assert admin.metric("kaptanto_source_reconnects_total") == 0
    db.rows("SELECT pg_terminate_backend(%s)", (walsender,))
    admin.wait_metric("kaptanto_source_reconnects_total", lambda count: count == 1)
    assert admin.metric("kaptanto_source_streaming") == 1
    admin.kaptanto.stop()


def test_backfills_are_in_the_metrics_by_table(db, pipeline):
    numbers(db, 100)
    admin = Admin(pipeline, db, ["t"], snapshot={"mode": "initial"})
    admin.kaptanto.start_streaming()
    admin.wait_metric("kaptanto_backfill_state", lambda value: value == 1, table="public.t",
                      state="complete")
    assert admin.metric("kaptanto_backfill_rows_read_total", table="public.t") == 100
    admin.kaptanto.stop()


# -- health ---------------------------------------------------------------------------------------


def test_ready_only_while_the_server_streams(own_db, pipeline):
    numbers(own_db)
    cluster = own_db.cluster
    cluster.stop()
    admin = Admin(pipeline, own_db, ["t"])
    admin.kaptanto.start()
    wait_until(lambda: admin.get("/healthz")[0] == 200, 20, "admin API")
    wait_until(lambda: "not streaming" in admin.checks()[1]["source"][1], 20, "its reason")
    status, checks = admin.checks()
    assert status == 503 and not checks["source"][0] and checks["journal"] == (True, "running")
    assert admin.get("/startupz")[0] == 503
    cluster.start()
    own_db.reconnect()
    admin.wait_ready(timeout=60)
    assert admin.get("/startupz")[0] == 200
    cluster.stop("immediate")
    admin.wait_ready(False)
    assert not admin.checks()[1]["source"][0]
    assert admin.get("/healthz")[0] == 200 and admin.get("/startupz")[0] == 200
    screen = admin.command()
    assert screen.code == 0 and "NOT READY" in screen.out and "not streaming" in screen.out, screen
    cluster.start()
    own_db.reconnect()
    admin.wait_ready(timeout=60)
    admin.kaptanto.stop()


def test_not_ready_beyond_the_lag_that_is_allowed(db, pipeline):
    """A full event log makes the source wait: it lags, and then it is seen to stand still."""
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    admin = Admin(pipeline, db, ["t"], retention="0",
                  journal={"segment-bytes": "1MiB", "max-bytes": "2MiB"},
                  health={"max-lag": "256KiB", "stall-time": "2s"})
    admin.kaptanto.start_streaming(reading="later")
    admin.wait_ready()
    for start in range(0, 8000, 1000):
        db.execute(f"INSERT INTO t SELECT g, repeat('x', 1000)"
                   f" FROM generate_series({start + 1}, {start + 1000}) g")

    def failing(name):
        wait_until(lambda: not admin.checks()[1][name][0], 60, f"check {name}: {admin.checks()}")

    failing("lag")
    failing("journal")
    failing("progress")
    assert "nothing was decoded" in admin.checks()[1]["progress"][1]
    assert admin.metric("kaptanto_source_stalled_seconds") >= 2
    assert admin.metric("kaptanto_journal_state", state="paused") == 1
    admin.kaptanto.read_stdout()
    admin.wait_ready(timeout=60)
    assert admin.metric("kaptanto_source_stalled_seconds") == 0
    admin.kaptanto.stop()


def test_an_idle_source_is_not_stalled(db, pipeline):
    """WAL that holds nothing for us is no lag and no stall."""
    numbers(db)
    db.execute("CREATE TABLE other (id int, v text)")
    admin = Admin(pipeline, db, ["t"], health={"stall-time": "1s"})
    admin.kaptanto.start_streaming()
    admin.wait_ready()
    for _ in range(5):
        db.execute("INSERT INTO other SELECT g, repeat('x', 100) FROM generate_series(1, 2000) g")
        hold_for(0.5, lambda: admin.checks()[1]["progress"][0], "progress")
    admin.wait_metric("kaptanto_source_lag_bytes", lambda lag: lag == 0)
    admin.kaptanto.stop()


# -- kaptanto status ------------------------------------------------------------------------------


def test_status_shows_one_screen(db, pipeline):
    numbers(db)
    admin = Admin(pipeline, db, ["t"])
    admin.kaptanto.start_streaming()
    db.execute("UPDATE t SET v = 'x'")
    admin.kaptanto.drain()
    admin.wait_ready()
    wait_until(lambda: json.loads(admin.get("/api/v1/status")[1])["slot"]["wal_status"], 20, "slot")
    screen = admin.command()
    assert screen.code == 0, screen
    for word in ("source", "default, streaming", "lag", "slot", "kaptanto_default", "journal",
                 "running", "backfill", "consumers", "stdout: 0 events behind, 11 delivered"):
        assert word in screen.out, screen
    assert len(screen.out.splitlines()) < 24
    done = admin.command("--json")
    status = json.loads(done.out)
    assert done.code == 0 and status["ready"] is True
    assert status["source"]["state"] == "streaming"
    assert status["journal"]["last_sequence"] == 11
    assert status["slot"]["wal_status"] == "reserved"
    assert status["consumers"] == [
        {"name": "stdout", "acknowledged": 11, "lag_events": 0, "delivered": 11, "errors": 0}]
    admin.kaptanto.stop()


def test_status_without_a_process():
    done = run_command("status", "--port", free_port() - 1)
    assert done.code == 4 and not done.out
    assert len(done.err.splitlines()) == 1 and "is kaptanto running?" in done.err


# -- dashboard, rules and reference ---------------------------------------------------------------


@pytest.fixture
def exported(db, pipeline):
    """Names of all samples and families that a process exports."""
    numbers(db)
    admin = Admin(pipeline, db, ["t"], snapshot={"mode": "initial"})
    admin.kaptanto.start_streaming()
    wait_until(lambda: admin.metric("kaptanto_slot_wal_status"), 20, "slot")
    samples, types = admin.metrics()
    text = admin.get("/metrics")[1]
    admin.kaptanto.stop()
    families = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    # One that has no series now may still be used.
    return {name for name, _ in samples} | set(families), families


def used_names(expressions):
    return {name for expression in expressions for name in NAME.findall(expression)}


def test_dashboard_and_rules_use_what_is_exported(exported):
    names, _ = exported
    dashboard = json.loads(DASHBOARD.read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    assert len(panels) >= 10 and all(panel["targets"] for panel in panels)
    assert used_names(expressions) and used_names(expressions) <= names, \
        used_names(expressions) - names
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"]
             for rule in group["rules"]]
    for rule in rules:
        assert used_names([rule["expr"]]), rule
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"] and rule["annotations"]["description"]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 6
    assert used_names(rule["expr"] for rule in rules) <= names
    for expression in [*expressions, *(rule["expr"] for rule in rules)]:
        assert expression.count("(") == expression.count(")"), expression


def test_reference_has_every_metric(exported):
    rows = re.findall(r"^\| `([a-z_]+)` \| (\w+) \|", pathlib.Path(REFERENCE).read_text(),
                      re.MULTILINE)
    assert dict(rows) == exported[1]
    assert len(rows) == len(dict(rows))
