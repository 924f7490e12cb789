"""A worker as the process that it is in production, and what it leaves on the topics."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.integration.brokers import Broker, Namespace
from tests.integration.forked import ForkedProcess
from touchstone.ops.lab.runners import runner_of

TOUCHSTONE = (sys.executable, "-m", "touchstone.ops.cli")
QUICK = {"TOUCHSTONE_WORKER_COMMIT_INTERVAL_S": "0.2", "TOUCHSTONE_LOG_FORMAT": "json"}


class Worker:
    """`touchstone worker`, or another command with such pages, in a child process, with its log in a file.

    `forked`: the process begins with the modules imported, which spares a second or two; one with a `PYTHONPATH` of its own begins as a user's does.
    """

    def __init__(
        self,
        runner: str,
        env: dict[str, str],
        *,
        suite: str = "safe_v0",
        cwd: Path | None = None,
        arguments: Sequence[str] = (),
        command: Sequence[str] = (),
        forked: bool = True,
    ) -> None:
        self._log = tempfile.NamedTemporaryFile("w+b", suffix=".log", delete=False)  # noqa: SIM115 -- closed by close()
        runner, variables = runner_of(runner)
        env = variables | env
        command = command or [*TOUCHSTONE, "worker", "--suite", suite, "--runner", runner, *arguments]
        root = Path(__file__).parents[2]
        path = os.pathsep.join(filter(None, [env.get("PYTHONPATH", ""), str(root)]))
        env = os.environ | QUICK | env | {"PYTHONPATH": path}
        self.process: subprocess.Popen[bytes] | ForkedProcess
        if forked and tuple(command[: len(TOUCHSTONE)]) == TOUCHSTONE and path == str(root):
            self.process = ForkedProcess(command[len(TOUCHSTONE) :], env, cwd, self._log)
        else:
            self.process = subprocess.Popen(command, env=env, cwd=cwd, stdout=self._log, stderr=subprocess.STDOUT)

    @property
    def log(self) -> str:
        return Path(self._log.name).read_text(encoding="utf-8", errors="replace")

    def page(self, path: str, timeout_s: float = 90.0) -> tuple[int, str]:
        """One of the worker's pages, waiting for the address to be printed."""
        deadline = time.monotonic() + timeout_s
        while True:
            found = re.search(r'"address": ?"(http://[^"]+)"', self.log)
            if found:
                break
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(f"the worker printed no address:\n{self.log}")
            time.sleep(0.05)
        try:
            with urllib.request.urlopen(found.group(1) + path, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def until(self, condition: Callable[[], bool], timeout_s: float = 240.0) -> None:
        """Wait for a condition, while the worker lives."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, self.log
            assert self.process.poll() is None, self.log
            time.sleep(0.05)

    def end(self, timeout_s: float = 90.0) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout_s)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait(10)
        self._log.close()
        Path(self._log.name).unlink(missing_ok=True)


#: Starts a worker: runner, environment, options of `Worker`.
Start = Callable[..., Worker]


@dataclass
class Outcomes:
    results: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    ledger: list[dict[str, Any]] = field(default_factory=list)
    dead: list[Any] = field(default_factory=list)
    raw: list[Any] = field(default_factory=list)

    def dead_positions(self) -> set[tuple[int, int]]:
        """(source partition, source offset) of every dead letter."""
        heads = [dict(record.headers) for record in self.dead]
        return {(int(head["__streams.errors.partition"]), int(head["__streams.errors.offset"])) for head in heads}

    def told(self, outcome: str) -> int:
        """Offsets that the ledger gives an outcome."""
        entries = [entry for record in self.ledger for entry in record["entries"] if entry["outcome"] == outcome]
        return sum(last - first + 1 for entry in entries for first, last in entry["ranges"])


async def produce(broker: Broker, topic: str, records: Sequence[tuple[int, bytes | None, Sequence[tuple[str, bytes]]]], **options: Any) -> None:
    """Send (partition, value, headers) records and wait for the acknowledgements."""
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, max_request_size=2**26, **options)
    await producer.start()
    try:
        futures = [await producer.send(topic, value, b"k", partition, headers=list(headers)) for partition, value, headers in records]
        for future in futures:
            await future
    finally:
        await producer.stop()


@contextlib.asynccontextmanager
async def reading(broker: Broker, namespace: Namespace, partitions: int = 4) -> AsyncIterator[Callable[[Callable[[Outcomes], bool]], Any]]:
    """A reader of the output topics: `await until(condition)` returns the outcomes once they fulfil the condition."""
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest", max_partition_fetch_bytes=2**26, fetch_max_wait_ms=50)
    await consumer.start()
    consumer.assign([TopicPartition(namespace.topic(role), number) for role in ("results", "dead") for number in range(partitions)])
    outcomes = Outcomes()

    async def until(condition: Callable[[Outcomes], bool], timeout_s: float = 240.0, *, foreign: bool = False) -> Outcomes:
        deadline = time.monotonic() + timeout_s
        while not condition(outcomes):
            if time.monotonic() > deadline:
                raise AssertionError(f"not in {timeout_s} s: {len(outcomes.results)} results, {len(outcomes.dead)} dead, ledger {outcomes.ledger}")
            for tp, records in (await consumer.getmany(timeout_ms=100)).items():
                for record in records:
                    outcomes.raw.append(record)
                    if foreign and not {"ce_type", "__streams.errors.topic"} & {name for name, _ in record.headers}:
                        continue  # not of a worker
                    if tp.topic == namespace.topic("dead"):
                        outcomes.dead.append(record)
                    elif dict(record.headers)["ce_type"] == b"touchstone.result":
                        result = json.loads(record.value)
                        outcomes.results.setdefault(result["event_id"], []).append(result)
                    else:
                        outcomes.ledger.append(json.loads(record.value))
        return outcomes

    try:
        yield until
    finally:
        await consumer.stop()


async def committed(broker: Broker, group: str, topic: str, partitions: int = 4) -> list[int]:
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=group, enable_auto_commit=False)
    await consumer.start()
    try:
        return [await consumer.committed(TopicPartition(topic, number)) or 0 for number in range(partitions)]
    finally:
        await consumer.stop()
