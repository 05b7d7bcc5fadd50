"""Server-sent events: real clients, which lose nothing whatever happens to them or the server."""

import http.client
import json
import shutil
import socket
import subprocess
import threading
import urllib.parse

import pytest

from harness import run_command
from harness.cluster import MARKER_TABLE, free_port
from harness.waiting import wait_until

TOKEN = "a-token-of-32-characters-or-less"


class Frame:
    """One event as a client sees it; comments are frames too."""

    def __init__(self, text):
        self.id = self.event = self.data = self.comment = None
        for line in text.split("\n"):
            name, _, value = line.partition(": ")
            if name == "":
                self.comment = value
            elif name in ("id", "event", "data"):
                setattr(self, name, value)
        self.id = int(self.id) if self.id else None
        self.json = json.loads(self.data) if self.data else None

    def __repr__(self):
        return f"Frame({self.id}, {self.event}, {self.comment or self.data})"


class Client:
    """A connection to /events, read by a thread of its own."""

    def __init__(self, port, headers=None, **parameters):
        query = urllib.parse.urlencode(parameters)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.connection.request("GET", f"/events?{query}", headers=headers or {})
        self.socket = self.connection.sock
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        assert self.response.getheader("Content-Type") == "text/event-stream"
        self.frames = []
        self.is_over = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        lines = []
        try:
            for line in self.response:
                line = line.decode().rstrip("\n")
                if line:
                    lines.append(line)
                else:
                    self.frames.append(Frame("\n".join(lines)))
                    lines = []
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        self.is_over = True

    @property
    def events(self):
        return [f for f in list(self.frames) if f.data is not None and f.event != "gap"]

    @property
    def keys(self):
        return [f.json["key"]["id"] for f in self.events if f.json["table"] != MARKER_TABLE]

    def wait_keys(self, count, timeout=30.0):
        wait_until(lambda: len(self.keys) >= count, timeout, f"{count} keys of {self.keys[-3:]}")
        return self.keys

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.thread.join(10)
        assert not self.thread.is_alive()
        self.response.close()
        self.connection.close()


@pytest.fixture
def serving(db, pipeline):
    """Makes a running pipeline with `output: sse` on a table t, and its clients."""
    clients = []

    def make(flags=(), **config):
        db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        db.execute("CREATE TABLE u (id int PRIMARY KEY, v text)")
        port = free_port()
        kaptanto = pipeline(db, ["t", "u"], flags=flags,
                            config={"output": "sse", "port": port, **config})
        kaptanto.port = port

        def client(**parameters):
            clients.append(Client(port, **parameters))
            return clients[-1]

        kaptanto.client = client
        return kaptanto.start_streaming()

    yield make
    for client in clients:
        client.close()


def insert(db, first, last, table="t"):
    db.execute(f"INSERT INTO {table} SELECT g, 'v' || g FROM generate_series({first}, {last}) g")


def insert_each(db, first, last):
    for number in range(first, last + 1):
        db.execute(f"INSERT INTO t VALUES ({number}, 'v')")


