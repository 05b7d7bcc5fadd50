"""The judge of the crash loop finds what it is there to find."""

import json
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]

from check import check_deliveries, check_final_state, check_journal, read_ledger  # noqa: E402
from harness import Event  # noqa: E402
from harness.events import parse_json  # noqa: E402


def item(id_, v=0):
    return {"id": id_, "writer": 1, "v": v, "pad": "x"}


CHANGES = [
    (1, 100, "item", "insert", None, item(1)),
    (2, 100, "item", "insert", None, item(2)),
    (3, 101, "item", "update", item(1), item(1, 5)),
    (4, 102, "item", "update", item(1, 5), item(9, 5)),
    (5, 102, "item", "delete", item(2), None),
    (6, 103, "scratch", "truncate", None, None),
]


def event_of(change, seq):
    id_, xid, table, operation, old, new = change
    key = {"id": (new or old)["id"]} if operation != "truncate" else {}
    moved = old and (operation == "delete" or old["id"] != new["id"])
    data = {
        "id": f"ULID{id_}",
        "idempotency_key": f"default:public.{table}:{json.dumps(key)}:{operation}:0/{xid}:{seq}",
        "operation": operation,
        "table": table,
        "key": key,
        "before": {"id": old["id"]} if moved else None,
        "after": new,
        "metadata": {"lsn": f"0/{xid}", "tx_id": xid, "seq": seq},
    }
    return Event((json.dumps(data) + "\n").encode())


@pytest.fixture
def ledger():
    return read_ledger([(*c[:4], *(row and json.dumps(row) for row in c[4:])) for c in CHANGES])


@pytest.fixture
def events():
    seqs = [0, 1, 0, 0, 1, 0]
    return [event_of(change, seq) for change, seq in zip(CHANGES, seqs)]


def test_good_journal_passes(ledger, events):
    assert check_journal(ledger, events) == []


def test_missing_event(ledger, events):
    assert check_journal(ledger, events[:1] + events[2:])


def test_missing_transaction(ledger, events):
    assert check_journal(ledger, events[:2] + events[3:])


def test_doubled_event(ledger, events):
    assert check_journal(ledger, events[:3] + events[2:])


def test_transaction_that_was_not_committed(ledger, events):
    del ledger[101]
    assert check_journal(ledger, events)


def test_transaction_in_two_pieces(ledger, events):
    assert check_journal(ledger, [events[0], events[2], events[1], *events[3:]])


def test_swapped_transactions(ledger, events):
    assert check_journal(ledger, events[:2] + events[3:5] + events[2:3] + events[5:])


def test_wrong_value(ledger, events):
    events[2].data["after"]["v"] = events[2].data["after"]["id"]
    assert check_journal(ledger, events)


def test_changed_column_called_unchanged(ledger, events):
    del events[2].data["after"]["v"]
    events[2].metadata["unchanged"] = ["v"]
    assert check_journal(ledger, events)


def test_final_state(events):
    tables = {"item": [parse_json(json.dumps(item(9, 5)))], "scratch": [], "doc": [], "pair": []}
    assert check_final_state(events, tables) == []
    assert check_final_state(events[:-2], tables)


def test_deliveries(events):
    assert check_deliveries(events, [events[:3], events[1:]]) == []
    assert check_deliveries(events, [events[:3], events[4:]]), "one is missing"
    assert check_deliveries(events, [events[:3], events[:0:-1]]), "out of order"
    assert check_deliveries(events[:-1], [events]), "not in the journal"
