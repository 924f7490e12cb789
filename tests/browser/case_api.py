"""Answers to the requests of the page of a case, and a reading with a place for each kind of mark."""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.browser.conftest import Open, Tab
from tests.browser.history import listed
from tests.ops.web.served import Served
from touchstone.schemas.reading import (
    Bar,
    BarsSection,
    CaseReading,
    ChecksSection,
    CodeSection,
    Entry,
    Item,
    Mark,
    Pair,
    PairsSection,
    Row,
    TableSection,
    TextSection,
    TimelineSection,
)

CANARY = "Quillfeather"
TEXT = f"🙂 The council heard Dr {CANARY}. It will cost 240 million euros. Work begins in spring."
FINDINGS = [
    {"severity": "critical", "code": "conflict.quantity", "path": "sentences[1]", "message": "", "suggestion": None},
    {"severity": "minor", "code": "fhir.code", "path": "documents.fhir", "message": "an unknown code", "suggestion": None},
]


def small_reading(document: str = '{\n  "status": "final",\n  "code": "X1"\n}') -> CaseReading:
    begin = TEXT.index("240 million")
    return CaseReading(
        suite="one",
        name="case-7",
        label="Fail",
        sections=(
            TextSection(
                id="text",
                title="Text",
                text=TEXT,
                marks=(
                    Mark(state="bad", start=begin, end=begin + 11, finding=0, code="conflict.quantity", to=("fact-6",)),
                    Mark(state="good", start=0, end=5, to=("fact-1",)),
                ),
            ),
            CodeSection(id="fhir", title="FHIR", format="json", text=document, folded=True, marks=(Mark(state="unsure", line=3, column=3, finding=1),)),
            PairsSection(id="who", title="Patient", pairs=(Pair(key="name", value=CANARY), Pair(key="age", value="40", state="unsure"))),
            TableSection(id="labs", title="Labs", columns=("test", "value"), rows=(Row(id="lab-1", cells=("HbA1c", "9.1"), state="bad"),)),
            TimelineSection(
                id="life",
                title="Timeline",
                lanes=("conditions",),
                entries=(Entry(id="e1", lane="conditions", text="diabetes", begin="2019-03", end="2024-01-05"),),
            ),
            ChecksSection(
                id="facts",
                title="Facts",
                items=(
                    Item(id="fact-1", state="good", label="fact 1", text="the council met"),
                    Item(id="fact-6", state="bad", label="fact 6", text="42 million", finding=0, code="conflict.quantity"),
                    Item(id="fact-9", state="missing", label="fact 9", text="the ladder for fish"),
                ),
            ),
            BarsSection(id="values", title="Values", bars=(Bar(name="recall", value=0.78, share=0.5), Bar(name="judge", value=None))),
        ),
    )


@dataclass
class Api:
    """Answers for a list of cases. `text`: what a token may see; `meanwhile`: an annotation that somebody else saves before the next one.

    `is_away`: nothing can be saved. `waits`: readings are answered once it is set.
    """

    reading: CaseReading = field(default_factory=small_reading)
    text: str = "shown"
    ids: tuple[str, ...] = ("e-0", "e-1", "e-2")
    annotations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    meanwhile: dict[str, Any] | None = None
    spans: list[dict[str, Any]] | None = None
    revisions: Counter[str] = field(default_factory=Counter)
    is_away: bool = False
    waits: asyncio.Event | None = None
    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def answer(self, route: Any) -> Any:
        request, address = route.request, urlsplit(route.request.url)
        self.asked.append(f"{address.path}?{address.query}")
        parts = [unquote(part) for part in address.path.split("/")[2:]]
        status, headers = 200, dict[str, str]()
        body: dict[str, Any]
        if parts == ["cases"]:
            start = int(parse_qs(address.query).get("cursor", ["0"])[0])
            page = self.ids[start : start + 2]
            rows = [listed(0, event_id=one, result_id=f"r-{one}", name=one, suite="one", label="Fail") for one in page]
            body = {"cases": rows, "next": str(start + 2) if start + 2 < len(self.ids) else None, "total": len(self.ids)}
        elif len(parts) < 2 or parts[1] not in self.ids:
            status, body = 404, {"error": "no such case"}
        elif parts[2:] == ["reading"]:
            if self.waits is not None:
                await self.waits.wait()
            reading = self.reading if self.text == "shown" else self.reading.without_text()
            body = {"reading": reading.model_dump(mode="json"), "text": self.text}
        elif request.method == "PATCH":
            if self.is_away:
                return await route.abort()
            status, body = self._annotate(parts[1], request)
            headers = {"ETag": self._etag(parts[1])}
        else:
            body, headers = self._case(parts[1]), {"ETag": self._etag(parts[1])}
        return await route.fulfill(status=status, body=json.dumps(body), headers=headers | {"Content-Type": "application/json"})

    def _etag(self, one: str) -> str:
        return f'"{self.revisions[one]}"'

    def _annotate(self, one: str, request: Any) -> tuple[int, dict[str, Any]]:
        if self.meanwhile is not None:
            key = self.meanwhile["reviewer"], self.meanwhile.get("reviewPass", 1)
            kept = self.annotations.setdefault(one, [])
            kept[:] = [old for old in kept if (old["reviewer"], old.get("reviewPass", 1)) != key] + [self.meanwhile]
            self.revisions[one] += 1
            self.meanwhile = None
        if request.headers.get("if-match") != self._etag(one):
            return 412, {"error": "changed meanwhile"}
        body = request.post_data_json
        self.sent.append((one, body))
        kept = self.annotations.setdefault(one, [])
        for new in body.get("annotations", []):
            key = new["reviewer"], new["reviewPass"]
            kept[:] = [old for old in kept if (old["reviewer"], old.get("reviewPass", 1)) != key] + [new]
        self.revisions[one] += 1
        return 200, self._case(one)

    def _case(self, one: str) -> dict[str, Any]:
        def result(suite: str, version: str, label: str, minute: int) -> dict[str, Any]:
            found: dict[str, Any] = {"findings": FINDINGS, "models": {"generation": "model-b"}}
            own: dict[str, Any] = {
                "result_id": f"r-{one}" if (suite, version) == ("one", "2") else f"r-{one}-{suite}{version}",
                "suite": suite,
                "suite_version": version,
            }
            return own | {
                "label": label,
                "name": one,
                "at": f"2026-11-22T10:{minute:02}:00Z",
                "result": found,
                "replay": "touchstone score --from-topic t[0]@7",
            }

        results = [result("one", "2", "Fail", 30), result("two", "1", "Pass", 20), result("one", "1", "Review", 10)]
        right = {"text": self.text == "shown", "annotate": True}
        return {
            "event_id": one,
            "case_id": one,
            "kind": "summary",
            "kept": {"state": "kept"},
            "can": right,
            "results": results,
            "annotations": list(self.annotations.get(one, [])),
            "spans": self.spans,
            "spans_total": None if self.spans is None else len(self.spans),
        }


async def show(web: Served, look: Open, path: str, api: Api, ready: str = ".reading-texts .section", **options: Any) -> Tab:
    """A view of the page over the given answers."""
    tab = await look(f"{web.address}/healthz", **options)
    await tab.page.route("**/api/**", api.answer)
    await tab.page.goto(web.address + path)
    await tab.until("(ready) => document.querySelector(ready) !== null", ready)
    return tab
