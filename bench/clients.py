"""The programs that drain a slot, each run once and measured the same way."""

import json
import os
import resource
import select
import shutil
import subprocess
import tempfile
import time

import measure
from cluster import DATABASE

PUBLICATION = "bench"
PROTOCOL_1 = f"proto_version '1', publication_names '{PUBLICATION}'"
PROTOCOL_2 = f"proto_version '2', publication_names '{PUBLICATION}', streaming 'on'"
POLL_SECONDS = 0.003
DRAIN_SECONDS_MAX = 300


class DrainFailed(RuntimeError):
    pass


class CountingClient:
    """Counts and throws away. The best variant is the reference of a workload."""

    family = "counting"

    def __init__(self, name, *options, streaming=False):
        self.name = name
        self.options = list(options)
        if streaming:
            self.options.append("--plugin-options=" + PROTOCOL_2)

    def drain(self, bench, workload, slot, _end):
        command = [bench.program("counting_client"), f"--port={bench.cluster.port}",
                   f"--database={DATABASE}", f"--slot={slot}", f"--expect-rows={workload.rows}",
                   f"--timeout-s={DRAIN_SECONDS_MAX}", *self.options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise DrainFailed(done.stderr.strip())
        return json.loads(done.stdout)


class PgRecvlogical:
    """PostgreSQL's own client, writing to /dev/null."""

    family = "pg_recvlogical"
    name = "pg_recvlogical"

    def drain(self, bench, workload, slot, end):
        command = ["pg_recvlogical", "-h", "127.0.0.1", "-p", str(bench.cluster.port),
                   "-U", "postgres", "-d", DATABASE, "-S", slot, "--start", "--endpos", end,
                   "--no-loop", "-f", "/dev/null", "-o", "proto_version=1",
                   "-o", f"publication_names={PUBLICATION}"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        watch = Watch(bench.cluster, process)
        while process.poll() is None:
            watch.look()
            time.sleep(POLL_SECONDS)
        ended = time.monotonic()
        if process.returncode != 0:
            raise DrainFailed(process.stderr.read().decode().strip())
        process.stderr.close()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"rows": workload.rows, "wall": ended - watch.started, "cpu": cpu,
                "server_cpu": watch.server_cpu}


class Watch:
    """Finds the walsender of a client that was just started, and reads its CPU time."""

    def __init__(self, cluster, process):
        self.cluster, self.process = cluster, process
        self.pid = None
        self.server_cpu = 0.0
        self.started = time.monotonic()
        self.cpu_before = 0.0

    def look(self):
        if self.pid is None:
            self.pid = self.cluster.walsender()
            if self.pid is not None:
                self.started = time.monotonic()
                self.cpu_before = measure.cpu_seconds(self.process.pid)
        else:
            # The last reading stays when the process is gone.
            self.server_cpu = measure.cpu_seconds(self.pid) or self.server_cpu


class Kaptanto:
    """The product. `output` is stdout (sent to /dev/null) or none; its journal is on a real disk
    and synced in both cases. A drain ends when the sink has written the last byte, or, without a
    sink, when the last position is durable and confirmed to the server."""

    family = "kaptanto"

    def __init__(self, output):
        self.output = output
        self.name = f"kaptanto, {output}"

    def drain(self, bench, workload, slot, end):
        directory = tempfile.mkdtemp(prefix="data-", dir=bench.work_directory)
        try:
            with bench.start_product(directory, slot, workload.table, self.output,
                                     subprocess.DEVNULL) as process:
                return self._measure(bench, workload, slot, end, process)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _measure(self, bench, workload, slot, end, process):
        watch = Watch(bench.cluster, process)
        finished = (self._written(bench, workload, process) if self.output == "stdout"
                    else self._confirmed(bench, slot, end))
        deadline = time.monotonic() + DRAIN_SECONDS_MAX
        while not finished():
            watch.look()
            if process.poll() is not None or time.monotonic() > deadline:
                raise DrainFailed(f"{self.name} did not finish; see {bench.log_path}")
            time.sleep(POLL_SECONDS)
        ended = time.monotonic()
        cpu = measure.cpu_seconds(process.pid) - watch.cpu_before
        watch.look()
        return {"rows": workload.rows, "wall": ended - watch.started, "cpu": cpu,
                "server_cpu": watch.server_cpu, "threads": measure.cpu_by_thread(process.pid),
                "memory": measure.peak_memory_bytes(process.pid)}

    @staticmethod
    def _written(bench, workload, process):
        """The sink thread is the one that writes to standard output, so its count of written bytes
        tells how far it is without a reader that would cost CPU. Its cursor adds a few pages."""
        expected = bench.output_bytes[workload.name]
        thread = None

        def finished():
            nonlocal thread
            if thread is None:
                thread = measure.thread_named(process.pid, "sink stdout")
                return False
            return measure.bytes_written(process.pid, thread) >= expected

        return finished

    @staticmethod
    def _confirmed(bench, slot, end):
        query = ("select confirmed_flush_lsn >= '{}'::pg_lsn from pg_replication_slots "
                 "where slot_name = '{}'").format(end, slot)
        asked = 0.0

        def finished():
            nonlocal asked
            # A question costs the server about a millisecond, so not in every round.
            if time.monotonic() - asked < 0.02:
                return False
            asked = time.monotonic()
            return bench.session.ask(query) == "t"

        return finished


class DecodeOnly:
    """The product's stream, decoder and renderer without journal and sink."""

    family = "decode"
    name = "decode only"

    def drain(self, bench, workload, slot, _end):
        with tempfile.TemporaryDirectory(dir=bench.work_directory) as directory:
            command = [bench.program("decode_bench"), bench.cluster.dsn(), slot, PUBLICATION,
                       f"public.{workload.table}", str(workload.rows), directory]
            with open(bench.log_path, "ab") as log:
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
            try:
                return self._measure(bench, workload, process)
            finally:
                process.kill()
                process.wait()
                process.stdout.close()

    def _measure(self, bench, workload, process):
        watch = Watch(bench.cluster, process)
        while not select.select([process.stdout], [], [], POLL_SECONDS)[0]:
            watch.look()
        ended = time.monotonic()
        watch.look()
        try:
            found = json.loads(process.stdout.readline())
        except ValueError:
            raise DrainFailed(f"{self.name} did not finish; see {bench.log_path}") from None
        return {"rows": workload.rows, "wall": ended - watch.started,
                "cpu": found["cpu"] - watch.cpu_before, "server_cpu": watch.server_cpu,
                "memory": measure.peak_memory_bytes(process.pid)}


class Session:
    """One psql that stays, for questions asked often."""

    def __init__(self, cluster):
        self._process = subprocess.Popen(
            ["psql", "-X", "-q", "-At", "-h", "127.0.0.1", "-p", str(cluster.port),
             "-U", "postgres", "-d", DATABASE],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, query):
        self._process.stdin.write(query + ";\n")
        return self._process.stdout.readline().strip()

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def counting_clients(workload):
    adaptive = ["--pause-us=20000", "--gulp-target=1000000"]
    near = ["--receive-buffer=131072"]
    clients = [CountingClient("libpq, each message at once")]
    for path, title in (("libpq", "libpq"), ("socket", "own reader")):
        for pause, words in ((200, "200 µs"), (1000, "1 ms"), (5000, "5 ms")):
            clients.append(CountingClient(f"{title}, pause {words}", f"--path={path}",
                                          f"--pause-us={pause}"))
    clients += [
        CountingClient("libpq, adaptive pause", *adaptive),
        CountingClient("libpq, adaptive pause, small buffer", *adaptive, *near),
        CountingClient("own reader, adaptive pause, small buffer", "--path=socket", *adaptive,
                       *near),
    ]
    if workload.name == "bigtx":
        clients += [
            CountingClient("streaming, libpq, each message at once", streaming=True),
            CountingClient("streaming, libpq, adaptive pause", *adaptive, streaming=True),
            CountingClient("streaming, libpq, adaptive pause, small buffer", *adaptive, *near,
                           streaming=True),
        ]
    return clients


def all_clients(workload, with_product, with_decoder):
    clients = counting_clients(workload) + [PgRecvlogical()]
    if with_decoder:
        clients.append(DecodeOnly())
    if with_product:
        clients += [Kaptanto("stdout"), Kaptanto("none")]
    return clients