def ask(port, method, target, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"Content-Type": "application/json"} | (headers or {}) if body else headers or {}
    connection.request(method, target, body=body, headers=headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response, json.loads(text) if text else None


def test_frames_are_whole_and_in_order(db, serving):
    kaptanto = serving()
    client = kaptanto.client()
    insert(db, 1, 100)
    db.execute("UPDATE t SET v = 'a\nb' WHERE id = 1", "DELETE FROM t WHERE id = 2")
    client.wait_keys(102)
    assert [f.event for f in client.events] == ["insert"] * 100 + ["update", "delete"]
    assert all(f.event == f.json["operation"] for f in client.events)
    ids = [f.id for f in client.events]
    assert ids == list(range(ids[0], ids[0] + 102))
    assert client.events[100].json["after"]["v"] == "a\nb"


def test_new_clients_start_at_latest_or_where_they_say(db, serving):
    kaptanto = serving()
    first = kaptanto.client(**{"from": "earliest"})
    insert_each(db, 1, 5)
    first.wait_keys(5)
    third = first.events[2]
    moment = third.json["timestamp"]
    latest = kaptanto.client()
    assert kaptanto.client(**{"from": third.id}).wait_keys(3) == [3, 4, 5]
    since = kaptanto.client(**{"from": moment}).wait_keys(3)
    assert since[-3:] == [3, 4, 5] and len(since) <= 5
    insert(db, 6, 6)
    assert latest.wait_keys(1) == [6]
    assert kaptanto.client(**{"from": "2001-01-01T00:00:00+01:00"}).wait_keys(6) == [
        1, 2, 3, 4, 5, 6]
    assert kaptanto.client(**{"from": "2001-01-01T00:00:00Z"}).wait_keys(6)[0] == 1


def test_a_named_client_goes_on_where_it_was(db, serving):
    kaptanto = serving()
    client = kaptanto.client(consumer="search")
    insert(db, 1, 50)
    client.wait_keys(50)
    client.close()
    insert(db, 51, 100)
    again = kaptanto.client(consumer="search", **{"from": "earliest"})
    insert(db, 101, 110)
    keys = again.wait_keys(60)
    assert keys[-60:] == list(range(51, 111))
    assert keys == list(range(keys[0], 111))


def test_a_named_client_that_read_nothing_misses_nothing(db, serving):
    kaptanto = serving()
    kaptanto.client(consumer="search").close()
    insert(db, 1, 10)
    assert kaptanto.client(consumer="search").wait_keys(10) == list(range(1, 11))


def test_last_event_id_wins(db, serving):
    kaptanto = serving()
    client = kaptanto.client(consumer="search")
    insert(db, 1, 50)
    client.wait_keys(50)
    seen = client.events[19].id
    client.close()
    again = kaptanto.client(consumer="search", headers={"Last-Event-ID": str(seen)})
    assert again.wait_keys(30) == list(range(21, 51))
    stand_in = kaptanto.client(lastEventId=seen)
    assert stand_in.wait_keys(30) == list(range(21, 51))


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_nothing_is_missed_when_the_server_ends(db, serving, how):
    kaptanto = serving()
    client = kaptanto.client(consumer="search")
    anonymous = kaptanto.client()
    insert_each(db, 1, 200)
    client.wait_keys(100)
    seen_by_name = list(client.keys)
    anonymous.wait_keys(1)
    getattr(kaptanto, how)()
    wait_until(lambda: client.is_over and anonymous.is_over, 10, "the end of the connections")
    seen_by_name = client.keys
    seen = anonymous.events
    insert_each(db, 201, 250)
    kaptanto.start_streaming()
    by_name = kaptanto.client(consumer="search")
    by_id = kaptanto.client(headers={"Last-Event-ID": str(seen[-1].id)})
    last = [frame.json["key"]["id"] for frame in seen][-1]
    assert by_id.wait_keys(250 - last) == list(range(last + 1, 251))
    wait_until(lambda: by_name.keys and by_name.keys[-1] == 250, 30, "the last event")
    keys = by_name.keys
    assert keys == list(range(keys[0], 251))
    assert keys[0] <= seen_by_name[-1] + 1


def test_filters(db, serving):
    kaptanto = serving()
    tables = kaptanto.client(tables="public.u,nothing*")
    operations = kaptanto.client(tables="t", operations="update,delete")
    insert(db, 1, 3)
    insert(db, 11, 13, table="u")
    db.execute("UPDATE t SET v = 'x' WHERE id = 2", "DELETE FROM t WHERE id = 3")
    assert tables.wait_keys(3) == [11, 12, 13]
    assert operations.wait_keys(2) == [2, 3]
    assert [f.event for f in operations.events] == ["update", "delete"]


def test_heartbeats_carry_the_position_of_what_was_filtered(db, serving):
    kaptanto = serving(sse={"heartbeat": "1s"})
    client = kaptanto.client(tables="u")
    insert(db, 1, 10)
    wait_until(lambda: any(f.comment == "heartbeat" and f.id for f in client.frames), 15,
               "a heartbeat with an id")
    position = [f.id for f in client.frames if f.id][-1]
    insert(db, 11, 11, table="u")
    client.wait_keys(1)
    assert client.events[0].id > position
    again = kaptanto.client(tables="u", headers={"Last-Event-ID": str(position)})
    assert again.wait_keys(1) == [11]
    assert not [f for f in again.frames if f.event == "gap"]


def test_a_second_connection_takes_over(db, serving):
    kaptanto = serving()
    first = kaptanto.client(consumer="search")
    insert(db, 1, 10)
    first.wait_keys(10)
    second = kaptanto.client(consumer="search")
    wait_until(lambda: first.is_over, 10, "the end of the first")
    assert "taken over" in first.frames[-1].comment
    insert(db, 11, 20)
    keys = second.wait_keys(10)
    assert keys[-10:] == list(range(11, 21))
    assert len(first.keys) == 10


def test_manual_acknowledgement(db, serving):
    kaptanto = serving()
    client = kaptanto.client(consumer="search", ack="manual")
    insert(db, 1, 10)
    client.wait_keys(10)
    response, body = ask(kaptanto.port, "POST", "/ack",
                         json.dumps({"consumer": "search", "id": client.events[3].id}))
    assert (response.status, body["acknowledged"]) == (200, client.events[3].id)
    # An older one is no way back.
    ask(kaptanto.port, "POST", "/ack",
        json.dumps({"consumer": "search", "id": str(client.events[1].id)}))
    last = client.events[-1].id
    client.close()
    again = kaptanto.client(consumer="search", ack="manual", headers={"Last-Event-ID": str(last)})
    assert again.wait_keys(6) == list(range(5, 11))
    for body, status in (
        ({"consumer": "search", "id": last + 1000}, 409),
        ({"consumer": "nobody", "id": 1}, 404),
        ({"consumer": "search"}, 400),
        ({"consumer": "search", "id": "x"}, 400),
    ):
        response, answer = ask(kaptanto.port, "POST", "/ack", json.dumps(body))
        assert response.status == status, answer
        assert answer["error"]["message"] and answer["error"]["hint"]
    kaptanto.client(consumer="automatic")
    assert ask(kaptanto.port, "POST", "/ack",
               json.dumps({"consumer": "automatic", "id": 1}))[0].status == 409


def test_a_position_that_is_gone_is_told(db, serving):
    kaptanto = serving(retention="0s", journal={"segment-bytes": "1MiB", "max-bytes": "8MiB"})
    client = kaptanto.client(consumer="search")
    insert(db, 1, 1)
    client.wait_keys(1)
    first = client.events[0].id
    client.close()
    for batch in range(4):
        insert(db, 2 + batch * 5000, 1 + (batch + 1) * 5000)

    def refused():
        connection = http.client.HTTPConnection("127.0.0.1", kaptanto.port, timeout=10)
        connection.request("GET", f"/events?from={first + 1}")
        response = connection.getresponse()
        gone = response.status == 410
        body = json.loads(response.read()) if gone else None
        connection.close()
        return body

    problem = wait_until(refused, 30, "retention")
    assert problem["error"]["code"] == "gone" and "earliest" in problem["error"]["hint"]
    again = kaptanto.client(consumer="search")
    wait_until(lambda: again.events, 10, "events")
    # Retention goes on meanwhile, so there may be a second gap.
    told = [f for f in again.frames if f.data]
    gaps = told[:told.index(again.events[0])]
    assert gaps and all(f.event == "gap" and f.json["reason"] == "retention" for f in gaps)
    assert gaps[0].json["from"] <= first + 1
    assert gaps[-1].json["to"] + 1 == again.events[0].id
    strange = kaptanto.client(lastEventId=10**9)
    wait_until(lambda: strange.events, 10, "events")
    gaps = [f for f in strange.frames if f.event == "gap"]
    assert gaps[0].json["reason"] == "unknown_position"


def test_a_slow_client_holds_up_nobody(db, serving):
    kaptanto = serving(sse={"stall-time": "2s"})
    slow = socket.create_connection(("127.0.0.1", kaptanto.port))
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.sendall(b"GET /events?consumer=slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert slow.recv(64).startswith(b"HTTP/1.1 200")
    quick = kaptanto.client()
    db.execute("INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1, 30000) g")
    assert quick.wait_keys(30000, 60) == list(range(1, 30001))

    # The server's side of the connection, as the kernel lists it.
    local = slow.getsockname()[1]

    def closed():
        done = subprocess.run(["ss", "-Htn", "state", "established", f"dport = :{local}"],
                              stdout=subprocess.PIPE, check=True)
        return not done.stdout.strip()

    wait_until(closed, 20, "the end of the slow client")
    slow.close()
    again = kaptanto.client(consumer="slow")
    wait_until(lambda: again.keys and again.keys[-1] == 30000, 60, "all events")
    assert again.keys == list(range(again.keys[0], 30001))


def test_200_clients(db, serving):
    kaptanto = serving()
    clients = [kaptanto.client(consumer=f"c{number}") for number in range(200)]
    insert(db, 1, 100)
    for client in clients:
        assert client.wait_keys(100, 60) == list(range(1, 101))
    listed = run_command("consumers", "list", "--data-dir", kaptanto.data_dir, "--port", "1",
                         "--json")
    assert len(json.loads(listed.out)["consumers"]) == 200


def test_token(db, serving):
    kaptanto = serving(**{"auth-token": TOKEN})
    for headers, query in (({}, ""), ({"Authorization": "Bearer wrong"}, ""),
                           ({"Authorization": TOKEN}, ""), ({}, "?access_token="),
                           ({"Authorization": f"Bearer {TOKEN}x"}, "")):
        response, body = ask(kaptanto.port, "GET", f"/events{query}", headers=headers)
        assert response.status == 401
        assert response.getheader("WWW-Authenticate").startswith("Bearer")
        assert body["error"]["hint"]
    assert ask(kaptanto.port, "POST", "/ack", "{}")[0].status == 401
    client = kaptanto.client(headers={"Authorization": f"bearer {TOKEN}", "Host": "cdc.internal"})
    other = kaptanto.client(access_token=TOKEN)
    insert(db, 1, 1)
    client.wait_keys(1)
    other.wait_keys(1)


def test_token_from_a_file_and_the_environment(db, pipeline, tmp_path):
    secret = tmp_path / "token"
    secret.write_text(TOKEN + "\n")
    port = free_port()
    kaptanto = pipeline(db, config={"output": "sse", "port": port,
                                    "auth-token-file": str(secret)}).start_streaming()
    assert ask(port, "GET", "/events")[0].status == 401
    Client(port, access_token=TOKEN).close()
    kaptanto.stop()
    done = run_command("validate", "--source", db.dsn(), "--all-tables", "--output", "sse",
                       "--address", "0.0.0.0")
    assert done.code == 3 and "insecure" in done.out
    for extra, env in ((["--insecure"], {}), ([], {"KAPTANTO_AUTH_TOKEN": TOKEN}),
                       (["--auth-token-file", secret], {})):
        done = run_command("validate", "--source", db.dsn(), "--all-tables", "--output", "sse",
                           "--address", "0.0.0.0", *extra, env=env)
        assert done.code == 0, done


def test_pages_of_other_origins(db, serving):
    kaptanto = serving(**{"cors-origin": ["https://app.example"]})
    friend = {"Origin": "https://app.example"}
    client = kaptanto.client(headers=friend)
    assert client.response.getheader("Access-Control-Allow-Origin") == "https://app.example"
    assert client.response.getheader("Vary") == "Origin"
    response, _ = ask(kaptanto.port, "OPTIONS", "/ack", headers={
        **friend, "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type"})
    assert response.status == 204
    assert "Content-Type" in response.getheader("Access-Control-Allow-Headers")
    assert response.getheader("Access-Control-Allow-Origin") == "https://app.example"
    stranger = {"Origin": "https://evil.example"}
    for method in ("GET", "OPTIONS"):
        response, body = ask(kaptanto.port, method, "/events", headers=stranger)
        assert response.status == 403 and body["error"]["hint"]
        assert response.getheader("Access-Control-Allow-Origin") is None
    response, _ = ask(kaptanto.port, "GET", "/events", headers={"Host": "evil.example"})
    assert response.status == 421


@pytest.mark.parametrize("target, status, words", [
    ("/events?tables=nothing", 404, "not captured"),
    ("/events?tables=a.b.c", 400, "tables"),
    ("/events?operations=upsert", 400, "operation"),
    ("/events?where=id=1", 400, "where"),
    ("/events?from=tomorrow", 400, "from"),
    ("/events?from=2026-02-30T00:00:00Z", 400, "from"),
    ("/events?from=99999999", 400, "latest"),
    ("/events?consumer=", 400, "consumer"),
    ("/events?consumer=%FF", 400, "consumer"),
    ("/events?consumer=" + "x" * 129, 400, "128"),
    ("/events?consumer=%00", 400, "decoded"),
    ("/events?consumer=%zz", 400, "decoded"),
    ("/events?table=t", 400, "not a parameter"),
    ("/events?from=1&from=2", 400, "twice"),
    ("/events?ack=manual", 400, "consumer"),
    ("/events?ack=never&consumer=a", 400, "ack"),
    ("/events?lastEventId=01J9", 400, "id"),
    ("/nothing", 404, "path"),
])
def test_bad_requests(shared_serving, target, status, words):
    response, body = ask(shared_serving.port, "GET", target)
    assert response.status == status, body
    assert words in body["error"]["message"] + body["error"]["hint"]


@pytest.fixture(scope="module")
def shared_serving(tmp_path_factory):
    from conftest import shared_cluster
    from harness import Kaptanto

    database = shared_cluster(15).new_database()
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    kaptanto = Kaptanto(tmp_path_factory.mktemp("sse"), database, ["t"],
                        config={"output": "sse", "port": free_port(), "source-id": "sse_bad"})
    kaptanto.port = kaptanto.config["port"]
    kaptanto.start_streaming()
    yield kaptanto
    kaptanto.kill()
    shutil.rmtree(kaptanto.data_dir, ignore_errors=True)
    database.drop()


def test_garbage_and_slow_senders_harm_nobody(db, serving):
    kaptanto = serving()
    client = kaptanto.client()
    slow = [socket.create_connection(("127.0.0.1", kaptanto.port)) for _ in range(50)]
    for connection in slow:
        connection.sendall(b"GET /events HTTP/1.1\r\nHo")
    for text in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x00" * 1000, b"\r\n" * 100,
                 b"GET " + b"/" * 100_000, b"GET /events HTTP/1.1\r\nX: " + b"y" * 100_000,
                 b"POST /ack HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", kaptanto.port)) as connection:
            connection.sendall(text)
    insert(db, 1, 10)
    assert client.wait_keys(10) == list(range(1, 11))
    assert kaptanto.process.poll() is None
    for connection in slow:
        connection.settimeout(20)
        assert connection.recv(10) == b""
        connection.close()


