#!/usr/bin/env python3
"""kill -9 under load, again and again; then nothing may be missing, doubled, torn or out of order.

  crash_loop.py [--cycles N] [--seed S] [--version V] [--writers W]

Each cycle lets writers and kaptanto run for a random moment and then strikes: kill -9 or SIGTERM of
kaptanto, an end or a SIGKILL of the server process that feeds it, or a crash of the whole server.
After at most 25 cycles the writers stop, everything is drained, and journal, deliveries and tables
are compared with the ledger (workload.py, check.py). Longer runs repeat that with a fresh database,
and unless --version names one, with each server version in turn.
The seed is printed; it decides what happens but not exactly when, since the machine has a say.
"""

import argparse
import collections
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]

import psycopg2  # noqa: E402

from check import check_deliveries, check_final_state, check_journal, read_ledger  # noqa: E402
from harness import Cluster, Kaptanto  # noqa: E402
from harness.events import parse_json  # noqa: E402
from workload import SCHEMA, TABLES, Writer  # noqa: E402

ROUND_CYCLES_MAX = 25
VERSIONS = [15, 18, 14, 17, 16]


class Round:
    """One database, one data folder, some writers, a number of strikes, one judgement."""

    def __init__(self, cluster, folder, seed, writers):
        self.random = random.Random(seed)
        self.cluster = cluster
        self.db = cluster.new_database()
        self.db.set(logical_decoding_work_mem="64kB", wal_sender_timeout="3s")
        self.db.execute(*SCHEMA)
        config = {
            "log-level": "warn",
            "journal": {"segment-bytes": self.random.choice([1, 4, 64]) << 20},
            "postgres": {
                "streaming": self.random.random() < 0.7,
                "spill-memory": self.random.choice([64 << 10, 16 << 20]),
            },
        }
        self.kaptanto = Kaptanto(folder, self.db, TABLES, config)
        self.writers = [Writer(self.db, n, self.random.random()) for n in range(1, writers + 1)]
        self.runs = []
        self.strikes = collections.Counter()

    def run(self, cycles):
        """Gives the faults found."""
        self.kaptanto.start_streaming()
        for writer in self.writers:
            writer.start()
        for _ in range(cycles):
            self._pause()
            self._strike()
        for writer in self.writers:
            writer.stop()
        self.db.reconnect()
        self._ensure_running()
        self.kaptanto.read_stdout()
        self.kaptanto.wait_streaming(timeout=60)
        self.kaptanto.drain(timeout=120)
        self.kaptanto.stop()
        self._keep_run()
        return self._judge()

    def close(self):
        for writer in self.writers:
            if writer.is_alive():
                writer.stop()
        if self.kaptanto.alive():
            self.kaptanto.kill()
        self.db.reconnect()
        self.db.drop()

    # -- strikes -----------------------------------------------------------------------------------

    def _pause(self):
        """A random moment: this is what makes it strike anywhere. Short ones hit the start-up."""
        time.sleep(self.random.choice([0.02, 0.1, 0.3, 0.8]) * self.random.uniform(0.5, 1.5))

    def _strike(self):
        names = ["kill", "kill", "kill", "kill", "kill", "terminate", "walsender", "walsender",
                 "backend_crash", "server_crash"]
        name = self.random.choice(names)
        self.strikes[name] += 1
        getattr(self, f"_strike_{name}")()

    def _strike_kill(self):
        if self.kaptanto.alive():
            self.kaptanto.kill()
        self._restart()

    def _strike_terminate(self):
        if self.kaptanto.alive():
            self.kaptanto.process.terminate()
            self.kaptanto.process.wait(20)  # the pipe may be full meanwhile
            self.kaptanto.read_stdout()
            self.kaptanto.wait_exit()
        self._restart()

    def _strike_walsender(self):
        """The connection ends; kaptanto itself lives on."""
        self._on_server("SELECT pg_terminate_backend(pid) FROM pg_stat_replication")

    def _strike_backend_crash(self):
        """SIGKILL of one server process: the server throws everybody out and recovers."""
        pids = self._on_server("SELECT pid FROM pg_stat_replication")
        for (pid,) in pids or []:
            try:
                self.cluster.signal_backend(pid)
            except ProcessLookupError:
                pass

    def _strike_server_crash(self):
        self.cluster.restart("immediate")

    def _on_server(self, statement):
        try:
            connection = self.cluster.connect("postgres")
            with connection.cursor() as cursor:
                cursor.execute(statement)
                rows = cursor.fetchall()
            connection.close()
            return rows
        except psycopg2.Error:
            return None  # still recovering from an earlier strike

    def _restart(self):
        self._keep_run()
        # Sometimes nobody reads the pipe until the next strike: it is full, and lines are torn.
        self.kaptanto.start(reading=self.random.choice(["events"] * 4 + ["later"]))

    def _ensure_running(self):
        if not self.kaptanto.alive():
            raise AssertionError(f"kaptanto gave up\n{self.kaptanto.describe()}")

    def _keep_run(self):
        code = self.kaptanto.returncode
        # SIGTERM may come before the program has said how it takes it.
        too_early = code == -signal.SIGTERM and not self.kaptanto.log
        assert code in (0, -signal.SIGKILL) or too_early, (
            f"exit status {code}\n{self.kaptanto.describe()}"
        )
        self.runs.append([e for e in self.kaptanto.events if e.table in TABLES])

    # -- judgement ---------------------------------------------------------------------------------

    def _judge(self):
        rows = self.db.rows("SELECT id, xid, relation, operation, old_row::text, new_row::text"
                            " FROM ledger ORDER BY id")
        ledger = read_ledger(rows)
        journal = [e for e in self.kaptanto.journal_events() if e.table in TABLES]
        tables = {
            name: [parse_json(text)
                   for (text,) in self.db.rows(f"SELECT to_json(t)::text FROM {name} t")]
            for name in TABLES
        }
        self.summary = (
            f"{len(ledger)} transactions, {len(rows)} changes, {len(self.runs)} runs of kaptanto,"
            f" {sum(map(len, self.runs)) - len(journal)} repeated deliveries,"
            f" strikes: {dict(self.strikes)}"
        )
        return (
            check_journal(ledger, journal)
            or check_final_state(journal, tables)
            or check_deliveries(journal, self.runs)
        )


