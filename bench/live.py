"""Latency under a paced writer, a look at the idle process, and the time to the first event."""

import os
import shutil
import subprocess
import tempfile
import time

import measure
from cluster import DATABASE

RATE = 1000
WARM_UP_SHARE = 0.1
IDLE_SECONDS = 10
WAIT_SECONDS_MAX = 60


def create_slot(cluster, slot):
    cluster.drop_slot(slot)
    cluster.sql(f"select pg_create_logical_replication_slot('{slot}', 'pgoutput')")


def wait_for(condition, what):
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("waited in vain for " + what)
        time.sleep(0.01)


def read_columns(path):
    with open(path, encoding="ascii") as lines:
        return [[int(word) for word in line.split()] for line in lines]


class Latency:
    """One writer, 1,000 commits a second, the server syncing each; who gets the row how late."""

    def __init__(self, bench, seconds):
        self.bench, self.count = bench, RATE * seconds

    def counting_client(self):
        with tempfile.TemporaryDirectory(dir=self.bench.work_directory) as directory:
            create_slot(self.bench.cluster, "latency")
            stamps = os.path.join(directory, "stamps")
            reader = subprocess.Popen(
                [self.bench.program("counting_client"), f"--port={self.bench.cluster.port}",
                 f"--database={DATABASE}", "--slot=latency", f"--expect-rows={self.count}",
                 "--pause-us=20000", "--gulp-target=1000000",
                 f"--stamp-file={stamps}"], stdout=subprocess.DEVNULL)
            try:
                return self._write_and_compare(directory, stamps, reader)
            finally:
                reader.kill()
                reader.wait()

    def product(self):
        with tempfile.TemporaryDirectory(dir=self.bench.work_directory) as directory:
            create_slot(self.bench.cluster, "latency")
            stamps = os.path.join(directory, "stamps")
            data = os.path.join(directory, "data")
            reader = subprocess.Popen(
                [self.bench.program("line_stamper"), str(self.count), stamps],
                stdin=subprocess.PIPE)
            try:
                with self.bench.start_product(data, "latency", "latency", "stdout",
                                              reader.stdin) as process:
                    reader.stdin.close()
                    before = measure.cpu_seconds(process.pid)
                    sample = self._write_and_compare(directory, stamps, reader)
                    sample["cpu"] = measure.cpu_seconds(process.pid) - before
                    return sample
            finally:
                reader.kill()
                reader.wait()

    def _write_and_compare(self, directory, stamps, reader):
        cluster = self.bench.cluster
        wait_for(lambda: cluster.walsender() is not None, "the stream to start")
        time.sleep(0.3)
        written = os.path.join(directory, "written")
        noise = measure.Noise()
        subprocess.run([self.bench.program("latency_writer"), str(cluster.port), DATABASE,
                        str(RATE), str(self.count), written], check=True)
        foreign = noise.share(0.0)
        reader.wait(WAIT_SECONDS_MAX)
        sent = {row[0]: row[1:] for row in read_columns(written)}
        arrivals = read_columns(stamps)
        if sorted(row[0] for row in arrivals) != list(range(self.count)):
            raise RuntimeError("not every row arrived exactly once")
        sample = {"from_commit": [], "from_send": [], "transaction": []}
        for row, arrival in arrivals:
            if row < self.count * WARM_UP_SHARE:
                continue
            started, acknowledged = sent[row]
            sample["from_commit"].append(arrival - acknowledged)
            sample["from_send"].append(arrival - started)
            sample["transaction"].append(acknowledged - started)
        result = {"foreign": foreign}
        for name, values in sample.items():
            values.sort()
            result[name + "_p50"] = measure.percentile(values, 0.50)
            result[name + "_p99"] = measure.percentile(values, 0.99)
        return result


def measure_latency(bench, repetitions, seconds):
    """Both clients in turn; medians over the repetitions, with the spread."""
    bench.cluster.set_fsync(True)
    runs = {"counting client": [], "kaptanto": []}
    latency = Latency(bench, seconds)
    for _ in range(repetitions):
        for name, run in (("counting client", latency.counting_client),
                          ("kaptanto", latency.product)):
            if name == "kaptanto" and not bench.with_product:
                continue
            bench.cluster.sql("truncate latency", "checkpoint")
            runs[name].append(run())
            bench.say(f"latency, {name}: p50 {runs[name][-1]['from_commit_p50']} µs, "
                      f"p99 {runs[name][-1]['from_commit_p99']} µs")
    bench.cluster.set_fsync(False)
    bench.cluster.drop_slot("latency")
    return runs


def measure_idle(bench):
    """What the connected process uses when nothing happens."""
    with tempfile.TemporaryDirectory(dir=bench.work_directory) as directory:
        create_slot(bench.cluster, "idle")
        with bench.start_product(os.path.join(directory, "data"), "idle", "latency", "stdout",
                                 subprocess.DEVNULL) as process:
            wait_for(lambda: bench.cluster.walsender() is not None, "the stream to start")
            time.sleep(2)
            cpu = measure.cpu_seconds(process.pid)
            switches = measure.voluntary_switches(process.pid)
            time.sleep(IDLE_SECONDS)
            result = {"seconds": IDLE_SECONDS,
                      "cpu": measure.cpu_seconds(process.pid) - cpu,
                      "switches": measure.voluntary_switches(process.pid) - switches,
                      "memory": measure.memory_bytes(process.pid)}
    bench.cluster.drop_slot("idle")
    return result


def measure_start(bench, repetitions):
    """Seconds from exec to the first line of output, with one change waiting in the slot."""
    bench.cluster.sql("truncate latency")
    create_slot(bench.cluster, "start_base")
    bench.cluster.sql("insert into latency values (1, 1)")
    times = []
    for _ in range(repetitions):
        bench.cluster.drop_slot("start")
        bench.cluster.sql("select pg_copy_logical_replication_slot('start_base', 'start')")
        directory = tempfile.mkdtemp(dir=bench.work_directory)
        begun = time.monotonic()
        with bench.start_product(os.path.join(directory, "data"), "start", "latency", "stdout",
                                 subprocess.PIPE) as process:
            line = process.stdout.readline()
            times.append(time.monotonic() - begun)
            process.stdout.close()
        shutil.rmtree(directory)
        if b'"operation":"insert"' not in line:
            raise RuntimeError(f"no first event; see {bench.log_path}")
    bench.cluster.drop_slot("start")
    bench.cluster.drop_slot("start_base")
    return times
