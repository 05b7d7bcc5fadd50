"""Turns the samples of a run into tables, for the terminal and for docs/benchmarks.md."""

import datetime
import os
import platform
import re
import subprocess

import measure

PRODUCT = "kaptanto, stdout"
RATIO_MIN = 0.90
BACKFILL_MIN = 0.80
RECVLOGICAL_MIN = 1.5
CPU_MAX_US = 0.8
MEMORY_MAX_MB = 100
LATENCY_P50_MAX_MS, LATENCY_P99_MAX_MS = 1.0, 5.0
IDLE_MEMORY_MAX_MB = 25
IDLE_CPU_MAX_SHARE, IDLE_SWITCHES_MAX_PER_S = 0.01, 50
START_MAX_MS = 300
FOREIGN_MAX = 0.10

METHOD = """## How it is measured

- A PostgreSQL server of its own on 127.0.0.1, without TLS: `wal_level = logical`, `shared_buffers
  = 1GB`, `max_wal_size = 8GB`, autovacuum off, `fsync` off for drains (their WAL is already
  written) and on for latency.
- A slot is made, then the rows are written, then every client drains its own copy of that slot
  (`pg_copy_logical_replication_slot`). So all of them have the server decode the same WAL, and no
  writer runs meanwhile.
- Clients are interleaved within each repetition. Figures are medians, with the least and the
  greatest in brackets. Ratios are between medians of the same run; figures of different runs or
  machines say little beside each other.
- The counting clients take the stream and throw it away. They differ in how they read: each
  message as it comes, or with a pause between two readings. The one with the best median of a
  workload is its reference. *Adaptive* chooses the pause so that a reading brings about 1 MB (at
  most 20 ms); *small buffer* sets SO_RCVBUF to 128 KB; *own reader* parses the protocol without
  libpq.
- `pg_recvlogical` is Debian's, with protocol 1 and `-f /dev/null`.
- kaptanto runs as shipped: default settings, journal on the disk of the build folder with every
  batch synced, standard output to /dev/null. Its time begins when its walsender starts and ends
  when the sink has written the last byte (*stdout*) or when the last position is durable and
  confirmed (*none*; a busy process reports every 100 ms). Before that, one drain into a counting
  reader checks that each row comes out once. *Decode only* is its stream, decoder and renderer into
  a batch that is thrown away.
- Walsender and client CPU are exact (`/proc/PID/task/*/schedstat`), memory is the peak (`VmHWM`).
- Latency: one writer, 1,000 one-row transactions a second, each synced by the server, the
  writer's clock in the row; a reader of standard output notes when each line was there. The first
  tenth is left out.
- A star marks a cell whose runs all had more than 10 % of the machine used by something else.
"""


def command_line(*command):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def first_match(path, pattern):
    try:
        with open(path, encoding="utf-8") as text:
            found = re.search(pattern, text.read())
            return found.group(1).strip() if found else ""
    except OSError:
        return ""


def machine(root, build):
    """What a reader needs to judge the figures."""
    compiler = first_match(build / "CMakeCache.txt", r"CMAKE_CXX_COMPILER:\w+=(.*)")
    memory_kb = first_match("/proc/meminfo", r"MemTotal:\s+(\d+)")
    changed = command_line("git", "-C", str(root), "status", "--porcelain", "--", "src")
    return {
        "cpu": first_match("/proc/cpuinfo", r"model name\s*:\s*(.*)"),
        "cores": os.cpu_count(),
        "memory": f"{int(memory_kb or 0) / 2**20:.0f} GiB",
        "kernel": platform.release(),
        "tcp": first_match("/proc/sys/net/ipv4/tcp_congestion_control", r"(\S+)"),
        "compiler": command_line(compiler, "--version").split("\n")[0] if compiler else "",
        "commit": command_line("git", "-C", str(root), "rev-parse", "--short=12", "HEAD")
                  + (" with changes" if changed else ""),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    }


class Cell:
    """All samples of one client on one workload."""

    def __init__(self, name, family, samples):
        self.name, self.family, self.samples = name, family, samples
        self.rates = [sample["rows"] / sample["wall"] for sample in samples]
        self.rate = measure.median(self.rates)

    def per_row_us(self, field):
        return measure.median([s[field] / s["rows"] * 1e6 for s in self.samples])

    def megabytes_per_s(self):
        found = [s["bytes"] / s["wall"] / 1e6 for s in self.samples if "bytes" in s]
        return measure.median(found) if found else None

    def memory_mb(self):
        return max((s.get("memory", 0) for s in self.samples), default=0) / 1e6

    def disturbed(self):
        return all(s["foreign"] > FOREIGN_MAX for s in self.samples)


