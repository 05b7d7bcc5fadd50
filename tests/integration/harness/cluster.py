"""Throw-away PostgreSQL servers."""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import psycopg2

from harness.lifetime import end_with_parent
from harness.waiting import DeadlineError, wait_until

SUPPORTED_VERSIONS = (14, 15, 16, 17, 18)
ROOT = pathlib.Path(__file__).resolve().parents[3]

# The roles in this group must give their password, over TCP.
PASSWORD_GROUP = "needs_password"

# Each database has this table; see Kaptanto.drain().
MARKER_TABLE = "kaptanto_marker"

_BASE_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "wal_level": "logical",
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "max_connections": "60",
    "shared_buffers": "64MB",
    "max_wal_size": "2GB",
    "autovacuum": "off",
    "track_commit_timestamp": "on",
    "log_min_messages": "warning",
    "lc_messages": "C",
    "timezone": "Asia/Kathmandu",  # not UTC: a client that forgets to pin its zone shows it
}


def postgres_bin(version):
    """The folder of initdb, pg_ctl and postgres of `version`."""
    debian = pathlib.Path(f"/usr/lib/postgresql/{version}/bin")
    if (debian / "postgres").exists():
        return debian
    script = ROOT / "tools" / "postgres-bin.sh"
    done = subprocess.run(
        ["bash", str(script), str(version)], stdout=subprocess.PIPE, text=True, check=True
    )
    return pathlib.Path(done.stdout.strip().splitlines()[-1])


