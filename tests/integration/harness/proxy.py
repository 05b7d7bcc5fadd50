"""A TCP proxy that can stall, cut and refuse, to play a bad network."""

import selectors
import socket
import struct
import threading


class TcpProxy:
    """Forwards 127.0.0.1:port to the target. Owned by the test's thread; another does the work."""

    def __init__(self, target_port):
        self._target = ("127.0.0.1", target_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._peer = {}  # socket -> the socket its bytes go to
        self._stalled = False
        self._refusing = False
        self._wake_read, self._wake_write = socket.socketpair()
        self._stop = False
        self.accepted = 0
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    # -- what the test does ----------------------------------------------------------------------

    def stall(self):
        """Bytes stop flowing, connections stay open."""
        with self._lock:
            self._stalled = True

    def flow(self):
        """Ends stall() and refuse()."""
        with self._lock:
            self._stalled = False
            self._refusing = False
            for connection in self._peer:
                self._watch(connection)
        self._wake_write.send(b"x")

    def refuse(self):
        """New connections are closed at once."""
        with self._lock:
            self._refusing = True

    def cut(self):
        """Resets every open connection."""
        with self._lock:
            for connection in list(self._peer):
                self._drop(connection)

    def close(self):
        self._stop = True
        self._wake_write.send(b"x")
        self._thread.join(10)
        self.cut()
        for resource in (self._listener, self._wake_read, self._wake_write, self._selector):
            resource.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- the proxy's thread ----------------------------------------------------------------------

    def _loop(self):
        while not self._stop:
            for key, _ in self._selector.select(1.0):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._wake_read:
                    self._wake_read.recv(64)
                else:
                    self._forward(key.fileobj)

    def _accept(self):
        client, _ = self._listener.accept()
        with self._lock:
            self.accepted += 1
            if self._refusing:
                client.close()
                return
        try:
            server = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        with self._lock:
            self._peer[client] = server
            self._peer[server] = client
            self._watch(client)
            self._watch(server)

    def _forward(self, source):
        with self._lock:
            target = self._peer.get(source)
            if target is None:
                return
            if self._stalled:
                self._selector.unregister(source)
                return
        try:
            data = source.recv(1 << 16)
            if data:
                target.sendall(data)
        except OSError:
            data = b""
        if not data:
            with self._lock:
                self._drop(source)

    def _watch(self, connection):
        if connection.fileno() >= 0 and connection.fileno() not in self._selector.get_map():
            self._selector.register(connection, selectors.EVENT_READ)

    def _drop(self, connection):
        for end in (connection, self._peer.pop(connection, None)):
            if end is None or end.fileno() < 0:
                continue
            self._peer.pop(end, None)
            if end.fileno() in self._selector.get_map():
                self._selector.unregister(end)
            # Linger 0 makes the close a reset, as a broken network would.
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()
