"""A throw-away PostgreSQL server on a loopback port, as the measurements need it."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

DATABASE = "bench"
SETTINGS = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{sockets}'
wal_level = logical
max_replication_slots = 200
max_wal_senders = 20
shared_buffers = 1GB
max_wal_size = 8GB
checkpoint_timeout = 1h
fsync = off
autovacuum = off
jit = off
max_connections = 50
logging_collector = off
log_min_messages = fatal
log_checkpoints = off
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def server_user():
    """PostgreSQL refuses to run as root, so root runs it as `postgres`."""
    if os.geteuid() != 0:
        return {}
    return {"user": "postgres", "group": "postgres", "extra_groups": []}


def die_with_parent():
    """Runs in the child: the server stops (SIGQUIT) even when we are killed outright."""
    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGQUIT)


class Cluster:
    """Use as a context manager: the server is stopped and its files deleted on the way out."""

    def __init__(self, bin_dir):
        self.bin_dir = bin_dir
        self.port = free_port()
        self.directory = tempfile.mkdtemp(prefix="kaptanto-bench-")
        self.data = os.path.join(self.directory, "data")
        self.process = None

    def __enter__(self):
        try:
            self._create()
            self.start()
            self.sql(f"create database {DATABASE}", database="postgres")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _program(self, name):
        return os.path.join(self.bin_dir, name)

    def _create(self):
        if os.geteuid() == 0:
            shutil.chown(self.directory, "postgres", "postgres")
        command = [self._program("initdb"), "-D", self.data, "-U", "postgres", "-A", "trust",
                   "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, cwd="/", **server_user())
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as conf:
            conf.write(SETTINGS.format(port=self.port, sockets=self.directory))

    def start(self):
        command = [self._program("postgres"), "-D", self.data]
        with open(os.path.join(self.directory, "server.log"), "ab") as log:
            # Its own session: an interrupt at the terminal must reach us alone, and we stop it.
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/",
                                            start_new_session=True, preexec_fn=die_with_parent,
                                            **server_user())
        for _ in range(300):
            if self.process.poll() is not None:
                break
            try:
                self.sql("select 1", database="postgres")
                return
            except subprocess.CalledProcessError:
                time.sleep(0.1)
        with open(os.path.join(self.directory, "server.log"), encoding="utf-8") as log:
            raise RuntimeError("PostgreSQL did not start: " + log.read()[-2000:])

    def postmaster(self):
        with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as lines:
            return int(lines.readline())

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def dsn(self):
        return f"postgres://postgres@127.0.0.1:{self.port}/{DATABASE}?sslmode=disable"

    def sql(self, *statements, database=DATABASE, options=""):
        command = ["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1",
                   "-p", str(self.port), "-U", "postgres", "-d", database]
        for statement in statements:
            command += ["-c", statement]
        environment = dict(os.environ, PGOPTIONS=options)
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        return done.stdout.strip()

    def set_fsync(self, on):
        value = "on" if on else "off"
        self.sql(f"alter system set fsync = {value}", "select pg_reload_conf()")
        for _ in range(100):
            if self.sql("show fsync") == value:
                return
            time.sleep(0.05)
        raise RuntimeError("the server did not take fsync = " + value)

    def drop_slot(self, slot):
        statement = ("select pg_drop_replication_slot(slot_name) from pg_replication_slots "
                     f"where slot_name = '{slot}'")
        for attempt in range(100):
            try:
                self.sql(statement)
                return
            except subprocess.CalledProcessError:
                if attempt == 99:
                    raise
                time.sleep(0.1)

    def drop_all_slots(self):
        for slot in self.sql("select slot_name from pg_replication_slots").split():
            self.drop_slot(slot)

    def walsender(self):
        """Process id of the backend that is streaming, or None. Reads /proc only, so that looking
        costs the measured processes nothing."""
        pid = self.postmaster()
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
                candidates = children.read().split()
        except OSError:
            return None
        for child in reversed(candidates):
            try:
                with open(f"/proc/{child}/cmdline", "rb") as title:
                    text = title.read()
            except OSError:
                continue
            if b"walsender" in text and b"START_REPLICATION" in text:
                return int(child)
        return None
