"""The binary under test, driven from outside."""

import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import threading
import time

from harness.cluster import MARKER_TABLE
from harness.events import parse_line
from harness.lifetime import end_with_parent
from harness.waiting import DeadlineError, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[3]


def kaptanto_binary():
    """KAPTANTO_BIN, or the newest of the usual builds."""
    named = os.environ.get("KAPTANTO_BIN")
    if named:
        return pathlib.Path(named)
    built = [ROOT / "build" / build / "kaptanto" for build in ("release", "dev", "integ")]
    built = [path for path in built if path.exists()]
    if not built:
        raise RuntimeError("no kaptanto binary: build one or set KAPTANTO_BIN")
    return max(built, key=lambda path: path.stat().st_mtime)


class Finished:
    """What a finished command left: `code`, `out` and `err` as text."""

    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err

    @property
    def error_lines(self):
        """Lines on stderr that are not log records below error."""
        quiet = ("debug", "info", "warn")
        return [line for line in self.err.splitlines()
                if line and _log_record(line)["level"] not in quiet]

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out[-3000:]}\n--- stderr\n{self.err[-6000:]}"


def _log_record(line):
    """The record of a log line, its level in lower case; `plain` for what is no record."""
    try:
        record = json.loads(line)
        return {**record, "level": record["level"].lower()}
    except (ValueError, KeyError, AttributeError, TypeError):
        return {"level": "plain", "msg": line.rstrip()}


def run_command(*arguments, env=None, cwd=None, stdin=None, timeout=20.0, user=None):
    """Runs the binary to its end. A command that does not end in time is a failure."""
    process = subprocess.Popen(
        [str(kaptanto_binary()), *map(str, arguments)],
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(env),
        cwd=cwd,
        user=user,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise DeadlineError(
            f"{arguments} did not end within {timeout} s\n{out.decode()[-2000:]}\n"
            f"{err.decode()[-6000:]}"
        ) from None
    return Finished(process.returncode, out.decode("utf-8"), err.decode("utf-8"))


def _environment(extra):
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PG", "KAPTANTO_")) or name.endswith("SAN_OPTIONS")
    }
    # A zone that is not UTC, so that a use of the local clock shows.
    return {**kept, "TZ": "America/St_Johns", **(extra or {})}


def inspect_journal(folder):
    """The events of whole transactions that `kaptanto journal inspect` finds, in order."""
    done = run_command("journal", "inspect", folder, "--events", "--json", timeout=120.0)
    assert done.code == 0, done
    lines = done.out.encode().splitlines(keepends=True)
    last_whole = json.loads(lines[-1])["last_whole"]
    events = []
    for line in lines:
        if not line.startswith(b'{"type":"event"'):
            continue
        head, _, rest = line.partition(b',"event":')
        sequence = json.loads(head + b"}")["sequence"]
        assert not events or sequence == previous + 1, f"sequence {sequence} after {previous}"
        previous = sequence
        if sequence <= last_whole:
            events.append(parse_line(rest[:-2] + b"\n"))
    return events


