"""Traces that people review: a service with a queue of them, and reviewers who work by keyboard alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.browser.conftest import Open, Tab
from tests.ops.store.histories import AT, add, scored
from tests.ops.web.served import Served, served
from touchstone.ops.store.archive.archive import Archive
from touchstone.ops.store.archive.objects import Objects
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.api.sources import Opened
from touchstone.schemas.settings.house import ArchiveSettings
from touchstone.scorers.registry import usable_suites

BOSS, ANN, BOB = (f"{name:-<20}" for name in ("boss", "ann", "bob"))
TOKENS = (f"boss=all/admin+text+annotate:{BOSS}", f"ann=all/annotate+text:{ANN}", f"bob=all/annotate+text:{BOB}")
CASES = 10
QUEUE = {"name": "coherence", "title": "Coherence", "suite": "clinical", "reviewers": 2, "guideline": "coherent"}
GUIDELINE = "Pass: a clinician would find the patient plausible."


def trace(number: int) -> dict[str, Any]:
    """An invented patient, and one document."""
    bundle = {"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Patient", "id": f"p{number}", "gender": "female"}}]}
    return {
        "kind": "trace",
        "id": f"t-{number}",
        "traceId": f"trace-{number}",
        "prompt": f"🙂 Patient {number}: a woman with diabetes",
        "persona": {"name": f"Ada Sample{number}", "age": 50 + number, "conditions": ["diabetes"], "labs": [{"name": "HbA1c", "value": "9.1"}]},
        "outputs": {"fhir": bundle},
        "source": "eval",
    }


@dataclass
class Review:
    """A service with a queue of ten traces, each for two reviewers. `order`: their event ids, as the queue has them."""

    web: Served
    order: list[str]

    async def ask(self, method: str, path: str, token: str = BOSS, json: Any = None, status: int = 200, **headers: str) -> Any:
        answer = await self.web.client.request(method, path, json=json, headers=self.web.bearer(token) | headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def said(self, event: str, reviewer: str) -> dict[str, Any] | None:
        """What a reviewer says of a case now."""
        found = (await self.ask("GET", f"/api/cases/{event}"))["annotations"]
        return next((one for one in found if one["reviewerId"] == reviewer and not one["settled"]), None)

    async def say(self, event: str, token: str, **what: Any) -> None:
        """Annotate a case without the page."""
        etag = (await self.ask("GET", f"/api/cases/{event}"))["etag"]
        await self.ask("PATCH", f"/api/cases/{event}", token, {"annotations": [{"queue": "coherence", **what}]}, **{"If-Match": etag})

    async def open(self, look: Open, path: str, token: str | None, **options: Any) -> Tab:
        """A tab of somebody with a token."""
        tab = await look(f"{self.web.address}/healthz", **options)
        if token:
            await tab.page.evaluate("(token) => sessionStorage.setItem('touchstone.token', token)", token)
        await tab.page.goto(self.web.address + path)
        return tab


@asynccontextmanager
async def reviewing(folder: Path, tokens: tuple[str, ...] = TOKENS) -> AsyncIterator[Review]:
    """The service with its queue. Odd traces pass; each has one finding."""
    store = ResultStore.open(f"sqlite:///{folder / 'store.db'}", create=True)
    index = CaseIndex(store.engine)
    archive = Archive(Objects.open("memory://"), index, ArchiveSettings())
    labels = ("Fail", "Pass")
    add(
        store,
        *(scored(f"t-{n}", n, suite="clinical", kind="trace", case=f"trace-{n}", label=labels[n % 2], codes=("planted_code",)) for n in range(CASES)),
    )
    for number in range(CASES):
        one = trace(number)
        archive.keep(one["id"], "trace", one["traceId"], orjson.dumps(one), at=AT)
    try:
        async with served(sources=Opened(History(store.engine), index, lambda: archive), tokens=tokens) as web:
            web.service.suites.update(usable_suites())  # type: ignore[attr-defined]
            web.hub.caught_up()
            review = Review(web, [])
            await review.ask("PUT", "/api/guidelines/coherent", json={"text": GUIDELINE})
            await review.ask("POST", "/api/queues", json=QUEUE, status=201)
            items = (await review.ask("GET", "/api/queues/coherence/cases?reviewer=boss"))["items"]
            review.order += [one["event_id"] for one in items]
            yield review
    finally:
        store.close()


async def at(tab: Tab, place: int, total: int = CASES) -> None:
    """Wait until the case of a place is shown, whole."""
    await tab.until(
        "([words]) => document.querySelector('.review-bar b')?.textContent === words && document.querySelector('.case-prompt .running') !== null",
        [f"{place} of {total}"],
    )


async def write(tab: Tab, text: str) -> None:
    """Write a note, and leave it."""
    await tab.page.keyboard.press("n")
    await tab.until("document.activeElement.name === 'notes'")
    await tab.page.keyboard.type(text)
    await tab.page.keyboard.press("Escape")


async def saved(tab: Tab) -> None:
    """Wait until the service has what was written."""
    await tab.until("document.querySelector('.saved').textContent.startsWith('Saved at')")
