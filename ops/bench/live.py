"""Measures the live service: many clients, some of which take nothing, while results come at a steady rate.

`python -m touchstone.ops.bench.live --clients 500 --stalled 20 --rate 1000 --seconds 20`. Exits with 1 if a reading client missed an event or its order.
"""

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiokafka import AIOKafkaProducer

from touchstone.schemas.settings.house import TopicSettings
from touchstone.streams.embedded.broker import EmbeddedBroker

TOPICS = TopicSettings()
HEADERS = [("ce_type", b"touchstone.result")]
_NUMBER = re.compile(rb'"event_id":"([0-9]+)"')
DRAIN_S = 120.0


def result(number: int) -> bytes:
    """A numbered result event."""
    document: dict[str, Any] = {
        "result_id": f"r{number}", "event_id": str(number), "case_id": None, "kind": "safe", "suite": "bench", "suite_version": "1", "config_digest": "d",
        "outcome": "scored", "label": "Pass", "values": {"CR": 1.0, "AH": 1.0, "AC": 0.5, "composite": 0.83}, "findings": [], "failures": [],
        "attributes": {"concern_id": "c", "batch_id": "b"}, "correlation": {}, "source": {"topic": "t", "partition": 0, "offset": number},
        "scored_at": "2026-01-01T00:00:00+00:00", "duration_ms": {"score": 0.1},
    }  # fmt: skip
    return json.dumps(document, separators=(",", ":")).encode()


class Client:
    """One client over a plain socket. `count`: events it got. `is_ordered`: each was the next one."""

    def __init__(self) -> None:
        self.count = 0
        self.last = -1
        self.is_ordered = True
        self.gaps = 0

    async def read(self, host: str, port: int) -> None:
        """Read until the end."""
        reader, writer = await asyncio.open_connection(host, port, limit=2**22)
        writer.write(f"GET /v1/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        tail = b""
        while chunk := await reader.read(262_144):
            text = tail + chunk
            whole, mark, tail = text.rpartition(b"\n\n")
            self.gaps += whole.count(b"touchstone.gap")
            for found in _NUMBER.findall(whole + mark):
                number = int(found)
                self.is_ordered &= number == self.last + 1
                self.last = number
                self.count += 1


def resident_mib(pid: int) -> float:
    """Memory of a process."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


async def measure(address: str, pid: int, bootstrap: str, asked: argparse.Namespace) -> int:
    """Connect, send, wait; print the figures."""
    place = urlsplit(address)
    host, port = str(place.hostname), int(place.port or 0)
    stalled = []
    for _ in range(asked.stalled):
        one = socket.create_connection((host, port))
        one.sendall(f"GET /v1/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        stalled.append(one)
    clients = [Client() for _ in range(asked.clients - asked.stalled)]
    reading = [asyncio.create_task(client.read(host, port)) for client in clients]
    await asyncio.sleep(asked.settle)
    before, total = resident_mib(pid), int(asked.rate * asked.seconds)
    most, began = before, time.monotonic()
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=10) as producer:
        for number in range(total):
            await producer.send(TOPICS.results, result(number), partition=0, headers=HEADERS)
            if number % 50 == 49:
                await asyncio.sleep(max(0.0, began + number / asked.rate - time.monotonic()))
            if number % 1000 == 999:
                most = max(most, resident_mib(pid))
    sent_s = time.monotonic() - began
    while any(client.count < total for client in clients) and time.monotonic() - began < asked.seconds + DRAIN_S:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    done_s = time.monotonic() - began
    most = max(most, resident_mib(pid))
    whole = [client for client in clients if client.count == total and client.is_ordered]
    for task in reading:
        task.cancel()
    for one in stalled:
        one.close()
    print(f"{asked.clients} clients, {asked.stalled} of them stalled; {total:,} results sent in {sent_s:.1f} s ({total / sent_s:,.0f}/s)")
    print(f"{len(whole)} of {len(clients)} reading clients got all of them in order, {sum(client.gaps for client in clients)} gaps")
    print(f"all were through {max(0.0, done_s - sent_s):.2f} s after the last was sent; {len(clients) * total / done_s:,.0f} events/s to clients")
    print(f"memory of the service: {before:.0f} MiB before, {most:.0f} MiB at most")
    return 0 if len(whole) == len(clients) else 1


def main() -> int:
    """Start broker and service, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in {"clients": 500, "stalled": 20, "rate": 1000, "seconds": 20, "settle": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    with EmbeddedBroker({TOPICS.results: 1, TOPICS.reports: 1}) as broker:
        env = os.environ | {"KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "TOUCHSTONE_LOG_FORMAT": "json", "TOUCHSTONE_SERVE_QUEUE_EVENTS": "20000"}
        command = [sys.executable, "-m", "touchstone.ops.cli", "serve", "--port", "0"]
        with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as service:
            assert service.stderr is not None
            try:
                address = ""
                for line in service.stderr:
                    fields = json.loads(line) if line.startswith("{") else {}
                    address = fields.get("address", address)
                    if fields.get("event") == "dependency_up":
                        break
                return asyncio.run(measure(address, service.pid, broker.bootstrap_servers, asked))
            finally:
                service.terminate()


if __name__ == "__main__":
    sys.exit(main())