def run_rounds(arguments):
    seed = arguments.seed
    if seed is None:
        seed = random.SystemRandom().randrange(1 << 32)
    print(f"crash loop: {arguments.cycles} cycles, seed {seed}", flush=True)
    versions = [arguments.version] if arguments.version else VERSIONS
    for number in range((arguments.cycles + ROUND_CYCLES_MAX - 1) // ROUND_CYCLES_MAX):
        cycles = min(arguments.cycles - number * ROUND_CYCLES_MAX, ROUND_CYCLES_MAX)
        version = versions[number % len(versions)]
        with Cluster(version) as cluster:
            if not run_round(cluster, f"{seed}/{number}", cycles, arguments.writers):
                return 1
    print("no event missing, none twice, order kept, every commit whole")
    return 0


def run_round(cluster, seed, cycles, writers):
    """True when nothing was wrong; otherwise the folder is kept."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kaptanto-crash-"))
    started = time.monotonic()
    round_ = Round(cluster, folder, seed, writers)
    try:
        faults = round_.run(cycles)
    except BaseException:
        print(f"round {seed}, PostgreSQL {cluster.version}; kept for a look: {folder}")
        raise
    finally:
        round_.close()
    print(f"round {seed}: PostgreSQL {cluster.version}, {cycles} cycles,"
          f" {time.monotonic() - started:.0f} s, {round_.summary}", flush=True)
    if faults:
        print("\n".join(["FAULTS:", *faults, f"kept for a look: {folder}"]))
        return False
    shutil.rmtree(folder)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, default=12)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--version", type=int, choices=sorted(VERSIONS))
    parser.add_argument("--writers", type=int, default=4)
    return run_rounds(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