def free_port():
    """A port nobody listens on, outside the range that outgoing connections are given."""
    low = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    start = 10000 + (os.getpid() * 37 + time.monotonic_ns() // 1000) % (low - 11000)
    for port in range(start, low):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port")


class Cluster:
    """One server of one version in its own temporary folder.

    Runs as user postgres when we are root, since the server refuses root. fsync is off unless
    `settings` turns it on: the tests kill processes, not machines.
    """

    def __init__(self, version, settings=None):
        self.version = version
        self.bin = postgres_bin(version)
        self.settings = {**_BASE_SETTINGS, **(settings or {})}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"kaptanto-pg{version}-"))
        self.data = self.folder / "data"
        self.log = self.folder / "server.log"
        self.port = 0
        self.process = None
        self._databases = 0

    # -- life cycle -------------------------------------------------------------------------------

    def create(self):
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self._initialise()
        self._write_configuration()
        self.start()
        with self.connect("postgres") as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE ROLE {PASSWORD_GROUP}")
        connection.close()
        return self

    def start(self):
        """Starts the server and waits until it takes connections."""
        for _ in range(20):
            self.port = self.port or free_port()
            self._launch()
            try:
                wait_until(self._answers_or_ended, 60, "server accepting connections")
            except DeadlineError:
                raise RuntimeError(f"server does not answer: {self._log_text()}") from None
            if self.process.poll() is None:
                return
            if "Address already in use" not in self._log_text():
                raise RuntimeError(f"server did not start: {self._log_text()}")
            self.port = 0
        raise RuntimeError("no port was free long enough")

    def stop(self, mode="fast"):
        """mode: smart, fast or immediate (a crash)."""
        numbers = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
        self.process.send_signal(numbers[mode])
        self.process.wait(60)

    def restart(self, mode="fast"):
        """Stops and starts on the same port."""
        self.stop(mode)
        self.start()

    def destroy(self):
        if self.process is not None and self.process.poll() is None:
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self.create()

    def __exit__(self, *_):
        self.destroy()

    # -- access -----------------------------------------------------------------------------------

    def connect(self, dbname="postgres", user="postgres", autocommit=True, **parameters):
        connection = psycopg2.connect(
            host=str(self.folder), port=self.port, dbname=dbname, user=user, **parameters
        )
        connection.autocommit = autocommit
        return connection

    def dsn(self, dbname, user="postgres", password=None, port=None, host="127.0.0.1", query=""):
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@{host}:{port or self.port}/{dbname}{query}"

    def new_database(self, encoding="UTF8"):
        self._databases += 1
        return Database(self, f"test_{self._databases}", encoding)

    def signal_backend(self, pid, number=signal.SIGKILL):
        """A signal to one server process. SIGKILL makes the whole server restart itself."""
        os.kill(pid, number)

    # -- internals --------------------------------------------------------------------------------

    def _write_configuration(self):
        lines = [f"unix_socket_directories = '{self.folder}'"]
        lines += [f"{name} = '{value}'" for name, value in self.settings.items()]
        with open(self.data / "postgresql.auto.conf", "a") as file:
            file.write("\n".join(lines) + "\n")
        rules = [
            "local all all trust",
            f"host all +{PASSWORD_GROUP} 127.0.0.1/32 scram-sha-256",
            "host all all 127.0.0.1/32 trust",
            "host replication all 127.0.0.1/32 trust",
        ]
        (self.data / "pg_hba.conf").write_text("\n".join(rules) + "\n")

    def _initialise(self):
        command = [self.bin / "initdb", "-D", self.data, "-U", "postgres", "-A", "trust",
                   "-E", "UTF8", "--locale=C", "--no-sync", "-N"]
        with open(self.log, "ab") as output:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                  **self._identity())
        if done.returncode != 0:
            raise RuntimeError(f"initdb failed: {self._log_text()}")

    def _launch(self):
        # Our own child rather than pg_ctl's, so that it ends with us however we end.
        with open(self.log, "ab") as output:
            self.process = subprocess.Popen(
                [self.bin / "postgres", "-D", self.data, "-p", str(self.port)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                preexec_fn=lambda: end_with_parent(signal.SIGQUIT), **self._identity(),
            )

    def _answers_or_ended(self):
        if self.process.poll() is not None:
            return True
        try:
            self.connect().close()
        except psycopg2.OperationalError:
            return False
        return True

    def _identity(self):
        """The server refuses to run as root."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        identity = {"cwd": "/", "env": {**kept, "LC_ALL": "C", "TZ": "UTC"}}
        if os.geteuid() == 0:
            identity |= {"user": "postgres", "group": "postgres", "extra_groups": []}
        return identity

    def _log_text(self):
        return self.log.read_text(errors="replace")[-3000:]


class Database:
    """One database of a cluster, made for one test and dropped with its slots at the end."""

    def __init__(self, cluster, name, encoding="UTF8"):
        self.cluster = cluster
        self.name = name
        self._connections = []
        self._admin = cluster.connect("postgres")
        with self._admin.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}'")
        self.connection = self.connect()
        self.execute(f"CREATE TABLE {MARKER_TABLE} (id bigserial PRIMARY KEY)")

    # -- connections ------------------------------------------------------------------------------

    def connect(self, **parameters):
        connection = self.cluster.connect(self.name, **parameters)
        self._connections.append(connection)
        return connection

    def reconnect(self):
        """New connections after the server was restarted; waits out its recovery."""

        def connected():
            try:
                self._admin = self.cluster.connect("postgres")
                self.connection = self.connect()
            except psycopg2.OperationalError:
                return False
            return True

        wait_until(connected, 60, "server accepting connections")

    def dsn(self, **parameters):
        return self.cluster.dsn(self.name, **parameters)

    # -- statements -------------------------------------------------------------------------------

    def execute(self, *statements):
        """Runs each statement in a transaction of its own."""
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def transaction(self, *statements):
        """Runs the statements in one transaction; gives its transaction id."""
        with self.connection.cursor() as cursor:
            cursor.execute("BEGIN")
            for statement in statements:
                cursor.execute(statement)
            cursor.execute("SELECT pg_current_xact_id()::text")
            xid = int(cursor.fetchone()[0])
            cursor.execute("COMMIT")
        return xid

    def rows(self, query, parameters=None):
        with self.connection.cursor() as cursor:
            cursor.execute(query, parameters)
            return cursor.fetchall()

    def value(self, query, parameters=None):
        return self.rows(query, parameters)[0][0]

    def set(self, **settings):
        """Settings of every later session in this database, the walsender's too."""
        for name, value in settings.items():
            self.execute(f"ALTER DATABASE \"{self.name}\" SET {name} = '{value}'")

    # -- replication state ------------------------------------------------------------------------

    def slot(self, name="kaptanto_default"):
        """active, active_pid, confirmed_flush_lsn, restart_lsn, plugin of a slot, or None."""
        with self._admin.cursor() as cursor:
            cursor.execute(
                "SELECT active, active_pid, confirmed_flush_lsn - '0/0', restart_lsn - '0/0',"
                " plugin FROM pg_replication_slots WHERE slot_name = %s AND database = %s",
                (name, self.name),
            )
            row = cursor.fetchone()
        if row is None:
            return None
        return Slot(row[0], row[1], int(row[2] or 0), int(row[3] or 0), row[4])

    def wal_position(self):
        with self._admin.cursor() as cursor:
            cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
            return int(cursor.fetchone()[0])

    def walsender(self, slot="kaptanto_default"):
        """pid of the process that streams from the slot, or None."""
        with self._admin.cursor() as cursor:
            cursor.execute(
                "SELECT r.pid FROM pg_replication_slots s JOIN pg_stat_replication r"
                " ON r.pid = s.active_pid WHERE s.slot_name = %s AND s.database = %s"
                " AND r.state IN ('streaming', 'catchup')",
                (slot, self.name),
            )
            row = cursor.fetchone()
        return row[0] if row else None

    def wait_walsender(self, slot="kaptanto_default", other_than=None, timeout=20.0):
        """Waits for a walsender, other than the given pid; gives its pid."""

        def pid():
            found = self.walsender(slot)
            return found if found != other_than else None

        return wait_until(pid, timeout, f"walsender of {slot}")

    def wait_slot_idle(self, slot="kaptanto_default", timeout=20.0):
        wait_until(lambda: not self.slot(slot).active, timeout, f"slot {slot} released")

    # -- end --------------------------------------------------------------------------------------

    def drop(self):
        for connection in self._connections:
            connection.close()
        with self._admin.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                (self.name,),
            )
            wait_until(lambda: self._drop_slots(cursor), 10, "slots dropped")
            cursor.execute(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)')
        self._admin.close()

    def _drop_slots(self, cursor):
        cursor.execute(
            "SELECT slot_name, active FROM pg_replication_slots WHERE database = %s", (self.name,)
        )
        slots = cursor.fetchall()
        for name, active in slots:
            if not active:
                cursor.execute("SELECT pg_drop_replication_slot(%s)", (name,))
        return not slots


class Slot:
    """A row of pg_replication_slots; positions are integers."""

    def __init__(self, active, active_pid, confirmed_flush, restart, plugin):
        self.active = active
        self.active_pid = active_pid
        self.confirmed_flush = confirmed_flush
        self.restart = restart
        self.plugin = plugin
