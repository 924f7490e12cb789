"""Systems under test: functions, and a small HTTP server with faults."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

CALLS: list[dict[str, Any]] = []


def answer(task: dict[str, Any]) -> Any:
    """Asks back where documents are to be organised; summarises everything else."""
    CALLS.append(task)
    if "reply" in task:
        return {"status": "COMPLETE", "output": "All guides in docs/, one level deep.", "task_id": task["task_id"]}
    if "organi" in task["prompt"]:
        return {"status": "AWAITING_RESPONSE", "output": "Do you want a flat or a nested structure?", "task_id": "t-1"}
    return "The tool scores texts.\nIt runs on Kafka.\nIt writes reports."


async def answer_later(task: dict[str, Any]) -> Any:
    await asyncio.sleep(0.001)
    return answer(task)


def raises(task: dict[str, Any]) -> Any:
    raise KeyError("a secret")


def times_out_itself(task: dict[str, Any]) -> Any:
    raise TimeoutError


def leaves(task: dict[str, Any]) -> Any:
    raise SystemExit(0)


def hangs(task: dict[str, Any]) -> Any:
    time.sleep(30)


async def blocks_its_loop(task: dict[str, Any]) -> Any:
    if "organi" in task["prompt"]:
        time.sleep(30)  # noqa: ASYNC251  # the fault that is tested
    return "done"


class Answering:
    async def __call__(self, task: dict[str, Any]) -> Any:
        return await answer_later(task)


instance = Answering()
not_a_function = 3
RETURNS: dict[str, Any] = {
    "number": 3,
    "no_status": {"output": "x"},
    "lower_case": {"status": "complete", "output": "x"},
    "running": {"status": "RUNNING"},
    "no_text": {"status": "COMPLETE", "output": ["x"]},
}


def returns(task: dict[str, Any]) -> Any:
    return RETURNS[task["prompt"]]


Handler = Callable[[str, str, Any], Any]


class HttpServer:
    """Answers by a function of method, path and JSON body: (status, document), bytes as they are, or None to hang. `seen`: what came."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.seen: list[tuple[str, str, Any, Mapping[str, str]]] = []
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        document = json.loads(body) if body else None
        self.seen.append((method, path, document, headers))
        told = self._handler(method, path, document)
        if told is None:
            await asyncio.sleep(60)
            return
        if not isinstance(told, bytes):
            status, answer = told
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            told = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content
        writer.write(told)
        await writer.drain()


class TaskService:
    """A whole system: tasks that are QUEUED, then RUNNING, then end as `answer` says; right after a reply it still tells the old state once."""

    def __init__(self) -> None:
        self.tasks: dict[str, list[dict[str, Any]]] = {}

    def __call__(self, method: str, path: str, document: Any) -> Any:
        parts = path.strip("/").split("/")
        if method == "POST" and parts == ["tasks"]:
            task_id = f"t{len(self.tasks) + 1}"
            end = answer(document)
            self.tasks[task_id] = [{"status": "RUNNING"}, end if isinstance(end, dict) else {"status": "COMPLETE", "output": end}]
            return 202, {"task_id": task_id, "status": "QUEUED"}
        if parts[1] not in self.tasks:
            return 404, {}
        states = self.tasks[parts[1]]
        if method == "POST":
            states[:] = [states[-1], {"status": "RUNNING"}, answer(document)]
            return 202, {}
        return 200, states.pop(0) if len(states) > 1 else states[0]
