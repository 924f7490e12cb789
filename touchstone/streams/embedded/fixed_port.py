"""A chosen port for the embedded broker, which itself binds only free ports: connections are forwarded to it.

Clients only look up the broker's address here and then connect directly, so little passes through. Standard library only, as in all of the broker's process.
"""

import contextlib
import os
import socket
import threading
from typing import Final

HOST: Final = "127.0.0.1"
_CHUNK_BYTES: Final = 65_536
_CONNECT_TIMEOUT_S: Final = 5.0


class PortTaken(Exception):
    """The port cannot be bound; the message says which, and what to do."""


class FixedPort:
    """A listening port on loopback. `forward` begins to serve."""

    def __init__(self, port: int) -> None:
        """Bind it. Raises `PortTaken`."""
        try:
            self._listener = socket.create_server((HOST, port))
        except OSError as error:
            raise PortTaken(
                f"port {port} of {HOST} cannot be used ({os.strerror(error.errno or 0)}); choose another port, or stop the program that uses it"
            ) from None

    @property
    def address(self) -> str:
        """host:port."""
        return f"{HOST}:{self._listener.getsockname()[1]}"

    def forward(self, target: str) -> None:
        """Pass every connection on to `target` (host:port), in threads that end with the process."""
        host, _, port = target.rpartition(":")
        threading.Thread(target=self._accept, args=(host, int(port)), name="fixed-port", daemon=True).start()

    def _accept(self, host: str, port: int) -> None:
        while True:
            client, _ = self._listener.accept()
            try:
                broker = socket.create_connection((host, port), timeout=_CONNECT_TIMEOUT_S)
            except OSError:
                client.close()  # a broker that is down refuses; so does this
                continue
            broker.settimeout(None)
            for source, sink in ((client, broker), (broker, client)):
                threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Copy bytes until one side closes; then both are closed."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK_BYTES):
            sink.sendall(chunk)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    source.close()