class Kaptanto:
    """A running pipeline: its events, its log, its process.

    Thread: the test owns it; two threads of its own read stdout and stderr.
    """

    def __init__(self, folder, db=None, tables=(), config=None, flags=(), env=None):
        self.db = db
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data_dir = self.folder / "data"
        self.config = {
            "tables": {name: {} for name in (*tables, MARKER_TABLE)},
            "data-dir": str(self.data_dir),
            # Most tests are about the stream alone.
            "snapshot": {"mode": "never"},
            "admin": {"enabled": False},
        }
        if db is not None:
            self.config["source"] = db.dsn()
        merge(self.config, config or {})
        self.flags = list(flags)
        self.env = env
        self.process = None
        self.runs = 0
        self._changed = threading.Condition()
        self._events = []
        self._lines = 0
        self._raw_errors = []
        self._log = []
        self._threads = []
        self._reading = threading.Event()
        self._unexpected = None

    # -- life cycle -------------------------------------------------------------------------------

    def start(self, reading="events", output=subprocess.PIPE):
        """Starts the process. What an earlier run wrote is forgotten.

        reading: "events" parses each line, "count" only counts lines, "later" leaves the pipe full
        until read_stdout().
        """
        assert self.process is None or self.process.poll() is not None, "still running"
        self.runs += 1
        self._events = []
        self._lines = 0
        self._raw_errors = []
        self._log = []
        self._unexpected = None
        path = self.folder / "kaptanto.yaml"
        path.write_text(json.dumps(self.config, ensure_ascii=False))  # JSON is YAML
        self.process = subprocess.Popen(
            [str(kaptanto_binary()), "--config", str(path), *self.flags],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            env=_environment(self.env),
            cwd=self.folder,
            preexec_fn=end_with_parent,
        )
        self._reading = threading.Event()
        if reading != "later":
            self._reading.set()
        self._threads = [threading.Thread(target=self._read_errors, daemon=True,
                                          args=(self.process.stderr,))]
        if output == subprocess.PIPE:
            reader = self._count_lines if reading == "count" else self._read_events
            self._threads.append(threading.Thread(target=reader, daemon=True,
                                                  args=(self.process.stdout, self._reading)))
        for thread in self._threads:
            thread.start()
        return self

    def start_streaming(self, **parameters):
        """start(), and waits until the server streams to us: later changes are seen."""
        self.start(**parameters)
        self.wait_streaming()
        return self

    def wait_streaming(self, timeout=20.0):
        """Gives the walsender's pid."""

        def walsender():
            if not self.alive():
                raise DeadlineError(f"ended instead of streaming\n{self.describe()}")
            return self.db.walsender(self.slot_name)

        return wait_until(walsender, timeout, f"streaming\n{self.log_tail()}")

    @property
    def slot_name(self):
        named = self.config.get("postgres", {}).get("slot")
        return named or "kaptanto_" + self.config.get("source-id", "default")

    def read_stdout(self):
        """Begins to read the pipe after start(reading="later")."""
        self._reading.set()

    def stop(self, timeout=10.0, expect=0):
        """SIGTERM; waits for the end and checks the exit status."""
        if self.process is None or self.process.poll() is not None:
            return self.returncode
        self.read_stdout()
        self.process.send_signal(signal.SIGTERM)
        code = self.wait_exit(timeout)
        assert code == expect, f"exit status {code} after SIGTERM, not {expect}\n{self.log_tail()}"
        return code

    def kill(self):
        """kill -9; what it had written to the pipe is still read."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.kill()
        self.read_stdout()
        return self.wait_exit(10.0)

    def wait_exit(self, timeout=20.0):
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise DeadlineError(f"still running after {timeout} s\n{self.log_tail()}") from None
        for thread in self._threads:
            thread.join(timeout)
        return self.process.returncode

    @property
    def returncode(self):
        return self.process.returncode if self.process else None

    def alive(self):
        return self.process is not None and self.process.poll() is None

    # -- events -----------------------------------------------------------------------------------

    @property
    def events(self):
        """Events of this run so far, in the order of arrival."""
        with self._changed:
            return list(self._events)

    def wait_for(self, condition, timeout=20.0, what="events"):
        """Waits until condition(events) is true; gives its value."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                if self._unexpected:
                    raise self._unexpected
                value = condition(self._events)
                if value:
                    return value
                left = deadline - time.monotonic()
                if left <= 0:
                    raise DeadlineError(f"not within {timeout} s: {what}\n{self.describe()}")
                if not self.alive():
                    left = min(left, 0.5)
                    if not any(thread.is_alive() for thread in self._threads):
                        raise DeadlineError(f"ended before: {what}\n{self.describe()}")
                self._changed.wait(min(left, 0.5))

    def wait_count(self, count, timeout=20.0):
        """The first `count` events."""
        self.wait_for(lambda events: len(events) >= count, timeout, f"{count} events")
        return self.events[:count]

    def drain(self, timeout=30.0):
        """All events of what was committed so far, without the markers.

        Writes a row to the marker table and waits for its event: commit order is kept, so nothing
        that was committed earlier can come later.
        """
        mark = str(self.db.value(f"INSERT INTO {MARKER_TABLE} DEFAULT VALUES RETURNING id"))
        seen = 0

        def arrived(events):
            nonlocal seen
            fresh, seen = events[seen:], len(events)
            return any(e.table == MARKER_TABLE and str(e.key.get("id")) == mark for e in fresh)

        self.wait_for(arrived, timeout, "the marker's event")
        return [event for event in self.events if event.table != MARKER_TABLE]

    @property
    def lines(self):
        """Lines counted after start(reading="count")."""
        with self._changed:
            return self._lines

    def wait_lines(self, count, timeout=60.0):
        self.wait_for(lambda _: self._lines >= count, timeout, f"{count} lines")

    def wait_acknowledged(self, position, timeout=30.0):
        """Waits until the server knows that everything up to `position` is durable here."""
        wait_until(
            lambda: self.db.slot(self.slot_name).confirmed_flush >= position,
            timeout, "acknowledged position",
        )

    def saved_cursor(self):
        """Sequence up to which the running process has saved that stdout has everything."""
        path = self.data_dir / "cursors.db"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            row = database.execute("SELECT lowest FROM consumer_cursors").fetchone()
        return row[0] if row else 0

    @property
    def journal(self):
        """Folder of the event log."""
        return self.data_dir / "events"

    def journal_events(self):
        """All events of whole transactions in the journal, markers left out."""
        return [event for event in inspect_journal(self.journal) if event.table != MARKER_TABLE]

    # -- log --------------------------------------------------------------------------------------

    @property
    def log(self):
        """The JSON records of stderr."""
        with self._changed:
            return list(self._log)

    @property
    def stderr(self):
        with self._changed:
            return "".join(self._raw_errors)

    def wait_log(self, text, timeout=20.0):
        """Waits for a log record that contains `text`, whatever its case."""
        wanted = text.lower()
        return wait_until(
            lambda: next((r for r in self.log if wanted in json.dumps(r).lower()), None),
            timeout, f"log record with {text!r}\n{self.log_tail()}",
        )

    def log_tail(self, lines=25):
        with self._changed:
            return "".join(self._raw_errors[-lines:])

    def describe(self):
        with self._changed:
            events = "\n".join(repr(event) for event in self._events[-8:])
            count = len(self._events)
            log = "".join(self._raw_errors[-25:])
        return f"exit status {self.returncode}; {count} events, last:\n{events}\nlog:\n{log}"

    # -- process ----------------------------------------------------------------------------------

    def rss_peak(self):
        """Highest resident memory so far, bytes."""
        return self._status("VmHWM")

    def rss(self):
        return self._status("VmRSS")

    def cpu_seconds(self):
        """User and system time of the process so far."""
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = stat.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _status(self, name):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in text.splitlines() if line.startswith(name + ":"))
        return int(line.split()[1]) * 1024

    # -- readers ----------------------------------------------------------------------------------

    def _read_events(self, pipe, reading):
        reading.wait()
        for line in iter(pipe.readline, b""):
            try:
                event = parse_line(line)
            except (ValueError, AssertionError) as fault:
                # kill -9 may tear the last line; anything else is a broken event.
                if line.endswith(b"\n"):
                    self._fail(AssertionError(f"bad line {line[:2000]!r}: {fault}"))
                continue
            with self._changed:
                self._events.append(event)
                self._changed.notify_all()

    def _count_lines(self, pipe, reading):
        reading.wait()
        for block in iter(lambda: pipe.read1(1 << 20), b""):
            with self._changed:
                self._lines += block.count(b"\n")
                self._changed.notify_all()

    def _read_errors(self, pipe):
        for line in iter(pipe.readline, b""):
            text = line.decode("utf-8", "replace")
            with self._changed:
                self._raw_errors.append(text)
                self._log.append(_log_record(text))
                self._changed.notify_all()

    def _fail(self, fault):
        with self._changed:
            self._unexpected = fault
            self._changed.notify_all()


def merge(target, addition):
    """Puts `addition` into the configuration; a value of None removes the key."""
    for name, value in addition.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict) and isinstance(target.get(name), dict):
            merge(target[name], value)
        else:
            target[name] = value
