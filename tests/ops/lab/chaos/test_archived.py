"""The archive's checks after a chaos run: what is right passes, and whatever is wrong is said."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from touchstone.ops.lab.chaos import archived
from touchstone.ops.lab.chaos.archived import Kept, check_archive
from touchstone.ops.lab.chaos.evidence import Evidence, Position, SentResult
from touchstone.ops.lab.chaos.grounds import Field, Grounds
from touchstone.ops.lab.chaos.object_stores import Folder
from touchstone.ops.lab.chaos.plan import Plan, make_plan
from touchstone.ops.store.archive.archive import Archive, open_archive
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.engine import writing
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.schema import cases
from touchstone.schemas.settings.house import ArchiveSettings
from touchstone.streams.account import projection
from touchstone.streams.embedded.broker import EmbeddedBroker


class NoBroker(EmbeddedBroker):
    """An address only: topics are not read here."""

    @property
    def bootstrap_servers(self) -> str:
        return "127.0.0.1:9"


class After:
    """The end of a run in which half of the events failed, and those were kept."""

    def __init__(self, folder: Path) -> None:
        self.store = Folder(folder / "archive")
        knobs = self.store.environment | {"TOUCHSTONE_ARCHIVE_POLICY": "failed"}
        self.field = Field(Grounds("embedded", embedded=NoBroker()), folder, "chaos", knobs)
        self.plan: Plan = make_plan(1, 6, partitions=1)
        self.evidence = Evidence({Position(0, place): place for place in range(6)})
        self._results = ResultStore.open(self.field.settings.store.url.get_secret_value(), create=True)
        self.archive: Archive = open_archive(ArchiveSettings(url=self.store.environment["TOUCHSTONE_ARCHIVE_URL"]), CaseIndex(self._results.engine))
        for place, record in enumerate(self.plan.records):
            self._score(place, self.plan.cases[record.case]["id"], self.plan.wire(record).value or b"")

    def _score(self, place: int, event_id: str, data: bytes) -> None:
        result_id, document = f"r-{event_id}", b"{}"
        label = "Fail" if place < 3 else "Pass"
        self.evidence.results[Position(0, place)].append(SentResult(Position(0, place), event_id, result_id, label))
        self.evidence.documents[result_id].add(hashlib.sha256(document).digest())
        if label == "Fail":
            self.archive.keep(event_id, "safe", "", data, place=projection.Position("chaos.generations", "t", 0, place))
            self.archive.keep_result(event_id, result_id, document)

    @property
    def first(self) -> Path:
        """The object of the first case."""
        return min((self.store.folder / "cases" / "safe").iterdir())

    def empty_index(self) -> None:
        with writing(self._results.engine) as connection:
            connection.execute(delete(cases))

    def judged(self) -> Kept:
        self._results.close()
        return check_archive(self.field, self.store, self.plan, self.evidence)


@pytest.fixture
def after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> After:
    # The command takes seconds; that it leaves the rows alone is for the run itself to see.
    monkeypatch.setattr(archived, "_reindex", lambda *_: "")
    rows = archived._rows
    monkeypatch.setattr(archived, "_rows", lambda url: rows(url.replace("anew.db", "results.db")))
    return After(tmp_path)


def test_an_archive_that_is_right_passes(after: After) -> None:
    kept = after.judged()
    assert (kept.cases, kept.lost, kept.doubled, kept.violations) == (3, 0, 0, [])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda after: after.first.unlink(), "have no object"),
        (lambda after: after.first.write_bytes(after.first.read_bytes()[:-1]), "not what was produced"),
        (lambda after: after.archive.objects.put("cases/safe/another.json", after.first.read_bytes()), "more than one object"),
        (lambda after: after.archive.objects.put("cases/safe/another.json", b'{"id": "another"}'), "of no event that the policy names"),
        (lambda after: next((after.store.folder / "results").rglob("*.json")).write_bytes(b"{ }"), "not what is on the results topic"),
        (lambda after: next((after.store.folder / "results").rglob("*.json")).unlink(), "results of kept events have no object"),
        (After.empty_index, "rows of the index are not those of the objects"),
        (lambda after: after.archive.index.drop([after.first.stem]), "rows of the index are not those of the objects"),
    ],
)
def test_what_is_wrong_is_said(after: After, damage: Callable[[After], Any], said: str) -> None:
    damage(after)
    assert any(said in violation for violation in after.judged().violations)
