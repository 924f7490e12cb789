"""The two services on loopback, as far as the suite speaks with them: scripted answers, faults at will, and a record of what was asked."""

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from typing import Any, Self

CANARY = "Wierzba-Kanarek"
PATIENT = {"resourceType": "Patient", "id": "p1", "gender": "female", "name": [{"family": CANARY}]}
CCDA = f'<ClinicalDocument xmlns="urn:hl7-org:v3"><title>{CANARY}</title></ClinicalDocument>'


@dataclass(frozen=True)
class Asked:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, tuple[str, str | None]]:
        """Field → its text and its file name."""
        parsed = message_from_bytes(f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode() + self.body)
        parts = [part for part in parsed.get_payload() if isinstance(part, Message)]
        return {str(part.get_param("name", header="content-disposition")): (_text(part), part.get_filename()) for part in parts}


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode()


@dataclass(frozen=True)
class Reply:
    """One answer. `then`: what happens instead of, or in the middle of it: hang (nothing comes), drop (the connection breaks), half (it breaks in the body)."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    then: str = ""


def outcome(*issues: dict[str, Any]) -> Reply:
    return Reply(body=json.dumps({"resourceType": "OperationOutcome", "issue": list(issues)}).encode())


def issue(severity: str, message_id: str, expression: str = "Patient.gender", text: str = f"{CANARY} is wrong") -> dict[str, Any]:
    """One issue, as HL7's validator words it."""
    extension = {"url": "http://hl7.org/fhir/StructureDefinition/operationoutcome-message-id", "valueCode": message_id}
    return {"extension": [extension], "severity": severity, "code": "invalid", "details": {"text": text}, "expression": [expression]}


FINE = outcome({"severity": "information", "code": "informational", "details": {"text": "All OK"}})
ERROR, WARNING, INFO = "C-CDA MDHT Conformance Error", "C-CDA MDHT Conformance Warning", "C-CDA MDHT Conformance Info"
VOCABULARY = "ONC 2015 S&CC Vocabulary Validation Conformance Error"


def result(kind: str, description: str, xpath: str = "/ClinicalDocument/title[1]", line: str = "12", **others: Any) -> dict[str, Any]:
    return {
        "description": description,
        "type": kind,
        "xPath": xpath,
        "validatorConfiguredXpath": None,
        "documentLineNumber": line,
        "actualCode": None,
        "schemaError": False,
        "igissue": True,
        **others,
    }


def report(*results: dict[str, Any], counts: dict[str, int] | None = None, **told: Any) -> Reply:
    kinds = [one["type"] for one in results]
    counted = {kind: kinds.count(kind) for kind in (ERROR, WARNING, INFO, VOCABULARY, *kinds)} if counts is None else counts
    meta = {
        "ccdaDocumentType": "Continuity of Care Document (CCD)",
        "ccdaVersion": "R2.1",
        "objectiveProvided": "C-CDA_IG_Plus_Vocab",
        "serviceError": False,
        "serviceErrorMessage": None,
        "ccdaFileName": "document.xml",
        "ccdaFileContents": CCDA,
        "resultMetaData": [{"type": kind, "count": count} for kind, count in counted.items()],
        "severityLevel": "WARNING",
        **told,
    }
    return Reply(body=json.dumps({"resultsMetaData": meta, "ccdaValidationResults": list(results)}).encode())


class FakeService:
    """A server whose POSTs are answered by a function, or by a list whose last answer is repeated, and whose other requests by `well`."""

    def __init__(self, answers: Callable[[Asked], Reply] | Sequence[Reply], well: Callable[[], Reply] = Reply, port: int = 0) -> None:
        self._answers, self._well = answers, well
        self.port = port
        self.asked: list[Asked] = []
        self.probes: list[Asked] = []
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/service"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Listen no more, and break off what is being answered."""
        assert self._server is not None
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()
        await asyncio.sleep(0)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._answer(await _read(reader), writer)
        self._open.discard(writer)
        writer.close()

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "POST":
            self.asked.append(asked)
            reply = self._answers(asked) if callable(self._answers) else self._answers[min(len(self.asked), len(self._answers)) - 1]
        else:
            self.probes.append(asked)
            reply = self._well()
        if reply.then == "hang":
            while not writer.transport.is_closing():  # noqa: ASYNC110 -- what is waited for is the other side's going
                await asyncio.sleep(0.02)
            return
        if reply.then == "drop":
            writer.transport.abort()
            return
        head = "".join(f"{name}: {value}\r\n" for name, value in {"Content-Length": str(len(reply.body)), "Connection": "close", **reply.headers}.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{head}\r\n".encode() + (reply.body[: len(reply.body) // 2] if reply.then == "half" else reply.body))
        await writer.drain()


@contextlib.contextmanager
def in_a_thread(fake: FakeService) -> Iterator[FakeService]:
    """The service while the test itself runs no event loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(fake.start(), loop).result(30)
    try:
        yield fake
    finally:
        asyncio.run_coroutine_threadsafe(fake.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    method, target, _ = head[0].split(" ")
    return Asked(method, target, headers, await reader.readexactly(int(headers.get("content-length", "0"))))