def test_consumers_command(db, serving):
    kaptanto = serving(admin={"enabled": True})
    where = ("--port", kaptanto.port, "--data-dir", kaptanto.data_dir)
    client = kaptanto.client(consumer="search")
    insert(db, 1, 10)
    client.wait_keys(10)

    def listed():
        done = run_command("consumers", "list", *where, "--json")
        assert done.code == 0, done
        return json.loads(done.out)

    wait_until(lambda: listed()["consumers"][0]["behind"] == 0, 10, "the saved position")
    assert listed()["consumers"][0]["consumer"] == "sse:search"
    assert listed()["consumers"][0]["connected"] is True
    done = run_command("consumers", "delete", "search", *where)
    assert done.code != 0 and "connected" in done.err
    client.close()
    wait_until(lambda: not listed()["consumers"][0]["connected"], 10, "the end of the connection")
    done = run_command("consumers", "reset", "search", "--to", "earliest", *where)
    assert done.code == 0, done
    again = kaptanto.client(consumer="search")
    assert again.wait_keys(10) == list(range(1, 11))
    again.close()
    done = run_command("consumers", "list", *where)
    assert "sse:search" in done.out and done.code == 0
    assert run_command("consumers", "reset", "search", "--to", "77777", *where).code == 2
    assert run_command("consumers", "show", "nobody", *where).code == 2
    wait_until(lambda: not listed()["consumers"][0]["connected"], 10, "the end of the connection")
    assert run_command("consumers", "delete", "search", *where).code == 0
    assert listed()["consumers"] == []


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
def test_curl(db, serving):
    kaptanto = serving()
    process = subprocess.Popen(["curl", "-sN", f"http://127.0.0.1:{kaptanto.port}/events"],
                               stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"retry: 2000\n"
        assert process.stdout.readline() == b"\n"
        insert(db, 1, 1)
        assert process.stdout.readline().startswith(b"id: ")
        assert process.stdout.readline() == b"event: insert\n"
        data = process.stdout.readline()
        assert data.startswith(b"data: {") and json.loads(data[6:])["key"] == {"id": 1}
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()
