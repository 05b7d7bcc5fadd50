"""How fast existing rows become durable events, beside plain COPY of the same table."""

import shutil
import subprocess
import tempfile
import time

import clients
import measure
import workloads

LIMIT_SECONDS = 300
ROWS_FACTOR = 3  # tables that take seconds, so that starting does not count
TABLES = ("narrow", "kilobyte", "wide")


def _copy(bench, table):
    """COPY of the whole table to /dev/null; gives the seconds."""
    command = ["psql", "-X", "-q", "-h", "127.0.0.1", "-p", str(bench.cluster.port), "-U",
               "postgres", "-d", clients.DATABASE, "-c",
               f"COPY (SELECT * FROM {table}) TO STDOUT"]
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def _backfill(bench, table):
    """Mode `initial_only`: the process ends when every row is durable; gives seconds and memory."""
    directory = tempfile.mkdtemp(prefix="data-", dir=bench.work_directory)
    command = [str(bench.options.product), "--source", bench.cluster.dsn(), "--tables",
               f"public.{table}", "--data-dir", directory, "--output", "none",
               "--postgres-slot", "backfill", "--postgres-publication", clients.PUBLICATION,
               "--postgres-publication-mode", "existing", "--snapshot-mode", "initial_only"]
    peak = 0
    try:
        with open(bench.log_path, "ab") as log:
            began = time.monotonic()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        while process.poll() is None:
            peak = max(peak, measure.peak_memory_bytes(process.pid) or 0)
            if time.monotonic() - began > LIMIT_SECONDS:
                process.kill()
                raise RuntimeError(f"the backfill of {table} did not end; see {bench.log_path}")
            time.sleep(0.01)
        seconds = time.monotonic() - began
        if process.returncode != 0:
            raise RuntimeError(f"the backfill of {table} failed; see {bench.log_path}")
        return seconds, peak
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        bench.cluster.drop_slot("backfill")


def measure_backfill(bench, repetitions, scale):
    """By table: rows, and the seconds of each repetition of both ways, interleaved."""
    found = {}
    for workload in workloads.workloads(scale):
        if workload.name not in TABLES:
            continue
        bench.cluster.drop_all_slots()
        bench.cluster.sql(f"truncate {workload.table}")
        workload.rows *= ROWS_FACTOR
        workload.generate(bench.cluster)
        bench.cluster.sql(f"vacuum analyze {workload.table}", "checkpoint")
        _copy(bench, workload.table)  # warms the caches, does not count
        result = {"rows": workload.rows, "title": workload.title.split(",")[0], "copy": [],
                  "backfill": [], "memory": 0}
        for _ in range(repetitions):
            result["copy"].append(_copy(bench, workload.table))
            seconds, peak = _backfill(bench, workload.table)
            result["backfill"].append(seconds)
            result["memory"] = max(result["memory"], peak)
        bench.say(f"backfill {workload.name}: "
                  f"{workload.rows / measure.median(result['backfill']):,.0f} rows/s, COPY "
                  f"{workload.rows / measure.median(result['copy']):,.0f} rows/s")
        found[workload.name] = result
    return found
