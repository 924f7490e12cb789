"""The archiver as a process, beside a worker and a projector, on the embedded broker."""

import asyncio
import json
import re
import signal
import urllib.request
from pathlib import Path

from aiokafka import AIOKafkaProducer

from touchstone.ops.local.children import LogLine
from touchstone.ops.local.plan import Plan
from touchstone.ops.local.up import ARCHIVER, Live
from touchstone.ops.store.case_rows import CaseRow
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.settings.house import Settings

CANARY = "Zebulon Quintessa"
EVENTS = 30
WAIT_S = 30.0


def event(number: int) -> bytes:
    """A case of SAFE that fails: a signal is missing."""
    case = {
        "kind": "safe",
        "id": f"e-{number}",
        "test_id": f"t-{number}",
        "concern_id": "c",
        "batch_id": "b",
        "expectations": {"signal_generation": {"must_find_signals": ["a signal"]}},
        "output": {"signals": [CANARY]},
    }
    return json.dumps(case, indent=1).encode()


async def send(live: Live, numbers: range) -> None:
    """Put events on their topic, byte for byte."""
    producer = AIOKafkaProducer(bootstrap_servers=live.settings.kafka.bootstrap_servers)
    await producer.start()
    try:
        for number in numbers:
            await producer.send(live.settings.topics.generations, event(number))
        await producer.flush()
    finally:
        await producer.stop()


async def kept(live: Live, count: int) -> dict[str, CaseRow]:
    """The rows of the index, once there are so many."""
    ids = [f"e-{number}" for number in range(EVENTS)]
    store = await asyncio.to_thread(ResultStore.open, live.store_url)
    try:
        async with asyncio.timeout(WAIT_S):
            while len(rows := await asyncio.to_thread(CaseIndex(store.engine).rows, ids)) < count:  # noqa: ASYNC110 -- another process writes them
                await asyncio.sleep(0.1)
    finally:
        store.close()
    return rows


def check_objects(folder: Path, rows: dict[str, CaseRow]) -> None:
    """Every event and its result is there once, byte for byte."""
    for number in range(EVENTS):
        assert (folder / rows[f"e-{number}"].path).read_bytes() == event(number)
    assert len(list((folder / "cases").rglob("*.json"))) == EVENTS
    assert len(list((folder / "results").rglob("*.json"))) == EVENTS


async def test_every_case_of_the_policy_has_its_object_and_row_though_the_archiver_is_killed() -> None:
    said: list[LogLine] = []
    plan = Plan(["safe_v0"], runner="direct", page_port=None)
    async with Live(Settings(), plan, said.append) as live:
        folder = Path(live.archive_url.removeprefix("file://"))
        await send(live, range(EVENTS // 2))
        await kept(live, EVENTS // 2)
        killed = next(child for child in live.children if child.name == ARCHIVER)
        killed.process.send_signal(signal.SIGKILL)
        await killed.process.wait()
        live.children.remove(killed)
        await send(live, range(EVENTS // 2, EVENTS))
        await live.start_archiver()
        rows = await kept(live, EVENTS)
        assert {row.state for row in rows.values()} == {"kept"}
        check_objects(folder, rows)
        address = next(child.address for child in live.children if child.name == ARCHIVER)
        metrics = await asyncio.to_thread(lambda: urllib.request.urlopen(f"{address}/metrics", timeout=10).read().decode())
        counts = dict(re.findall(r'touchstone_archiver_cases_total\{outcome="(\w+)"\} (\d+)', metrics))
        assert {outcome for outcome, count in counts.items() if float(count)} <= {"kept", "known"}
        assert CANARY not in metrics + "".join(line.text + str(line.fields) for line in said) + repr(rows)
