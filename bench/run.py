#!/usr/bin/env python3
"""Measures the product against the fastest possible client, in one run on one machine.

    bench/run.py                        everything, some twenty minutes
    bench/run.py --quick                a tenth of the rows, two repetitions
    bench/run.py --only narrow,latency  parts: narrow bigtx kilobyte wide full backfill latency
                                        idle start
    bench/run.py --versions 15,17,18    several servers (tools/install-postgres.sh brings them)

It starts a PostgreSQL of its own on a loopback port and deletes it at the end. Every client drains
a copy of the same slot, so all decode the same WAL; repetitions are interleaved, and only ratios
within a run mean anything. Results: the terminal, build/bench/results.json, docs/benchmarks.md.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import backfill
import clients
import live
import measure
import report
import workloads
from cluster import Cluster

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIVE_PARTS = ("backfill", "latency", "idle", "start")
STOP_SECONDS_MAX = 15
FOREIGN_MAX = 0.10  # a drain beside which others used more of the machine is repeated


class Bench:
    """What the measurements share: the server, the programs, a folder on a real disk."""

    def __init__(self, options, cluster):
        self.options, self.cluster = options, cluster
        self.work_directory = tempfile.mkdtemp(prefix="run-", dir=ROOT / "build" / "bench")
        self.log_path = str(ROOT / "build" / "bench" / "kaptanto.log")
        self.with_product = options.product is not None
        self.output_bytes = {}
        self.session = None

    def __enter__(self):
        self.session = clients.Session(self.cluster)
        return self

    def __exit__(self, *_):
        self.session.close()
        shutil.rmtree(self.work_directory, ignore_errors=True)

    @staticmethod
    def say(text):
        print(time.strftime("%H:%M:%S"), text, flush=True)

    def program(self, name):
        return str(self.options.programs / name)

    @contextlib.contextmanager
    def start_product(self, directory, slot, table, output, stdout):
        command = [str(self.options.product), "--source", self.cluster.dsn(),
                   "--tables", f"public.{table}", "--data-dir", directory, "--output", output,
                   "--postgres-slot", slot, "--postgres-publication", clients.PUBLICATION,
                   "--postgres-publication-mode", "existing", "--snapshot-mode", "never"]
        with open(self.log_path, "ab") as log:
            process = subprocess.Popen(command, stdout=stdout, stderr=log)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def count_output(self, workload, slot):
        """Drains a slot into this process: every row must come out once, as one line. What that
        amounts to in bytes tells the timed drains when they are done."""
        directory = tempfile.mkdtemp(prefix="data-", dir=self.work_directory)
        lines = total = 0
        with self.start_product(directory, slot, workload.table, "stdout",
                                subprocess.PIPE) as process:
            while lines < workload.rows:
                part = process.stdout.read1(1 << 20)
                if not part:
                    raise RuntimeError(f"kaptanto ended after {lines} events; "
                                       f"see {self.log_path}")
                lines += part.count(b"\n")
                total += len(part)
            process.stdout.close()
        shutil.rmtree(directory)
        if lines != workload.rows:
            raise RuntimeError(f"{lines} events for {workload.rows} rows")
        self.output_bytes[workload.name] = total


def drain_once(bench, workload, client, end):
    """One drain of a fresh copy of the slot; again when others disturbed it."""
    best = None
    for _ in range(1 + bench.options.retries):
        slot = "drain"
        bench.cluster.drop_slot(slot)
        bench.cluster.sql(f"select pg_copy_logical_replication_slot('base', '{slot}')")
        noise = measure.Noise()
        sample = client.drain(bench, workload, slot, end)
        sample["foreign"] = noise.share(sample["cpu"] + sample["server_cpu"])
        if best is None or sample["foreign"] < best["foreign"]:
            best = sample
        if sample["foreign"] <= FOREIGN_MAX:
            break
    bench.cluster.drop_slot("drain")
    return best


def measure_workload(bench, workload):
    cluster = bench.cluster
    cluster.drop_all_slots()
    workload.reset(cluster)
    cluster.sql("select pg_create_logical_replication_slot('base', 'pgoutput')")
    bench.say(f"{workload.title}: writing {workload.rows:,} rows")
    end, wal_bytes = workload.generate(cluster)
    runners = clients.all_clients(workload, bench.with_product,
                                  os.path.exists(bench.program("decode_bench")))
    if bench.with_product:
        cluster.sql("select pg_copy_logical_replication_slot('base', 'drain')")
        bench.count_output(workload, "drain")
    drain_once(bench, workload, runners[0], end)  # warms the caches, does not count
    samples = {client.name: [] for client in runners}
    for repetition in range(bench.options.repetitions):
        for client in runners:
            sample = drain_once(bench, workload, client, end)
            samples[client.name].append(sample)
            bench.say(f"{workload.name} {repetition + 1}: {client.name}: "
                      f"{sample['rows'] / sample['wall'] / 1000:.0f}k rows/s, "
                      f"others {sample['foreign']:.0%}")
    cluster.drop_all_slots()
    families = {client.name: client.family for client in runners}
    return {"workload": workload.name, "title": workload.title, "rows": workload.rows,
            "wal_bytes": wal_bytes, "families": families, "samples": samples,
            "output_bytes": bench.output_bytes.get(workload.name, 0)}


def measure_version(options, version):
    bin_dir = subprocess.run([ROOT / "tools" / "postgres-bin.sh", version], check=True,
                             capture_output=True, text=True).stdout.strip()
    result = {"version": version, "drains": [], "live": {}}
    with Cluster(bin_dir) as cluster, Bench(options, cluster) as bench:
        result["server"] = cluster.sql("show server_version")
        workloads.create(cluster)
        for workload in workloads.workloads(options.scale):
            if workload.name in options.only:
                result["drains"].append(measure_workload(bench, workload))
        if "backfill" in options.only and bench.with_product:
            result["live"]["backfill"] = backfill.measure_backfill(bench, options.repetitions,
                                                                   options.scale)
        if "latency" in options.only:
            result["live"]["latency"] = live.measure_latency(bench, options.repetitions,
                                                             options.latency_seconds)
        if "idle" in options.only and bench.with_product:
            result["live"]["idle"] = live.measure_idle(bench)
        if "start" in options.only and bench.with_product:
            result["live"]["start"] = live.measure_start(bench, max(5, options.repetitions))
    return result


def parse_options(arguments):
    parts = [workload.name for workload in workloads.workloads(1)] + list(LIVE_PARTS)
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--versions", default="15", help="PostgreSQL versions, with commas")
    parser.add_argument("--only", default=",".join(parts), help="parts: " + " ".join(parts))
    parser.add_argument("--scale", type=float, help="share of the rows (default 1)")
    parser.add_argument("--repetitions", type=int, help="default 3")
    parser.add_argument("--retries", type=int, default=1,
                        help="repeats of a drain that others disturbed (default 1)")
    parser.add_argument("--quick", action="store_true", help="scale 0.1, two repetitions")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release",
                        help="CMake build folder of the programs (default build/release)")
    parser.add_argument("--product", type=pathlib.Path, help="default: kaptanto of that folder")
    parser.add_argument("--no-product", action="store_true", help="counting clients alone")
    parser.add_argument("--no-document", action="store_true", help="leave docs/benchmarks.md alone")
    options = parser.parse_args(arguments)
    options.only = options.only.split(",")
    unknown = set(options.only) - set(parts)
    if unknown:
        parser.error("no such part: " + ", ".join(sorted(unknown)))
    options.scale = options.scale or (0.1 if options.quick else 1.0)
    options.repetitions = options.repetitions or (2 if options.quick else 3)
    options.latency_seconds = 3 if options.quick else 10
    options.programs = options.build / "bench"
    options.product = None if options.no_product else options.product or options.build / "kaptanto"
    if options.product is not None and not options.product.exists():
        parser.error(f"{options.product} does not exist; run `make build`, or use --no-product")
    return options


def build_programs(options):
    targets = ["counting_client", "latency_writer", "line_stamper"]
    if options.product is not None:
        targets.append("decode_bench")
    done = subprocess.run(["cmake", "--build", options.build, "--target", *targets], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError("building the programs failed:\n" + done.stdout[-4000:])


def main(arguments):
    # So that the servers are stopped and the folders deleted.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    options = parse_options(arguments)
    (ROOT / "build" / "bench").mkdir(parents=True, exist_ok=True)
    build_programs(options)
    results = {"machine": report.machine(ROOT, options.build), "scale": options.scale,
               "repetitions": options.repetitions,
               "versions": [measure_version(options, version)
                            for version in options.versions.split(",")]}
    path = ROOT / "build" / "bench" / "results.json"
    path.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(report.terminal(results))
    if not options.no_document:
        (ROOT / "docs" / "benchmarks.md").write_text(report.document(results), encoding="utf-8")
        print("written: docs/benchmarks.md, build/bench/results.json")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except (RuntimeError, subprocess.CalledProcessError, OSError) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        details = getattr(problem, "stderr", None)
        if details:
            print(details, file=sys.stderr)
        sys.exit(1)