class Drain:
    """One workload: its cells, best first, and the two references."""

    def __init__(self, data):
        self.workload, self.title, self.rows = data["workload"], data["title"], data["rows"]
        self.output_bytes = data["output_bytes"]
        self.cells = [Cell(name, data["families"][name], samples)
                      for name, samples in data["samples"].items()]
        self.cells.sort(key=lambda cell: -cell.rate)
        self.reference = next(c for c in self.cells if c.family == "counting")
        self.recvlogical = next(c for c in self.cells if c.family == "pg_recvlogical")
        self.product = next((c for c in self.cells if c.name == PRODUCT), None)

    def table(self):
        lines = ["| client | rows/s | to best | to pg_recvlogical | MB/s | walsender µs/row | "
                 "client µs/row | peak MB |", "|---|---|---|---|---|---|---|---|"]
        for cell in self.cells:
            megabytes = cell.megabytes_per_s()
            if cell is self.product and self.output_bytes:
                megabytes = self.output_bytes / self.rows * cell.rate / 1e6
            name = f"**{cell.name}**" if cell.family == "kaptanto" else cell.name
            lines.append(
                f"| {name} | {thousands(cell)} | {cell.rate / self.reference.rate:.2f} | "
                f"{cell.rate / self.recvlogical.rate:.2f} | "
                f"{f'{megabytes:.0f}' if megabytes else '–'} | "
                f"{cell.per_row_us('server_cpu'):.2f} | {cell.per_row_us('cpu'):.2f} | "
                f"{f'{cell.memory_mb():.0f}' if cell.memory_mb() else '–'} |")
        return lines


def thousands(cell):
    star = " \\*" if cell.disturbed() else ""
    return (f"{cell.rate / 1e3:.0f}k ({min(cell.rates) / 1e3:.0f}–{max(cell.rates) / 1e3:.0f})"
            f"{star}")


def bar(what, measured, limit, good):
    return (what, measured, limit, "pass" if good else "**MISS**")


def drain_bars(drains):
    for drain in drains:
        if drain.product is None:
            continue
        ratio = drain.product.rate / drain.reference.rate
        yield bar(f"{drain.title}: durable to stdout, to the best counting client",
                  f"{ratio:.2f}", f"≥ {RATIO_MIN:.2f}", ratio >= RATIO_MIN)
        if drain.workload == "narrow":
            ratio = drain.product.rate / drain.recvlogical.rate
            yield bar(f"{drain.title}: durable to stdout, to pg_recvlogical", f"{ratio:.2f}",
                      f"≥ {RECVLOGICAL_MIN}", ratio >= RECVLOGICAL_MIN)
            cpu = drain.product.per_row_us("cpu")
            yield bar(f"{drain.title}: own CPU per event", f"{cpu:.2f} µs", f"≤ {CPU_MAX_US} µs",
                      cpu <= CPU_MAX_US)
    peaks = [cell.memory_mb() for drain in drains for cell in drain.cells
             if cell.family == "kaptanto"]
    if peaks:
        yield bar("peak memory over all drains", f"{max(peaks):.0f} MB", f"≤ {MEMORY_MAX_MB} MB",
                  max(peaks) <= MEMORY_MAX_MB)


def live_bars(found):
    for result in found.get("backfill", {}).values():
        ratio = measure.median(result["copy"]) / measure.median(result["backfill"])
        yield bar(f"backfill of {result['title']}, durable, to plain COPY", f"{ratio:.2f}",
                  f"≥ {BACKFILL_MIN:.2f}", ratio >= BACKFILL_MIN)
    runs = found.get("latency", {}).get("kaptanto")
    if runs:
        for field, limit in (("p50", LATENCY_P50_MAX_MS), ("p99", LATENCY_P99_MAX_MS)):
            value = measure.median([run[f"from_commit_{field}"] for run in runs]) / 1000
            yield bar(f"commit acknowledged to line on stdout, {field}", f"{value:.2f} ms",
                      f"≤ {limit:.0f} ms", value <= limit)
    idle = found.get("idle")
    if idle:
        memory = idle["memory"] / 1e6
        share, switches = idle["cpu"] / idle["seconds"], idle["switches"] / idle["seconds"]
        yield bar("idle: memory", f"{memory:.1f} MB", f"≤ {IDLE_MEMORY_MAX_MB} MB",
                  memory <= IDLE_MEMORY_MAX_MB)
        yield bar("idle: CPU and wake-ups", f"{share:.2%}, {switches:.1f}/s",
                  f"< {IDLE_CPU_MAX_SHARE:.0%}, < {IDLE_SWITCHES_MAX_PER_S}/s",
                  share < IDLE_CPU_MAX_SHARE and switches < IDLE_SWITCHES_MAX_PER_S)
    if found.get("start"):
        value = measure.median(found["start"]) * 1000
        yield bar("exec to first event, existing slot", f"{value:.0f} ms", f"≤ {START_MAX_MS} ms",
                  value <= START_MAX_MS)


