"""Compares a journal with the ledger of the truth, and deliveries with the journal.

Each function returns a list of faults in words, empty when all is well.
"""

import collections

from harness.events import parse_json

KEYS = {"item": ["id"], "doc": ["k"], "pair": ["a", "b"], "scratch": ["id"]}
FULL_IDENTITY = {"doc"}
FAULTS_MAX = 20


class LedgerEntry:
    """One committed row change."""

    __slots__ = ("id", "xid", "table", "operation", "old", "new")

    def __init__(self, id_, xid, table, operation, old, new):
        self.id = id_
        self.xid = xid
        self.table = table
        self.operation = operation
        self.old = old
        self.new = new

    def key_of(self, row):
        return {name: row[name] for name in KEYS[self.table]}

    def __repr__(self):
        return f"ledger {self.id}: {self.operation} {self.table} xid {self.xid}"


def read_ledger(rows):
    """Entries by transaction from (id, xid, relation, operation, old_row, new_row) texts."""
    ledger = collections.OrderedDict()
    for id_, xid, table, operation, old, new in rows:
        entry = LedgerEntry(id_, xid & 0xFFFFFFFF, table, operation,
                            old and parse_json(old), new and parse_json(new))
        ledger.setdefault(entry.xid, []).append(entry)
    return ledger


def check_journal(ledger, events):
    """Every committed change once, every commit whole and in one piece, order per key kept."""
    faults = []
    runs = _split_into_transactions(events)
    seen = collections.Counter(xid for xid, _ in runs)
    faults += [f"transaction {xid} is in {n} pieces" for xid, n in seen.items() if n > 1]
    faults += [f"transaction {xid} is missing ({len(entries)} changes, first {entries[0]})"
               for xid, entries in ledger.items() if xid not in seen]
    faults += [f"transaction {xid} was never committed: {run[0]}"
               for xid, run in runs if xid not in ledger]
    for xid, run in runs:
        if seen[xid] == 1 and xid in ledger:
            faults += _check_transaction(ledger[xid], run)
    faults += _check_positions(events)
    if not faults:
        faults += _check_key_order(ledger, runs)
    return faults[:FAULTS_MAX]


def _split_into_transactions(events):
    runs = []
    for event in events:
        if not runs or runs[-1][0] != event.tx_id:
            runs.append((event.tx_id, []))
        runs[-1][1].append(event)
    return runs


def _check_transaction(entries, run):
    if len(entries) != len(run):
        return [f"transaction {entries[0].xid} has {len(run)} events for {len(entries)} changes"]
    faults = []
    for entry, event in zip(entries, run):
        fault = _difference(entry, event)
        if fault:
            faults.append(f"{entry}: {fault} in {event}")
    return faults


def _difference(entry, event):
    if (event.operation, event.table) != (entry.operation, entry.table):
        return "another change"
    if entry.operation == "truncate":
        return None if (event.key, event.before, event.after) == ({}, None, None) else "not empty"
    if event.key != entry.key_of(entry.new or entry.old):
        return "another key"
    return _difference_after(entry, event) or _difference_before(entry, event)


def _difference_after(entry, event):
    if entry.new is None:
        return None if event.after is None else "an after image"
    unchanged = event.metadata.get("unchanged", [])
    if unchanged and (entry.operation != "update" or entry.table in FULL_IDENTITY):
        return "unchanged columns where there can be none"
    if any(entry.old[name] != entry.new[name] for name in unchanged):
        return "a changed column called unchanged"
    expected = {name: value for name, value in entry.new.items() if name not in unchanged}
    return None if event.after == expected else f"after should be {str(expected)[:300]}"


def _difference_before(entry, event):
    if entry.table in FULL_IDENTITY:
        expected = entry.old
    elif entry.operation == "delete":
        expected = entry.key_of(entry.old)
    elif entry.operation == "update" and entry.key_of(entry.old) != entry.key_of(entry.new):
        expected = entry.key_of(entry.old)
    else:
        expected = None
    return None if event.before == expected else f"before should be {str(expected)[:300]}"


def _check_positions(events):
    faults = []
    keys = collections.Counter(event.idempotency_key for event in events)
    faults += [f"{n} times in the journal: {key}" for key, n in keys.items() if n > 1]
    ids = collections.Counter(event.id for event in events)
    faults += [f"id {id_} {n} times in the journal" for id_, n in ids.items() if n > 1]
    for one, two in zip(events, events[1:]):
        if two.position <= one.position:
            faults.append(f"position goes back: {one} then {two}")
    return faults


def _check_key_order(ledger, runs):
    """Only called when each run equals its ledger entries, so entries stand for events."""
    faults = []
    last = {}
    truncated = collections.defaultdict(int)
    highest = collections.defaultdict(int)
    for xid, _ in runs:
        for entry in ledger[xid]:
            if entry.id < truncated[entry.table]:
                faults.append(f"{entry} comes after a later truncate")
            if entry.operation == "truncate":
                if entry.id < highest[entry.table]:
                    faults.append(f"{entry} comes after a later change")
                truncated[entry.table] = entry.id
            highest[entry.table] = max(highest[entry.table], entry.id)
            for row in filter(None, (entry.old, entry.new)):
                at = (entry.table, str(entry.key_of(row)))
                if entry.id < last.get(at, 0):
                    faults.append(f"{entry} comes after ledger {last[at]} of the same key")
                last[at] = entry.id
    return faults


def check_final_state(events, tables):
    """Applying the events to empty tables gives the tables' contents. `tables`: rows by name."""
    state = {name: {} for name in KEYS}
    for event in events:
        rows = state[event.table]
        if event.operation == "truncate":
            rows.clear()
            continue
        old = rows.pop(str(event.before and {n: event.before[n] for n in KEYS[event.table]}
                           or event.key), None)
        if event.after is not None:
            kept = {name: old[name] for name in event.metadata.get("unchanged", [])}
            rows[str(event.key)] = {**event.after, **kept}
    faults = []
    for name, actual in tables.items():
        expected = {str({n: row[n] for n in KEYS[name]}): row for row in actual}
        for key in expected.keys() | state[name].keys():
            if expected.get(key) != state[name].get(key):
                faults.append(f"{name} {key}: the table has {str(expected.get(key))[:200]},"
                              f" the events give {str(state[name].get(key))[:200]}")
    return faults[:FAULTS_MAX]


def check_deliveries(journal, runs):
    """All of the journal was delivered, byte for byte, and in journal order within each run."""
    faults = []
    place = {event.raw: number for number, event in enumerate(journal)}
    delivered = set()
    for number, run in enumerate(runs):
        last = -1
        for event in run:
            at = place.get(event.raw)
            if at is None:
                faults.append(f"run {number} delivered what the journal does not hold: {event}")
                continue
            if at <= last:
                faults.append(f"run {number} delivered out of order: {event}")
            last = at
            delivered.add(at)
    faults += [f"never delivered: {journal[at]}"
               for at in range(len(journal)) if at not in delivered]
    return faults[:FAULTS_MAX]
