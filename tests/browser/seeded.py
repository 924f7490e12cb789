"""A service whose live events and history are the same results: samples of the installed suites, scored, and repeated over the last minutes."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from tests.integration import lexical_engines
from tests.ops.judge_folders import judged_states
from tests.ops.web.served import NOW, Served, served
from tests.streams.results_topic import TOPIC, Stored, headers_of, ledger, projection
from tests.streams.subscription.made import R0, record, report_bytes
from touchstone.ops.batch.outgoing import Outgoings, Way, event_files
from touchstone.ops.store.archive.archive import Archive
from touchstone.ops.store.archive.objects import Objects
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.judges import JudgeStore
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.api.sources import Opened
from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.result import ScoreResult, SourceRef
from touchstone.schemas.settings.house import ArchiveSettings, Settings
from touchstone.scorers.identity import deterministic_id
from touchstone.scorers.registry import usable_suites
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.suite import Suite
from touchstone.scorers.suite_settings import suite_settings
from touchstone.streams.subscription.events import EventReader

SAMPLES = 12
SETTINGS = Settings()
#: Those of two suites that need no model, and of one whose model is replaced by a matter of words.
SUITES = ("safe_v0", "summary_loss", "clinical")


@dataclass
class Seeded:
    """`results`: the oldest first. `documents`: the event id of a sample → its kind and its JSON."""

    suites: dict[str, Suite]
    results: list[ScoreResult] = field(default_factory=list)
    documents: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    ledgers: list[LedgerRecord] = field(default_factory=list)

    def failed(self) -> dict[str, ScoreResult]:
        """The latest failed sample of each suite."""
        return {one.suite: one for one in self.results if one.label == "Fail" and one.event_id in self.documents}


def without_models(suite: Suite) -> Suite:
    """The suite; one that needs a language model, over engines of which each answer is a matter of words."""
    return replace(suite, build=lexical_engines.build) if any("torch" in modules.split("|") for modules in suite.requires) else suite


async def _scored(suite: Suite) -> list[tuple[ScoreResult, str, bytes]]:
    """Some of a suite's samples with their kind and event."""
    assert suite.samples is not None
    samples = suite.samples()
    outgoings = Outgoings(SETTINGS, [suite], event_files(samples.paths), {}, Way(None, partial=True))
    outgoings.check()
    scoring = Scoring(suite, suite_settings(suite, env=samples.env, directory=Path("/nonexistent")))
    found = []
    try:
        for number, event in enumerate(islice(outgoings.events(), SAMPLES)):
            document = orjson.loads(event.value or b"")
            kind = document.get("kind") or next(iter(suite.cases))
            source = SourceRef(topic=SETTINGS.topics.inputs(suite.topics)[0], partition=0, offset=number)
            result = await scoring.result(suite.cases[kind].model_validate(document), f"{suite.name}-{number}", source)
            found.append((result, kind, orjson.dumps(document)))
    finally:
        await scoring.close()
    return found


async def seeded(count: int = 240, minutes: int = 14, now: float = NOW) -> Seeded:
    """So many results of each suite over the last minutes. Of the first suite's failures, more come lately."""
    suites = usable_suites()
    made = Seeded(suites)
    for place, name in enumerate(SUITES):
        originals = await _scored(without_models(suites[name]))
        made.documents |= {one.event_id: (kind, document) for one, kind, document in originals}
        worst = [one for one, _, _ in originals if one.label == "Fail"]
        total = count // (1 + 3 * place)
        for number in range(total):
            one = originals[number % len(originals)][0]
            is_late = number > total * 0.7
            if number >= len(originals):
                if is_late and place == 0 and number % 2 and worst:
                    one = worst[number % len(worst)]
                event_id = f"{name}-{number}"
                source = SourceRef(topic=SETTINGS.topics.inputs(suites[name].topics)[0], partition=0, offset=number)
                one = one.model_copy(update={"event_id": event_id, "result_id": deterministic_id(event_id), "source": source})
            at = datetime.fromtimestamp(now, UTC) - timedelta(seconds=minutes * 60 * (1 - (number + 0.5) / total), milliseconds=7 * place)
            attributes = one.attributes | {"model": "model-b" if number % 3 else "model-a", "concern_id": ("I25", "I52", "E11")[number % 3], "batch_id": "b1"}
            made.results.append(one.model_copy(update={"scored_at": at, "attributes": attributes}))
    made.results.sort(key=lambda one: one.scored_at)
    made.ledgers.append(ledger(("dead", "decode", ((900, 901), (950, 950))), ("expired", "expired", ((0, 3),)), ("skipped", "other_kind", ((1000, 1040),))))
    return made


def feed(web: Served, made: Seeded, now: float = NOW) -> None:
    """Publish the results to the service's hub, as the results topic would."""
    reader = EventReader(SETTINGS.topics, made.suites)
    start = web.hub.positions[R0]
    arrivals: list[Any] = []
    for number, one in enumerate([*made.results, *made.ledgers]):
        at = one.scored_at.timestamp() if isinstance(one, ScoreResult) else now - 60
        stored = Stored(start + number, one.model_dump_json().encode(), headers_of(one), timestamp=int(at * 1000))
        arrivals.append((R0, stored.offset, reader.read(stored)))
    web.hub.publish(arrivals)
    reports = []
    for number, (name, passed) in enumerate((("monday", 61), ("tuesday", 58), ("wednesday", 71))):
        summary = {"total_cases": 100, "pass": passed, "review": 9, "fail": 91 - passed, "overall_pass_rate": passed / 100}
        value = report_bytes(name, concern_id="I25", summary=summary, final=number < 2)
        stored = record(("p", 0), number, value, "safe_v0:v0:result", ce_source="/touchstone/projector/safe_v0")
        reports.append((("p", 0), number, reader.read(replace(stored, timestamp=int((now - 600 + number) * 1000)))))
    web.hub.publish(reports)


@contextmanager
def kept(made: Seeded, folder: Path) -> Iterator[Opened]:
    """A store and an archive that hold the results and the samples."""
    store = ResultStore.open(f"sqlite:///{folder / 'store.db'}", create=True)
    index = CaseIndex(store.engine)
    archive = Archive(Objects.open("memory://"), index, ArchiveSettings())
    store.apply(projection(*made.results, *made.ledgers, first=store.positions(TOPIC).get(0, 0)), 0.0)
    for event_id, (kind, document) in made.documents.items():
        archive.keep(event_id, kind, "", document)
    JudgeStore(store.engine).keep_states(judged_states(folder / "judges", SUITES[0]), NOW)
    try:
        yield Opened(History(store.engine), index, lambda: archive)
    finally:
        store.close()


@asynccontextmanager
async def seeded_service(made: Seeded, folder: Path, **settings: Any) -> AsyncIterator[Served]:
    """The service over the same results, live and stored."""
    with kept(made, folder) as sources:
        async with served(sources=sources, **settings) as web:
            # In place: the API has the same dictionary.
            web.service.suites.clear()  # type: ignore[attr-defined]
            web.service.suites.update(made.suites)  # type: ignore[attr-defined]
            feed(web, made)
            web.hub.caught_up()
            yield web