def latency_table(found):
    lines = ["| client | from COMMIT acknowledged, p50 | p99 | from the row's clock, p50 | p99 | "
             "writer's transaction, p50 |", "|---|---|---|---|---|---|"]
    for name, runs in found["latency"].items():
        if not runs:
            continue
        cells = []
        for field in ("from_commit_p50", "from_commit_p99", "from_send_p50", "from_send_p99",
                      "transaction_p50"):
            values = [run[field] for run in runs]
            cells.append(f"{measure.median(values):.0f} ({min(values):.0f}–{max(values):.0f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def sections(results):
    """(heading, lines) of everything but the method."""
    for version in results["versions"]:
        server = f"PostgreSQL {version['server'].split()[0]}"
        drains = [Drain(data) for data in version["drains"]]
        bars = [*drain_bars(drains), *live_bars(version["live"])]
        if bars:
            yield f"Bars, {server}", (
                ["| what | measured | bar | |", "|---|---|---|---|"]
                + ["| " + " | ".join(row) + " |" for row in bars])
        for drain in drains:
            yield f"{drain.title}: {drain.rows:,} rows, {server}", drain.table()
        if version["live"].get("latency"):
            yield f"Latency in µs, 1,000 commits/s, {server}", latency_table(version["live"])
        yield from other_sections(version["live"], server)


def backfill_table(found):
    lines = ["| table | rows | backfill rows/s | COPY rows/s | ratio | peak MB |",
             "|---|---|---|---|---|---|"]
    for result in found["backfill"].values():
        ours, plain = measure.median(result["backfill"]), measure.median(result["copy"])
        lines.append(f"| {result['title']} | {result['rows']:,} | {result['rows'] / ours:,.0f} | "
                     f"{result['rows'] / plain:,.0f} | {plain / ours:.2f} | "
                     f"{result['memory'] / 1e6:.0f} |")
    return lines


def other_sections(found, server):
    if found.get("backfill"):
        yield f"Backfill, {server}", backfill_table(found)
    if found.get("idle"):
        idle = found["idle"]
        yield f"Idle, {server}", [
            f"Over {idle['seconds']} s: {idle['memory'] / 1e6:.1f} MB resident, "
            f"{idle['cpu'] * 1000:.1f} ms of CPU, {idle['switches']} voluntary context switches."]
    if found.get("start"):
        times = [value * 1000 for value in found["start"]]
        yield f"Start, {server}", [
            f"From exec to the first line on standard output, one change waiting in the slot, a "
            f"fresh data directory: {measure.median(times):.0f} ms "
            f"({min(times):.0f}–{max(times):.0f})."]


def busy_note(results):
    """A warning when others used the machine during most of the drains."""
    shares = [sample["foreign"] for version in results["versions"] for drain in version["drains"]
              for samples in drain["samples"].values() for sample in samples]
    share = measure.median(shares)
    if share <= FOREIGN_MAX:
        return []
    return [f"**The machine was not quiet: other work used {share:.0%} of it during half of the "
            "drains. The server then waits for a CPU rather than for its client, so these figures "
            "judge nothing. Run it again on an idle machine.**", ""]


def terminal(results):
    lines = ["", *busy_note(results)]
    for heading, body in sections(results):
        lines += ["", heading, *body]
    return "\n".join(lines).replace("**", "").replace("\\*", "*")


def document(results):
    about = results["machine"]
    servers = ", ".join(version["server"].split()[0] for version in results["versions"])
    lines = [
        "<!-- Written by `make bench`; edit bench/report.py instead. -->", "# Benchmarks", "",
        f"`make bench` of {about['date']}, commit {about['commit']}. {about['cpu']}, "
        f"{about['cores']} cores, {about['memory']}, Linux {about['kernel']}, TCP congestion "
        f"control {about['tcp']}; {about['compiler']}; PostgreSQL {servers}. "
        f"{results['repetitions']} repetitions at scale {results['scale']:g}.", "",
        *busy_note(results)]
    for heading, body in sections(results):
        lines += [f"## {heading}", "", *body, ""]
    return "\n".join(lines) + "\n" + METHOD
