"""Readings from /proc and small statistics. Linux only, like the product."""

import os
import statistics
import time

CPUS = os.cpu_count() or 1


def cpu_by_thread(pid):
    """Seconds on a CPU of each thread that lives now, by name, exact to the nanosecond."""
    found = {}
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as comm:
                name = comm.read().strip()
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as line:
                found[name] = found.get(name, 0.0) + int(line.read().split()[0]) / 1e9
    except (OSError, IndexError):
        pass
    return found


def cpu_seconds(pid):
    return sum(cpu_by_thread(pid).values())


def status_field(path, field):
    try:
        with open(path, encoding="ascii") as lines:
            for line in lines:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def peak_memory_bytes(pid):
    return status_field(f"/proc/{pid}/status", "VmHWM") * 1024


def memory_bytes(pid):
    return status_field(f"/proc/{pid}/status", "VmRSS") * 1024


def voluntary_switches(pid):
    return sum(status_field(f"/proc/{pid}/task/{thread}/status", "voluntary_ctxt_switches")
               for thread in os.listdir(f"/proc/{pid}/task"))


def thread_named(pid, name):
    """Id of a thread by its name, or None while there is none."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as comm:
                if comm.read().strip() == name:
                    return int(thread)
    except OSError:
        pass
    return None


def bytes_written(pid, thread):
    """Bytes a thread passed to write() and its kin so far, wherever they went."""
    return status_field(f"/proc/{pid}/task/{thread}/io", "wchar")


class Noise:
    """What others used of the machine since the object was made."""

    def __init__(self):
        self._time, self._busy = self._read()
        self._self = time.process_time()

    @staticmethod
    def _read():
        with open("/proc/stat", encoding="ascii") as lines:
            ticks = [int(word) for word in lines.readline().split()[1:]]
        busy = sum(ticks[i] for i in (0, 1, 2, 5, 6))
        return time.monotonic(), busy / os.sysconf("SC_CLK_TCK")

    def share(self, ours):
        """Share of all CPUs used by others; `ours`: CPU seconds of what we measured."""
        now, busy = self._read()
        mine = ours + time.process_time() - self._self
        return max(0.0, (busy - self._busy - mine) / ((now - self._time) * CPUS))


def median(values):
    return statistics.median(values) if values else 0.0


def percentile(ordered, share):
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
